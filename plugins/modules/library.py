#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: library

short_description: Install or remove the code of this collection on a node

version_added: 1.0.0

description:
  - The modules of this collection keep their code on the node, in one directory for each release, so that it is neither sent nor compiled
    again with each task. This directory is called the library.
  - Every module installs the library of its release when it is missing, except in check mode. Use this module to install it in advance,
    for example in the image of a node, or to remove all libraries from a node.
  - The library is in C(/opt/cni/lib/cni.node), in a directory named by the digest of its content. The variable C(cni_node_opt_dir) sets
    another directory instead of C(/opt).
  - Libraries of other releases are removed as soon as no task, unit of systemd or installed built-in plugin uses them.

extends_documentation_fragment:
  - cni.node._attributes

attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  state:
    description:
      - V(present) installs the library of this release.
      - V(absent) removes the libraries of all releases. Those that a task, a unit or installed plugins run from stay, and
        RV(libraries) lists them.
    type: str
    choices:
      - present
      - absent
    default: present

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Prepare the image of a node
  cni.node.library:

- name: Leave nothing of the collection on the node
  cni.node.library:
    state: absent
"""

RETURN = r"""
library:
  description:
    - The library of this release, whether or not it is installed.
  returned: success
  type: str
  sample: /opt/cni/lib/cni.node/3c1f...
libraries:
  description:
    - The libraries that are on the node, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample:
    - /opt/cni/lib/cni.node/3c1f...
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 5
    msg: cannot remove the library /opt/cni/lib/cni.node/3c1f...
    details: "Read-only file system"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module.library import ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={"state": {"type": "str", "choices": ["present", "absent"], "default": "present"}},
        supports_check_mode=True,
    )
    run(module, ensure)


if __name__ == "__main__":
    main()
