#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info

short_description: Compare a node with what its container runtime needs

version_added: 1.0.0

description:
  - Finds the container runtimes of the node by their programs and services, reads their directories from their own configuration
    files, and compares what they need with what the node has. Changes nothing.
  - Checked are the service, the directories of network configurations and plugins, the file that the runtime takes, broken files,
    the plugins with their lowest releases and owners, the daemon of the plugin C(dhcp) if networks need it, kernel modules and
    settings, default routes that the node loses with the IPv6 forwarding of its networks, and other programs that remove
    attachments.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._attributes.info_module
  - cni.node._paths.conf_dir

options:
  runtime:
    description:
      - The container runtime to check. By default, all that the node has.
      - V(kubelet) is a node of kubeadm with containerd.
    type: str
    choices: [apptainer, containerd, crio, k3s, kubelet, nerdctl, nomad, podman, rke2]
  bin_dir:
    description:
      - The directory in which plugins are installed, as for O(cni.node.plugins#module:bin_dir).
    type: path
    default: /opt/cni/bin

seealso:
  - module: cni.node.node_info
  - module: cni.node.verify

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Compare the node with what containerd needs
  cni.node.preflight_info:
    runtime: containerd
  register: preflight

- name: Stop if anything is missing
  ansible.builtin.assert:
    that: preflight.missing == 0
    fail_msg: "{{ preflight.msg }}"
"""

RETURN = r"""
runtimes:
  description:
    - The runtimes of the node, as in RV(cni.node.node_info#module:runtimes).
  returned: success
  type: list
  elements: dict
checks:
  description:
    - What was compared.
  returned: success
  type: list
  elements: dict
  contains:
    runtime:
      description: The name of the runtime.
      type: str
      returned: always
      sample: containerd
    subject:
      description: What is needed.
      type: str
      returned: always
      sample: kernel setting net.ipv4.ip_forward
    needed:
      description: How it is needed.
      type: str
      returned: always
      sample: "1"
    found:
      description: What the node has.
      type: str
      returned: always
      sample: "0"
    state:
      description: Whether the need is met. A warning does not keep the runtime from working.
      type: str
      returned: always
      choices:
        - ok
        - missing
        - warning
    hint:
      description: What to do, or an empty string.
      type: str
      returned: always
      sample: add it to cni_node_sysctls, or run sysctl net.ipv4.ip_forward=1
missing:
  description:
    - The number of needs that are not met.
  returned: success
  type: int
  sample: 1
error:
  description:
    - The error of a task that failed.
  returned: failure
  type: dict
  sample:
    code: 5
    msg: "cannot list /etc/cni/net.d: Permission denied"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.preflight_info import check
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "runtime": {"type": "str", "choices": list(NAMES)},
            "bin_dir": {"type": "path", "default": "/opt/cni/bin"},
            **arguments.CONF_DIR,
        },
        supports_check_mode=True,
    )
    run(module, check, paths)


if __name__ == "__main__":
    main()
