#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: netns

short_description: Create and remove named network namespaces

version_added: 1.0.0

description:
  - Creates or removes named network namespaces in C(/run/netns), where C(ip netns) finds them.
  - A new namespace has only a loopback interface, which is down. Add interfaces with M(cni.node.attachments).
  - Network namespaces do not survive a reboot of the node.
  - Where the node would not see a new namespace, the module fails. This is so in a mount namespace whose mounts do not reach that of
    the node, such as that of a systemd service with C(PrivateMounts), C(PrivateTmp) or C(ProtectSystem).
  - An empty file or a link of the same name that leads to no namespace is replaced or removed. A file with content, a pipe or a
    socket of the same name is refused.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._following

attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  names:
    description:
      - Names of the network namespaces.
    type: list
    elements: str
    required: true
  state:
    description:
      - Whether the network namespaces should exist.
      - With V(absent), only the name is removed while processes still run inside the namespace. Remove its attachments first, to
        release addresses and rules on the node as well.
      - A symbolic link is removed, but not its target, such as the namespace of a container.
    type: str
    choices:
      - present
      - absent
    default: present

seealso:
  - module: cni.node.attachments

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Create three network namespaces
  cni.node.netns:
    names:
      - red
      - green
      - blue

- name: Remove one of them
  cni.node.netns:
    names:
      - blue
    state: absent
"""

RETURN = r"""
changed_names:
  description:
    - The network namespaces that were created or removed, or would be in check mode.
    - The list can be passed to O(cni.node.attachments#module:planned_netns).
  returned: success
  type: list
  elements: str
  sample:
    - red
    - green
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 7
    msg: "'a/b' is not a network namespace name"
    details: "expected: a file name that does not begin with '-' and has neither spaces nor '/'"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.run import phrase_action, run
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns

SPEC: t.Final[dict[str, t.Any]] = {
    "argument_spec": {
        "names": {"type": "list", "elements": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        **arguments.FOLLOWING,
    },
    "supports_check_mode": True,
}


def ensure(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    names, present = module.params["names"], module.params["state"] == "present"
    changed = trial_netns.ensure(paths, names, present=present, dry_run=module.check_mode)
    without, with_them = sorted(set(names) - set(changed)), sorted(set(names))
    before, after = (without, with_them) if present else (sorted(changed), [])
    action = phrase_action("created" if present else "removed", predicted=module.check_mode and bool(changed))
    return {
        "changed": bool(changed),
        "changed_names": changed,
        "diff": {"before": {"names": before}, "after": {"names": after}},
        "msg": f"{len(changed)} of {len(set(names))} network namespaces {action}",
    }


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
