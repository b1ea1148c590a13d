#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gc

short_description: Find and remove leaked resources of CNI networks

version_added: 1.0.0

description:
  - Finds what crashes, reboots and lost network namespaces have leaked on a node, returns the evidence, and removes the leaks.
  - Attachments of this collection whose network namespace is gone, and those that an interrupted run did not complete, are
    deleted with DEL, as recorded. For networks of version 1.1.0 or later, the plugins then run GC.
    Attachments with O(cni.node.attachments#module:attachments[].persist) are kept, because they are restored at boot.
  - The module itself removes leaks that plugins do not collect.
  - Leases of C(host-local) without an owner, and lease directories of networks that are gone.
  - Chains of C(iptables) and rules of C(nftables) that masquerade or map ports for lost containers, and chains of C(nftables)
    that check their MAC addresses (C(macspoofchk) of C(bridge)). Rules of the plugin C(firewall) for addresses that no
    attachment has. Rules of C(firewalld) are not changed.
  - Links of the plugin C(bandwidth) that no link sends to, and ports of bridges whose other end is unreachable.
  - Files in which the plugin C(tuning) keeps the earlier values of lost interfaces, and temporary files and locks of killed runs.
  - An attachment owns its resources if any runtime has a record of it. This module reads the records of all runtimes that use
    the format of the reference runtime, such as containerd, CRI-O, Podman and Multus. It deletes none of theirs, unless
    O(owners) names the runtime and two proofs show that the attachment is lost, or O(release) names the attachment.
  - A resource is kept, and returned with the reason, if it is younger than O(min_age), its address is in use in any
    network namespace of the node, its network has C(disableGC), or its owner may be in an unreadable record.

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
      - No plugin is run. It does not predict what DEL or GC of a plugin removes beside the resources of its attachment.
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  networks:
    description:
      - Names of the networks to check. Resources that do not name their network are then left out.
      - By default, all networks that have a configuration, a record, a directory of C(host-local) or a firewall chain.
      - The result's C(msg) lists the names in this option that have neither a configuration nor a leak, such as misspelled ones.
    type: list
    elements: str
    default: []
  valid_attachments:
    description:
      - The attachments to keep. All others that this collection has made are deleted.
      - By default, all recorded attachments whose network namespace exists.
    type: list
    elements: dict
    suboptions:
      network:
        description:
          - Name of the network. By default, the entry applies to all networks.
        type: str
      container_id:
        description:
          - The container ID.
        type: str
        required: true
      ifname:
        description:
          - Name of the interface in the network namespace.
        type: str
        default: eth0
  min_age:
    description:
      - Minimum age of files and directories, in seconds. Younger ones are kept, because they may belong to an ADD still in
        progress.
      - The age of chains, rules and links is unknown. They are kept as long as their address or their other end is in a
        network namespace that has a name or a process, or may be in one that cannot be inspected. Those without an address
        or another end are kept while any plugin runs ADD.
    type: float
    default: 300
  owners:
    description:
      - Runtimes whose lost attachments are deleted as well, with DEL as they recorded it. With it go their leases, rules and links.
        By default, records of other runtimes are only reported.
      - V(containerd) is its Kubernetes service (CRI), also that of k3s, RKE2 and MicroK8s. V(nerdctl) is for containers that
        C(nerdctl) starts, V(ctr) for those of C(ctr run --cni).
      - V(docker) is for containers of Docker that another program attaches to CNI networks, such as C(cri-dockerd).
      - The record of a runtime does not name it. It is recognised by container ID, path of the network namespace, arguments
        and name of the network. An attachment is kept if it may belong to another runtime of the node that is not in the list.
      - An attachment is deleted only with two of these proofs, which RV(findings[].proofs) returns. Its network namespace is gone.
        The runtime does not list the container. No process of the node belongs to the container or is in its network namespace.
      - It is kept if the runtime lists the container, cannot be asked, is not running or started less than a minute ago, and
        if any process belongs to it. The age of a record or lease is not a proof, because Podman and Nomad start a container
        again after a boot, under the same ID.
      - An attachment that shows no sign of life but is kept is a finding, whichever runtime made it. Its evidence has the reason.
        It can be deleted by name, see O(release).
      - It is kept if its record is younger than O(min_age), or than one hour as long as its network namespace exists.
      - The deleted record and its leases are kept in a file that RV(findings[].saved) names.
    type: list
    elements: str
    default: []
    choices: [containerd, crio, ctr, docker, nerdctl, nomad, podman]
  release:
    description:
      - Attachments of other runtimes to delete although nothing proves that they are lost. Each is
        C(NETWORK/CONTAINER_ID/IFNAME), such as C(dbnet/default-c2/eth0).
      - RV(findings[].proofs) and RV(findings[].evidence) show what is known of each, such as its addresses, its leases and the
        last change of its record. It is deleted with DEL only if O(confirm=true), and then kept in RV(findings[].saved).
      - An attachment is kept in any case if its network namespace exists, if its runtime lists it, if a process belongs to it, if
        its address is or may be in use, if another record has its network namespace or address, if O(valid_attachments) lists it,
        or if its record is younger than O(min_age).
      - The result's C(msg) lists those that no other runtime has recorded.
    type: list
    elements: str
    default: []
  confirm:
    description:
      - Whether the attachments in O(release) are deleted. Otherwise they are only shown.
    type: bool
    default: false
  removed_conflists:
    description:
      - The value RV(cni.node.conflists#module:conflists) that an earlier task with M(cni.node.conflists) returned.
      - Also removes resources that the plugins of the removed networks made once for all containers of the node, because
        plugins never remove them. These are bridges, the chains of C(iptables) of the plugins C(portmap) and C(firewall), and the tables
        of C(nftables) of C(portmap), C(ipMasq) and C(macspoofchk).
      - A bridge is kept if it is named in a network configuration, in a record of any runtime, or in the node's own network
        configuration (C(ifupdown), C(netplan), C(systemd-networkd), C(NetworkManager) or C(/etc/sysconfig)). To be removed,
        it must have no port, no link on top of it, and no address but the gateways of the removed networks.
      - A chain or a table is removed if no other network needs it, and it has no rule but those that the plugin makes for all
        containers.
      - What is kept is returned with the reason.
      - In check mode, the files in O(conf_dir) are considered as that task would leave them.
    type: list
    elements: dict
    default: []
    suboptions:
      network:
        description:
          - Name of the network.
        type: str
      path:
        description:
          - Path of the file.
        type: path
        required: true
      action:
        description:
          - What was done to the file, or would be. Only V(removed) has an effect.
        type: str
        required: true
        choices:
          - created
          - changed
          - removed
          - unchanged
      content:
        description:
          - The earlier content of the file.
        type: str
  removed_networks:
    description:
      - Configurations of networks that an earlier run may have removed without coming to this module, such as those in the
        variables of a playbook. Those that O(conf_dir) has are left out.
      - For these networks, the same resources are removed as for O(removed_conflists), under the same conditions. In addition,
        a bridge must have the address of one of their gateways, which shows that the plugin made it.
    type: list
    elements: dict
    default: []
  removed_attachments:
    description:
      - The value RV(cni.node.attachments#module:attachments) that an earlier task with M(cni.node.attachments) returned.
      - In check mode, the attachments that this task would remove count as removed. Outside check mode, this is ignored.
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
- name: List the leaks of a node with the evidence
  cni.node.gc:
  check_mode: true

- name: Remove them
  cni.node.gc:

- name: List the attachments that containerd and Nomad have lost, with the proofs
  cni.node.gc:
    owners:
      - containerd
      - nomad
  check_mode: true

- name: Show what is known of an attachment whose loss nothing proves
  cni.node.gc:
    release:
      - dbnet/default-c2/eth0

- name: Delete it
  cni.node.gc:
    release:
      - dbnet/default-c2/eth0
    confirm: true

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

- name: Remove what only these networks used
  cni.node.gc:
    removed_conflists: "{{ networks.conflists }}"
"""

RETURN = r"""
findings:
  description:
    - The leaks, those that are kept included.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(record) is a recorded attachment, V(intent) an operation that was interrupted.
        - V(lease) is a lease of C(host-local), V(empty lease) one whose file is empty, and V(lease directory) the directory
          of a network that is gone.
        - V(chain) is a chain of C(iptables), or the rules or chains of C(nftables), for one container.
        - V(rule) is the pair of rules of the plugin C(firewall) for one address, or its rules for one bridge.
        - V(link) is a port of a bridge whose other end is unreachable, or a link of the plugin C(bandwidth) to which no
          link redirects traffic.
        - V(saved values) is a file in which the plugin C(tuning) keeps the earlier values of an interface.
        - V(bridge), V(shared chain) and V(shared table) are resources that plugins make once for all containers, and that
          only removed networks used.
        - V(temporary file), V(lock) and V(directory) belong to this collection.
        - V(network) stands for checks of a network that did not finish. All that other checks found and did is returned
          as well.
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
      description: Name of the network, or an empty string.
      type: str
      returned: always
      sample: dbnet
    subject:
      description: Path or name of the resource.
      type: str
      returned: always
      sample: /var/lib/cni/networks/dbnet/10.1.0.7
    evidence:
      description: Why it is a leak, and why it is kept.
      type: str
      returned: always
      sample: no runtime has a record of container blue (eth0), and its address is not in use
    proofs:
      description:
        - The facts that make it a leak, for a record, lease, chain, rule, link or saved values. A record of another runtime is
          deleted only with two or more, unless O(release) names it. Empty for everything else.
      type: list
      elements: str
      returned: always
      sample:
        - its network namespace /var/run/netns/cni-5f0c8f0e-66cf-8a4c-3b0a-0d2fd7a4b6c1 is gone
        - containerd does not list the container 8d1f0c2d6a3e4b5f9c7a1e0d2b4f6a8c9e1d3b5f7a9c1e3d5b7f9a1c3e5d7b9f
    saved:
      description:
        - The file in which the record and the leases of another runtime's attachment are kept, or would be in check mode. It is
          below O(cache_dir), in C(cni.node/removed), and has the path, the mode and the text of each file.
        - An empty string for everything else.
      type: str
      returned: always
      sample: /var/lib/cni/cni.node/removed/k8s-8d1f0c2d-eth0-6f1c0a9b2e3d.json
    action:
      description:
        - What was done, or would be in check mode. V(deleted) means with DEL.
      type: str
      returned: always
      choices:
        - deleted
        - removed
        - kept
        - failed
    error:
      description:
        - C(code), C(msg) and C(details) as in the specification, or V(none).
      type: dict
      returned: always
error:
  description:
    - C(code), C(msg) and C(details) of the error, as in the specification.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 11
    msg: leak collection is in use by another process; waited 60 s
    details: the lock is /var/lib/cni/cni.node/locks/gc; wait for the other run to end, or allow more time
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.gc import ARGUMENTS, collect
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True), collect, paths)


if __name__ == "__main__":
    main()
