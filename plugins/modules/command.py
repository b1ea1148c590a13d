#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: command

short_description: Install the command cni-node on a node

version_added: 1.0.0

description:
  - Installs a command with which root looks at the container networks of the node and mends them, without the controller.
  - C(cni-node status) shows networks and attachments with their drift. C(cni-node repair) does what M(cni.node.repair) does, and
    C(cni-node gc) what M(cni.node.gc) does; with C(--check), they only show it. C(cni-node restore) restores the attachments with
    O(cni.node.attachments#module:attachments[].persist=true), as at boot.
  - With C(--json), each prints the result of the module. The exit status is 0 if nothing is wrong or everything was mended, 1 if
    something is wrong, remains or failed, and 2 if the command was refused.
  - It runs from the library of the collection (M(cni.node.library)), and has no configuration but the options of this task.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir

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
      - V(present) writes the command, and V(absent) removes it. A file of others at O(path) is neither overwritten nor removed.
    type: str
    choices:
      - present
      - absent
    default: present
  path:
    description:
      - The file of the command, which belongs to root and has the mode C(0755).
    type: path
    default: /usr/local/sbin/cni-node
  gc_min_age:
    description:
      - What C(cni-node gc) keeps, as O(cni.node.gc#module:min_age) of M(cni.node.gc).
    type: float
    default: 300
  gc_owners:
    description:
      - Whose lost attachments C(cni-node gc) deletes, as O(cni.node.gc#module:owners) of M(cni.node.gc).
    type: list
    elements: str
    choices: [containerd, crio, ctr, docker, nerdctl, nomad, podman]
    default: []
  repair_networks:
    description:
      - The networks whose attachments C(cni-node repair) repairs, unless it is given networks. By default, all.
    type: list
    elements: str
    default: []
  repair_owners:
    description:
      - The runtimes whose attachments it repairs, as O(cni.node.repair#module:owners) of M(cni.node.repair).
    type: list
    elements: str
    choices: [cni.node, containerd, crio, ctr, docker, nerdctl, nomad, podman]
    default: []
  repair_resources:
    description:
      - What it repairs, as O(cni.node.repair#module:resources) of M(cni.node.repair).
    type: list
    elements: str
    choices:
      - rules
      - interfaces

seealso:
  - module: cni.node.repair
  - module: cni.node.gc
  - module: cni.node.node_info

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Install the command cni-node
  cni.node.command:

- name: Let cni-node gc delete what containerd has lost, too
  cni.node.command:
    gc_owners:
      - containerd

- name: Remove it
  cni.node.command:
    state: absent
"""

RETURN = r"""
files:
  description:
    - The change of the file, made or, in check mode, predicted. Empty if nothing changes.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      type: str
      returned: always
      sample: /usr/local/sbin/cni-node
    action:
      description: What was done to the file.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 4
    msg: /usr/local/sbin/cni-node was not written by cni.node
    details: "expected: no file, or one that this module has written; remove it, or set another path"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module.command import ARGUMENTS, ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    run(AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True), ensure)


if __name__ == "__main__":
    main()
