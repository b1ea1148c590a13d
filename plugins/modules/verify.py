#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: verify

short_description: Try CNI networks with a throw-away attachment

version_added: 1.0.0

description:
  - For each network, creates a throw-away network namespace, runs ADD and CHECK, waits for an answer from the gateway, and runs DEL.
  - In networks of version 1.1.0 and later, STATUS is run first. If a plugin is not ready, the network fails with the plugin's
    error, and ADD is not run. If the plugin C(dhcp) gives addresses and its daemon does not run, the error names the remedy.
  - When a network fails, the others are still tried, and everything that was created is removed. If a run is killed,
    the next run removes what it left behind.
  - What a plugin keeps for all its attachments, such as a bridge, remains as after any DEL.

extends_documentation_fragment:
  - cni.node._attributes.engine
  - cni.node._attributes
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir
  - cni.node._paths.timeout

attributes:
  check_mode:
    support: full
    details:
      - No network is tried. The reason of each skipped network names a plugin or configuration that is missing.
  diff_mode:
    support: N/A
    details:
      - The module makes no lasting change.
  idempotent:
    support: full

options:
  networks:
    description:
      - Names of the networks to try.
      - By default, all networks of O(conf_dir), except networks of the plugin C(host-device), which would take a device away
        from the node. They are skipped unless you name them.
    type: list
    elements: str
    default: []
  gateway_timeout:
    description:
      - Seconds to wait for each gateway to answer an ICMP echo request. The request is sent from the address that the gateway
        belongs to. If the interface is in a VRF, the routes of the VRF are used.
      - With V(0), no request is sent.
    type: float
    default: 5

seealso:
  - module: cni.node.attachments
  - module: cni.node.node_info

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Try every network of the node
  cni.node.verify:

- name: Try one network without its gateway
  cni.node.verify:
    networks:
      - dbnet
    gateway_timeout: 0
"""

RETURN = r"""
networks:
  description:
    - The result of each network.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    action:
      description: The result. In check mode, networks are skipped.
      type: str
      returned: always
      choices:
        - verified
        - failed
        - skipped
    reason:
      description: Why the network was skipped, or that an earlier run was interrupted before DEL.
      type: str
      returned: always
    status:
      description:
        - The answer of the plugins to STATUS, as in RV(cni.node.node_info#module:status[].status). Empty if STATUS was not run.
      type: str
      returned: always
      sample: ready
    addresses:
      description: The addresses of the throw-away attachment.
      type: list
      elements: str
      returned: always
      sample:
        - 10.1.0.2/16
    gateways:
      description: The gateways, and whether each of them answered.
      type: list
      elements: dict
      returned: always
      sample:
        - address: 10.1.0.1
          answered: true
    error:
      description: The error as C(code), C(msg) and C(details), or V(none).
      type: dict
      returned: always
    seconds:
      description: Duration of ADD, CHECK and DEL together.
      type: float
      returned: always
    stderr:
      description:
        - What plugins that succeeded wrote to standard error, with C(type) and C(command) of each call. It has at most the last
          16 KiB of each call, and 256 KiB in total. The output of a plugin that failed is in its error.
      type: list
      elements: dict
      returned: with a verbosity of 3 and more (C(-vvv))
      sample:
        - type: bridge
          command: ADD
          text: "could not disable IPv6 on cni0"
findings:
  description:
    - Plugins of these networks, and plugin directories, that users other than root can change. Findings have the same keys as
      those of M(cni.node.conflists).
  returned: unless the task is refused as a whole
  type: list
  elements: dict
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 11
    msg: verification is in use by another process; waited 60 s
    details: the lock is /run/cni-node-verify.lock; wait for the other run to end, or allow more time
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._module.verify import verify


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "networks": {"type": "list", "elements": "str", "default": []},
            "gateway_timeout": {"type": "float", "default": 5},
            **arguments.CONF_DIR,
            **arguments.PLUGIN_DIRS,
            **arguments.CACHE_DIR,
            **arguments.TIMEOUT,
        },
        supports_check_mode=True,
    )
    run(module, verify, paths)


if __name__ == "__main__":
    main()
