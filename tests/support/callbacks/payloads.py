# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Let all runs of Ansible from this checkout share the payloads of modules, and compile each payload once.

Ansible builds a payload anew in each run, and Python on the node compiles it anew in each task. Both take longer than
what most modules do.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib.util
import io
import marshal
import os
import pathlib
import sys
import typing as t
import zipfile

from ansible import constants
from ansible.executor import module_common
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__

from ansible_collections.cni.node.tests.support import ring

DOCUMENTATION = r"""
name: payloads
type: notification
short_description: Keeps the payloads of modules for the next run
description:
  - Ansible builds the payload of a module once for each run. This links its directory of payloads to one of the checkout.
  - It adds compiled code to each payload. A Python of another version than the controller's takes the source.
  - In the outer ring, it does nothing.
"""

# Of a file whose source Python does not compare (PEP 552): the time of a source is rounded in a zip file.
_HEADER = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
TOP = pathlib.Path(__file__).parents[3]
PLUGINS = TOP / "plugins"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "payloads"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        if ring.IS_OUTER:  # `make test-all` runs the payloads that users have
            return
        own = os.path.join(vars(constants)["DEFAULT_LOCAL_TMP"], "ansiballz_cache")
        if not os.path.lexists(own):
            shared = TOP / ".cache" / "payloads" / _digest()
            os.makedirs(shared, exist_ok=True)
            os.symlink(shared, own)
            _compile_new_payloads()


def _compile_new_payloads() -> None:
    payload: t.Any = module_common._CachedModule
    dump = payload.dump

    def dump_compiled(new: t.Any, path: str) -> None:
        zip_data = base64.b64encode(_compiled(base64.b64decode(new.zip_data)))
        dump(dataclasses.replace(new, zip_data=zip_data), path)

    payload.dump = dump_compiled


def _digest() -> str:
    """Return a text that changes with any file of a plugin, with Ansible and with Python."""
    stats = [(str(path), path.stat().st_mtime_ns) for path in sorted(PLUGINS.rglob("*.py"))]
    stats.append((f"{__version__} {sys.version}", 0))
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:16]


def _compiled(payload: bytes) -> bytes:
    """Return a zip file with the compiled code of each module beside its source."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload)) as sources, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sources.namelist():
            source = sources.read(name)
            target.writestr(name, source)
            if name.endswith(".py"):
                code = compile(source, name, "exec", dont_inherit=True)
                target.writestr(f"{name}c", _HEADER + importlib.util.source_hash(source) + marshal.dumps(code))
    return result.getvalue()
