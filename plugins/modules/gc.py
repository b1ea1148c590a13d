#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gc

short_description: Collect what no attachment to a CNI network owns any more

version_added: 1.0.0

description:
  - Finds what crashes, reboots and lost network namespaces leave behind on a node, says how it knows, and collects it.
  - Attachments of this collection whose network namespace is gone, and those that were begun and not finished, are deleted
    by their records with DEL. Networks of version 1.1.0 or later are told to collect with GC.
    Those with O(cni.node.attachments#module:attachments[].persist) wait to be restored and stay.
  - What no plugin collects is removed by this module. These are addresses that C(host-local) has given away and nobody has,
    its directories of networks that are gone, chains of C(iptables) and rules of C(nftables) that masquerade or map ports for
    lost containers, whether rules lead to them or not, chains of C(nftables) that check the MAC of what these send
    (C(macspoofchk) of C(bridge)), files in which the plugin C(tuning) keeps what their interfaces had before, rules of the
    plugin C(firewall) for addresses that nobody has, links of the plugin C(bandwidth) that nothing sends to, ports of bridges
    that lead nowhere, and temporary files and locks of killed runs. What C(firewalld) has is left to it.
  - Records of all runtimes that keep them as the reference runtime does, such as containerd, CRI-O, Podman and Multus,
    count as claims. None of theirs is deleted. What is younger than O(min_age), has an address that is in use in any
    network namespace of the node, belongs or may belong to a network with C(disableGC), or may belong to a record that cannot
    be read, is kept and returned with the reason.

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
      - No plugin is run. What DEL or GC of a plugin would free beside its own attachment is not foretold.
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  networks:
    description:
      - Names of the networks to look at. What does not tell its network is then left out.
      - By default, all that have a configuration, a record, a directory of C(host-local) or a chain.
      - The message names those that are not configured and of which nothing was found.
    type: list
    elements: str
    default: []
  valid_attachments:
    description:
      - The attachments that there are to be. Others that this collection has made are deleted.
      - By default, all that are recorded and whose network namespace is there.
    type: list
    elements: dict
    suboptions:
      network:
        description:
          - Name of the network. By default, the entry is for all networks.
        type: str
      container_id:
        description:
          - The container's id.
        type: str
        required: true
      ifname:
        description:
          - Name of the interface inside the namespace.
        type: str
        default: eth0
  min_age:
    description:
      - Seconds. What was changed later may belong to an attachment that is just being made, and is kept.
      - The age of chains, rules and links cannot be known. They are kept as long as their address or their other end is in a
        network namespace that has a name or a process, or could be in one that cannot be looked into. Those that have neither
        are kept while any plugin is at ADD.
    type: float
    default: 300
  removed_conflists:
    description:
      - What a task with M(cni.node.conflists) before this one has returned as RV(cni.node.conflists#module:conflists).
      - What the plugins of the removed networks have made for all containers of the node, and never take away, is then collected
        as well. These are bridges, the chains of C(iptables) of the plugins C(portmap) and C(firewall), and the tables
        of C(nftables) of C(portmap), C(ipMasq) and C(macspoofchk).
      - A bridge goes if nothing else names it. That is a network configuration or a record of any runtime, or a file of the
        node's own network configuration, of C(ifupdown), C(netplan), C(systemd-networkd), C(NetworkManager) or
        C(/etc/sysconfig). It must have no port and no link on it, and no address but the gateways of the removed networks.
      - A chain or a table goes if no other network needs it, and it has no rule but those that the plugin makes for all
        containers.
      - What stays is returned with the reason.
      - In check mode, the files are taken as that task would leave them.
    type: list
    elements: dict
    default: []
    suboptions:
      network:
        description:
          - The network's name.
        type: str
      path:
        description:
          - The file.
        type: path
        required: true
      action:
        description:
          - What was done to it, or would be. Only what is removed counts.
        type: str
        required: true
        choices:
          - created
          - changed
          - removed
          - unchanged
      content:
        description:
          - The text that the file had.
        type: str
  removed_attachments:
    description:
      - What a task with M(cni.node.attachments) before this one has returned as RV(cni.node.attachments#module:attachments).
      - In check mode, those that it would remove are taken as removed. Otherwise this is not looked at.
    type: list
    elements: dict
    default: []

seealso:
  - module: cni.node.attachments
  - module: cni.node.node_info

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: See what is left over on a node, with the evidence
  cni.node.gc:
  check_mode: true

- name: Collect it
  cni.node.gc:

- name: Delete all attachments to a network but one
  cni.node.gc:
    networks:
      - dbnet
    valid_attachments:
      - container_id: green
    min_age: 0

- name: Remove the networks that this collection wrote
  cni.node.conflists:
    conflists: []
    purge: true
  register: networks

- name: Collect what only they used
  cni.node.gc:
    removed_conflists: "{{ networks.conflists }}"
"""

RETURN = r"""
findings:
  description:
    - What was found.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(record) is an attachment that is recorded, V(intent) one that was begun and not finished.
        - V(lease) is an address of C(host-local), V(empty lease) one whose file was left empty, and V(lease directory) its
          directory of a network that is gone.
        - V(chain) is a chain of C(iptables), or the rules or chains of C(nftables), for one container.
        - V(rule) are the two rules of the plugin C(firewall) for one address, or its rules for one bridge.
        - V(link) is a port of a bridge whose other end nobody can reach any more, or one of the plugin C(bandwidth) through
          which nothing is sent any more.
        - V(saved values) is a file in which the plugin C(tuning) keeps what an interface had before.
        - V(bridge), V(shared chain) and V(shared table) are what plugins make once for all containers, and removed networks
          used.
        - V(temporary file), V(lock) and V(directory) are this collection's own.
        - V(network) stands for a network that could not be looked at in full. All that was found and done before and after that
          is returned as well.
      type: str
      returned: always
      choices:
        - record
        - intent
        - lease
        - empty lease
        - lease directory
        - chain
        - rule
        - link
        - saved values
        - bridge
        - shared chain
        - shared table
        - temporary file
        - lock
        - directory
        - network
    network:
      description: The network's name, or an empty string.
      type: str
      returned: always
      sample: dbnet
    subject:
      description: The path of a file, or the name of what it is.
      type: str
      returned: always
      sample: /var/lib/cni/networks/dbnet/10.1.0.7
    evidence:
      description: One sentence on how it is known, and why it is kept where it is.
      type: str
      returned: always
      sample: no runtime has a record of container blue (eth0), and its address is not in use
    action:
      description:
        - What was done, or would be in check mode. V(deleted) is by DEL.
      type: str
      returned: always
      choices:
        - deleted
        - removed
        - kept
        - failed
    error:
      description:
        - C(code), C(msg) and C(details) as the specification has them, or nothing.
      type: dict
      returned: always
error:
  description:
    - C(code), C(msg) and C(details) of what went wrong, as the specification has them.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 11
    msg: leak collection is in use by another process for longer than 60 s
    details: the lock is /var/lib/cni/cni.node/locks/gc; wait for the other run to end, or allow more time
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import RETURNED
from ansible_collections.cni.node.plugins.module_utils._module.gc import collect
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    attachment = {
        "network": {"type": "str"},
        "container_id": {"type": "str", "required": True},
        "ifname": {"type": "str", "default": "eth0"},
    }
    module = AnsibleModule(
        argument_spec={
            "networks": {"type": "list", "elements": "str", "default": []},
            "valid_attachments": {"type": "list", "elements": "dict", "options": attachment},
            "min_age": {"type": "float", "default": 300},
            "removed_conflists": RETURNED,
            "removed_attachments": {"type": "list", "elements": "dict", "default": []},
            **arguments.CONF_DIR,
            **arguments.PLUGIN_DIRS,
            **arguments.CACHE_DIR,
            **arguments.TIMEOUT,
        },
        supports_check_mode=True,
    )
    run(module, collect)


if __name__ == "__main__":
    main()
