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
  - Derives from network configurations which kernel modules, kernel settings and programs the reference plugins need. Loads
    the modules and sets the settings, now and after each reboot. Each result has the reasons for it.
  - One call describes all modules and settings. Settings of an earlier call that this call does not need are restored, unless an
    attachment that exists needs them.
  - Checks everything before the first change. One error names all modules and settings that the kernel does not have or refuses.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._paths.cache_dir
  - cni.node._following

attributes:
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
  runtime:
    description:
      - A container runtime whose kernel modules and settings are needed, too. V(k3s) and V(rke2) set them themselves.
      - V(kubelet) is a node of kubeadm with containerd.
    type: str
    choices: [apptainer, containerd, crio, k3s, kubelet, nerdctl, nomad, podman, rke2]
  modules:
    description:
      - Kernel modules to load besides those that O(conflists) need.
      - A module that is built into the kernel counts as loaded.
    type: list
    elements: str
    default: []
  sysctls:
    description:
      - Kernel settings besides those that O(conflists) need. Each key is a name such as C(net.ipv4.ip_forward) or
        C(net/ipv4/ip_forward).
      - In a key with dots as separators, write a dot of an interface's name as a slash, as in C(net.ipv4.conf.eth0/5.forwarding).
      - C(net.ipv4.conf.all.forwarding) and C(net.ipv4.ip_forward) are the same setting. Results have the second name.
      - A value is a number or one line of text.
      - The settings may also be text, with C(key=value) on each line, or YAML. Empty lines and lines that begin with C(#) are ignored.
        YAML with an equals sign has to be a mapping in braces.
    type: dict
    default: {}
  persist:
    description:
      - Whether to apply the modules and settings at each boot as well. They are written to
        C(/etc/modules-load.d/cni.node.conf) and C(/etc/sysctl.d/90-cni.node.conf), without modules that are built into the kernel.
      - V(false) removes these files.
    type: bool
    default: true
  purge:
    description:
      - Whether settings of an earlier call are restored also if attachments that are recorded in O(cache_dir) need them. Containers may
        lose their connections.
    type: bool
    default: false
  packages:
    description:
      - What the node's package manager installs if the node lacks programs or Python libraries that the networks need.
      - V(true) installs the packages of all that is missing, V(programs) only those of programs, and V(false) nothing.
      - A list has the names of the packages to install if a program is missing.
    type: raw
    default: false
  state:
    description:
      - V(present) applies the modules and settings.
      - V(absent) removes the two files. It restores each setting that this module changed, unless another program has changed
        it since. Modules stay loaded until the next boot. All options except O(cache_dir) are ignored.
    type: str
    choices:
      - present
      - absent
    default: present

notes:
  - The earlier values of settings are kept below O(cache_dir), in C(cni.node/kernel.json).
  - A run that changes something waits up to a minute for another run on the node to end.
  - An IPv6 network with a gateway or masquerading needs C(net.ipv6.conf.all.forwarding), which plugins also set at their
    first ADD. The kernel then drops the default routes that it has learned from router advertisements, and ignores further ones,
    except on interfaces with C(accept_ra=2). A warning names each interface that loses its default route. To keep it, add for
    example C(net.ipv6.conf.eth0.accept_ra) with the value 2 to O(sysctls), which is set before IPv6 is forwarded. The module does
    not choose this value by itself, because the node then goes on to trust the routers of that network.
  - Only the requirements of the reference plugins are known. List what other plugins need in O(modules) and O(sysctls).

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

- name: Load a module and set a setting until the next boot
  cni.node.kernel:
    modules:
      - vxlan
    sysctls:
      net.ipv4.conf.all.arp_ignore: 1
    persist: false

- name: Prepare the kernel for a network, and install the programs that it needs
  cni.node.kernel:
    conflists:
      - template: dbnet.conflist.j2
        vars:
          subnet: 10.2.0.0/16
    packages: true

- name: Remove the files and restore all settings
  cni.node.kernel:
    state: absent
"""

RETURN = r"""
modules:
  description:
    - The kernel modules, and what was done to each.
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
      description:
        - What was done, or would be done in check mode.
        - V(present) means that the module was already loaded, and V(built_in) that it is part of the kernel.
      type: str
      returned: always
      choices:
        - loaded
        - present
        - built_in
    reasons:
      description: The networks, plugins and options that need it.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: isGateway, and iptables must see traffic between containers"
sysctls:
  description:
    - The kernel settings, and what was done to each.
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
      description: The value before, or V(none) if a module that is loaded by this run adds the setting to the kernel.
      type: str
      returned: always
      sample: "0"
    after:
      description: The value afterwards.
      type: str
      returned: always
      sample: "1"
    action:
      description:
        - What was done, or would be done in check mode.
        - V(unchanged) means that the value was already right. If the kernel resets it together with another setting, such as
          C(net.ipv4.ip_forward), it is written again.
        - V(restored) means that this module has given the setting its earlier value back.
        - V(left) means that another program has changed the setting since, so that it keeps that value.
      type: str
      returned: always
      choices:
        - set
        - unchanged
        - restored
        - left
    reasons:
      description: The networks, plugins and options that need it.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: isGateway"
commands:
  description:
    - Programs that plugins run on the node, as they were before O(packages) were installed.
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
      description: The program's path, or V(none) if it is missing.
      type: str
      returned: always
      sample: /usr/sbin/iptables
    reasons:
      description: The networks, plugins and options that need it.
      type: list
      elements: str
      returned: always
      sample:
        - "network dbnet, plugins[0] bridge: ipMasq"
missing_libraries:
  description:
    - Python libraries that the node lacks, and without which M(cni.node.attachments) and M(cni.node.repair) do not write the rate
      limits of networks with the plugin C(bandwidth), as it was before O(packages) were installed.
  returned: success
  type: list
  elements: str
  sample:
    - pyroute2
packages:
  description:
    - The packages that were installed, or would be in check mode.
  returned: when there are such packages
  type: list
  elements: str
  sample:
    - nftables
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 50
    msg: "kernel module ipvlan: the running kernel does not have it (network lan, plugins[0] ipvlan)"
    details: nothing was changed
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import CONFLISTS
from ansible_collections.cni.node.plugins.module_utils._module.kernel import ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES

SPEC: t.Final[dict[str, t.Any]] = {
    "argument_spec": {
        **CONFLISTS,
        **arguments.CACHE_DIR,
        "runtime": {"type": "str", "choices": list(NAMES)},
        "modules": {"type": "list", "elements": "str", "default": []},
        "sysctls": {"type": "dict", "default": {}},
        "persist": {"type": "bool", "default": True},
        "purge": {"type": "bool", "default": False},
        "packages": {"type": "raw", "default": False},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        **arguments.FOLLOWING,
    },
    "supports_check_mode": True,
}


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
