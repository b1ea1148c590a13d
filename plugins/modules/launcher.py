#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: launcher

short_description: Run a module of this collection from the library on the node

version_added: 1.0.0

description:
  - The action plugins of this collection run their modules through this one. It is not for playbooks.
  - The modules share one library, which goes to a node once for each release. This module finds it, and runs another module from it
    in the same process.

attributes:
  check_mode:
    description: Runs in check mode, if the module that it runs does.
    support: full
  diff_mode:
    description: Returns what has changed, if the module that it runs does.
    support: full

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
# The action plugin of this module runs it from the library.
- name: List the networks of the node
  cni.node.node_info:
    gather:
      - networks
"""

RETURN = r"""
cni_node_library:
  description:
    - Why the module did not run from the library. The action plugin then installs the library, or runs the module without it.
  returned: when the library is missing, damaged or cannot be used
  type: dict
  sample:
    state: missing
    reason: ""
"""

import importlib
import json
import os
import sys
import tempfile
import typing as t

# All modules need it: Ansible sends what a launcher imports.
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.library import (
    ANSWER,
    MISSING,
    NEEDS_MORE,
    REQUEST,
    UNUSABLE,
    Library,
    collect_rarely,
)

_PACKAGE = "ansible_collections"
_COLLECTION = f"{_PACKAGE}.cni.node.plugins"


def main() -> None:
    request = os.environ.pop(REQUEST, None)
    if request is None:
        module = AnsibleModule(argument_spec={}, supports_check_mode=True)
        module.fail_json(
            msg="this module serves the action plugins of cni.node: use the other modules of the collection"
        )
    collect_rarely()
    keys = json.loads(request)
    library = Library(keys["top"], keys["digest"])
    try:
        if keys["archive"]:
            _install(library, keys["archive"])
        is_there = library.hold()
        damage = library.find_damage() if is_there else ""
    except Exception as exc:
        _answer(UNUSABLE, str(exc))
    if damage or not is_there:
        _answer(MISSING, damage)
    try:
        _load(library, keys["module"], UNUSABLE if keys["archive"] else MISSING).main()
    except ModuleNotFoundError as exc:
        if not str(exc.name).startswith("ansible."):
            raise
        # Few tasks do; Ansible sends it with the module itself.
        _answer(NEEDS_MORE, f"this task needs {exc.name}")


def _install(library: Library, archive: str) -> None:
    """Install the library by its own code, which then needs not be sent with each call."""
    # A node compiles what a launcher imports, in each call.
    from ansible_collections.cni.node.plugins.module_utils._node.library.packing import unpack

    with open(archive, "rb") as stream:
        content = stream.read()
    files = unpack(content, library.digest)
    # Another user may own the archive that was sent, and change it now that it is verified.
    with tempfile.NamedTemporaryFile() as private:
        private.write(content)
        private.flush()
        _forget_packages(private.name)
        sys.path.insert(0, private.name)
        installer: t.Any = importlib.import_module(f"{_COLLECTION}.module_utils._node.library.install")
        installer.install(library, files)
        sys.path.remove(private.name)


def _answer(state: str, reason: str) -> t.NoReturn:
    # AnsibleModule would check the arguments of the other module.
    sys.stdout.write(json.dumps({ANSWER: {"state": state, "reason": reason}}))
    raise SystemExit(0)


def _load(library: Library, module: str, answer: str) -> t.Any:
    """Load a module from the library, which has all packages that Ansible sent only in part.

    Args:
        answer: What to answer if a damage that the size of the file does not show prevents it.
    """
    _forget_packages(library.path)
    sys.path.insert(0, library.path)
    try:
        return importlib.import_module(f"{_COLLECTION}.modules.{module}")
    except Exception as exc:
        if isinstance(exc, ModuleNotFoundError) and str(exc.name).startswith("ansible."):
            raise
        _answer(answer, f"{module} cannot be loaded from {library.path}: {type(exc).__name__}: {exc}")


def _forget_packages(path: str) -> None:
    """Forget the packages of collections that do not come from a path, so that they can be imported from there."""
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        if not str(getattr(sys.modules[name], "__file__", "")).startswith(f"{path}/"):
            del sys.modules[name]


if __name__ == "__main__":
    main()
