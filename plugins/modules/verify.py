#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: verify

short_description: Try CNI networks out

version_added: 1.0.0

description:
  - For each network, makes a throw-away network namespace, runs ADD and CHECK, waits for the gateway to answer, and runs DEL.
  - The plugins of networks of version 1.1.0 and later are asked by STATUS before. A network whose plugins are not ready fails with
    what they say, and no ADD is run.
  - Whatever fails, everything that was made is taken away again, and the networks after it are tried all the same.
    What a run leaves behind that is killed, the next one takes away.
  - What a plugin keeps for all its attachments, such as a bridge, stays as after any DEL.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir
  - cni.node._paths.timeout

attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  check_mode:
    support: full
    details:
      - No network is tried. What is missing is shown as the reason for which a network is skipped.
  diff_mode:
    support: N/A
    details:
      - Nothing is changed.
  idempotent:
    support: full

options:
  networks:
    description:
      - Names of the networks.
      - By default, all networks of O(conf_dir). Those of the plugin C(host-device) are skipped then, for it would take a
        device away from the node.
    type: list
    elements: str
    default: []
  gateway_timeout:
    description:
      - Seconds to wait until each gateway of an attachment's addresses answers an ICMP echo request. It is asked from the address
        that it is the gateway of, by the routes of the VRF where the interface is in one.
      - With V(0), no gateway is asked.
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

- name: Try one of them, and do not ask its gateway
  cni.node.verify:
    networks:
      - dbnet
    gateway_timeout: 0
"""

RETURN = r"""
networks:
  description:
    - What came of each network.
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
      description: How it went.
      type: str
      returned: always
      choices:
        - verified
        - failed
        - skipped
    reason:
      description: Why it was skipped, or what an earlier run that was interrupted had left behind.
      type: str
      returned: always
    status:
      description:
        - What the plugins answered to STATUS, as RV(cni.node.node_info#module:status[].status); empty where they were not asked.
      type: str
      returned: always
      sample: ready
    addresses:
      description: The addresses that the attachment had.
      type: list
      elements: str
      returned: always
      sample:
        - 10.1.0.2/16
    gateways:
      description: Of each gateway, whether it answered.
      type: list
      elements: dict
      returned: always
      sample:
        - address: 10.1.0.1
          answered: true
    error:
      description: C(code), C(msg) and C(details) of what failed, or nothing.
      type: dict
      returned: always
    seconds:
      description: Time that ADD, CHECK and DEL took.
      type: float
      returned: always
    stderr:
      description:
        - What plugins that succeeded wrote to standard error, with C(type) and C(command) of each call; at most the last 16 KiB of a
          call, and 256 KiB of all together. What a plugin that failed wrote is in its error.
      type: list
      elements: dict
      returned: with a verbosity of 3 and more (C(-vvv))
      sample:
        - type: bridge
          command: ADD
          text: "could not disable IPv6 on cni0"
findings:
  description:
    - Directories and plugins of these networks that others than root can change, as M(cni.node.conflists) returns findings.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
error:
  description:
    - C(code), C(msg) and C(details) of what went wrong with the whole, as the specification has them.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 11
    msg: verification is in use by another process for longer than 60 s
    details: wait for the other run to end, or allow more time
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._module.verify import verify


def main() -> t.NoReturn:
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
    run(module, verify)


if __name__ == "__main__":
    main()
