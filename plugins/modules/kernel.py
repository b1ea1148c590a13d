#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel

short_description: Load the kernel modules and set the kernel settings that container networks need

version_added: 1.0.0

description:
  - Derives from network configurations which kernel modules, kernel settings and programs of the node the reference
    plugins need, loads and sets them, and keeps them over a reboot. Each is returned with the reasons for it.
  - One call describes the whole. What an earlier call has set and this one does not ask for is taken back.
  - Everything is looked at before anything is changed. What the kernel lacks or refuses is one error that names it all.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._paths.cache_dir

attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  modules:
    description:
      - Kernel modules to be loaded besides those that O(conflists) need.
      - What is built into the kernel counts as loaded.
    type: list
    elements: str
    default: []
  sysctls:
    description:
      - Kernel settings besides those that O(conflists) need, by their keys, such as C(net.ipv4.ip_forward) or
        C(net/ipv4/ip_forward). A dot within an interface's name is a slash where the parts are separated by dots, and
        the other way round.
      - C(net.ipv4.conf.all.forwarding) is C(net.ipv4.ip_forward) to the kernel, and named so here.
      - A value is a number or text on one line.
    type: dict
    default: {}
  persist:
    description:
      - Have the modules and settings again after a reboot, by the files C(/etc/modules-load.d/cni.node.conf) and
        C(/etc/sysctl.d/90-cni.node.conf). What is built into the kernel is in neither.
      - V(false) removes these files.
    type: bool
    default: true
  state:
    description:
      - V(absent) removes the two files and puts back each setting that was changed by this module and has not been
        changed by anybody else since. Modules stay loaded until the next boot. All other options but O(cache_dir) are
        not looked at.
    type: str
    choices:
      - present
      - absent
    default: present

notes:
  - The values that settings had before are kept below O(cache_dir), in C(cni.node/kernel.json).
  - A run that has something to change waits for another one up to a minute.
  - With a gateway or masquerading for IPv6, C(net.ipv6.conf.all.forwarding) is set, as the plugins themselves do at their
    first ADD. A node that has its own default route by router advertisements keeps it only with C(accept_ra=2) on that interface.
  - Of plugins other than the reference ones nothing is known. Give what they need in O(modules) and O(sysctls).

seealso:
  - module: cni.node.conflists
  - name: Reference plugins
    description: What the plugins' keys mean.
    link: https://www.cni.dev/plugins/current/

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Prepare the kernel for two networks
  cni.node.kernel:
    conflists:
      - config:
          cniVersion: 1.0.0
          name: labnet
          plugins:
            - type: bridge
              bridge: cni0
              isGateway: true
              ipMasq: true
              ipam:
                type: host-local
                subnet: 10.1.0.0/16
                routes:
                  - dst: 0.0.0.0/0
            - type: portmap
              capabilities:
                portMappings: true
      - template: dbnet.conflist.j2
        vars:
          subnet: 10.2.0.0/16

- name: Have a module and a setting until the next boot
  cni.node.kernel:
    modules:
      - vxlan
    sysctls:
      net.ipv4.conf.all.arp_ignore: 1
    persist: false

- name: Put everything back
  cni.node.kernel:
    state: absent
"""

RETURN = r"""
modules:
  description:
    - What became of each kernel module.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The module's name, with underscores.
      type: str
      returned: always
      sample: br_netfilter
    action:
      description: What was done, or would be in check mode; V(present) and V(built_in) tell what there was before.
      type: str
      returned: always
      choices:
        - loaded
        - present
        - built_in
    reasons:
      description: What it is needed for.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: isGateway, and NAT is to see what passes between its containers"
sysctls:
  description:
    - What became of each kernel setting.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The setting's key, with dots.
      type: str
      returned: always
      sample: net.ipv4.ip_forward
    before:
      description: Its value before, or nothing where a module that is to be loaded brings the setting along.
      type: str
      returned: always
      sample: "0"
    after:
      description: Its value afterwards.
      type: str
      returned: always
      sample: "1"
    action:
      description:
        - What was done, or would be in check mode.
        - V(unchanged) is what was right before. What the kernel resets of it with another setting, as it does with
          C(net.ipv4.ip_forward), is written again.
        - V(restored) is what has its former value again, V(left) what somebody else has changed and what therefore stays.
      type: str
      returned: always
      choices:
        - set
        - unchanged
        - restored
        - left
    reasons:
      description: What it is needed for.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: isGateway"
commands:
  description:
    - Programs of the node that plugins run. The module installs none.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The program's name.
      type: str
      returned: always
      sample: iptables
    path:
      description: Where it is, or nothing where it is missing.
      type: str
      returned: always
      sample: /usr/sbin/iptables
    reasons:
      description: What it is needed for.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: ipMasq"
error:
  description:
    - C(code), C(msg) and C(details) of what went wrong, as the specification has them.
  returned: failure
  type: dict
  sample:
    code: 50
    msg: "kernel module ipvlan: the running kernel does not have it (network lan, plugins[0] ipvlan)"
    details: nothing was changed
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import CONFLISTS
from ansible_collections.cni.node.plugins.module_utils._module.kernel import ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **CONFLISTS,
            **arguments.CACHE_DIR,
            "modules": {"type": "list", "elements": "str", "default": []},
            "sysctls": {"type": "dict", "default": {}},
            "persist": {"type": "bool", "default": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    run(module, ensure)


if __name__ == "__main__":
    main()
