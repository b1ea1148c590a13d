#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnose

short_description: Find out why one address does not reach another

version_added: 1.0.0

description:
  - Follows a packet from a container of the node to its destination, and the answer back, and stops at the first thing that is
    broken. It returns the value found, the value needed and, where there is one, the command that mends it.
  - On the way are the address and link in the network namespace, its routes, the neighbour, the veth pair, the bridge and its port
    (isolation, hairpin mode, VLAN, C(macspoofchk)), C(rp_filter), forwarding, the firewall, address translation there and back,
    mapped ports, the process that listens, and the MTU.
  - All of it is read from the kernel. The kernel itself says where it would send a packet that arrives on a link. To find the rule that
    drops the packet, the module sends one and has the kernel trace it through all tables of nftables, which iptables uses as
    well. Rules of the legacy iptables are found by their counters.
  - The packet is a TCP connection that is closed at once, an empty UDP datagram or an ICMP echo request. The rules that trace it belong
    to a process of C(nft), so the kernel removes them even if the module is killed.
  - The module sees one node. If the packet leaves it, the last step says by which link, to which neighbour and with which address, and
    RV(leaves) how the node that has the destination can follow it further. The playbook C(cni.node.diagnose) asks that one, too.

requirements:
  - nft 1.0 and Linux 5.12, to name the rule of nftables that drops a packet
  - Linux 5.18 and a link that carries Ethernet, to name the rule that drops a packet from elsewhere

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._paths.cache_dir

attributes:
  check_mode:
    support: full
    details:
      - Sends nothing. Whether a rule drops the packet is then not known, and a step says so.
  diff_mode:
    support: N/A
    details:
      - Nothing that lasts is changed.
  idempotent:
    support: full

options:
  from:
    description:
      - Where the packet comes from, V(node) for the node itself, a container by its ID, or by the name or path of its network namespace.
        V(CONTAINER/INTERFACE) selects one of several attachments. Of long container IDs, twelve digits are enough.
      - An address of a container or of the node works as well. For an address elsewhere, the kernel handles a packet as if it had
        arrived from there, if the destination is on this node. The answer goes to that address.
    type: str
    required: true
  to:
    description:
      - Where it goes, an address or a container as in O(from), followed by V(:PORT) and V(/PROTOCOL) if needed, such as
        V(10.80.0.3:8080/tcp), V([fd00::3]:53/udp) or V(web).
      - The protocols are V(tcp), the default with a port, V(udp), V(sctp) and V(icmp), the default without a port. For V(sctp), no packet
        is sent.
    type: str
    required: true
  timeout:
    description:
      - Seconds to wait for an answer to the packet.
    type: float
    default: 0.8
  elsewhere:
    description:
      - Whether another node may have an end that is given by a name. If this node does not have it, the module follows no packet, which
        is otherwise an error, and RV(ends) says what the node has.
    type: bool
    default: false
  sent:
    description:
      - The packet, if another node has sent it. O(from), O(to) and O(sent.source_port) are its RV(leaves), and O(sent.answer) is its
        RV(answer). Connection tracking then shows whether the packet has arrived. If there was no answer, the kernel handles one like
        it.
    type: dict
    suboptions:
      source_port:
        description: The port of the sender, or the identifier of an echo request.
        type: int
        required: true
      answer:
        description: What the packet received.
        type: str
        required: true
        choices:
          - answered
          - refused
          - unreachable
          - silent

seealso:
  - module: cni.node.repair
  - module: cni.node.verify

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Find out why red does not reach the database in blue
  cni.node.diagnose:
    from: red
    to: blue:5432/tcp
  register: diagnosis

- name: Show each step
  cni.node.show:
    msg: "{{ diagnosis.lines }}"

- name: Fail unless the node reaches a container
  cni.node.diagnose:
    from: node
    to: red
  register: diagnosis
  failed_when: diagnosis.broken is defined
"""

RETURN = r"""
reached:
  description:
    - Whether the destination is reached.
  returned: when it is known, which it is not in check mode, or if a server of UDP does not answer
  type: bool
answer:
  description:
    - What the packet received, V(answered), V(refused), V(unreachable) or V(silent). Empty if none was sent.
  returned: success
  type: str
  sample: silent
broken:
  description:
    - The first step that is broken, as in RV(steps[]).
  returned: when a step is broken
  type: dict
steps:
  description:
    - The steps in the order of the packet's way. The last one is broken if any is.
  returned: success
  type: list
  elements: dict
  contains:
    check:
      description: What was looked at.
      type: str
      returned: always
      choices:
        - netns
        - link
        - address
        - route
        - pair
        - port
        - bridge
        - spoof_check
        - vlan
        - isolation
        - mode
        - mtu
        - gateway
        - neighbour
        - host_port
        - reverse_path
        - forwarding
        - firewall
        - masquerade
        - listener
        - way_back
        - answer
    state:
      description:
        - V(unknown) means that the step could not be examined, or seems to be broken although an answer came.
      type: str
      returned: always
      choices:
        - ok
        - broken
        - unknown
    place:
      description: V(node), or the name or path of a network namespace.
      type: str
      returned: always
      sample: node
    way:
      description: Whether it is a step of the packet, or of its answer.
      type: str
      returned: always
      choices:
        - there
        - back
    found:
      description: The value found.
      type: str
      returned: always
      sample: net.ipv4.ip_forward is 0
    needed:
      description: The value needed; empty unless the step is broken.
      type: str
      returned: always
      sample: "1"
    command:
      description: A command on the node that mends the step; empty where there is none.
      type: str
      returned: always
      sample: sysctl -w net/ipv4/ip_forward=1
ends:
  description:
    - What this node has of both ends.
  returned: success
  type: dict
  contains:
    from:
      description: The addresses of O(from), empty if this node does not have it.
      type: list
      elements: str
      returned: always
      sample: [10.80.0.2]
    to:
      description: The addresses of O(to) that this node has, each with port and protocol.
      type: list
      elements: str
      returned: always
      sample: ["10.80.0.3:8080/tcp"]
leaves:
  description:
    - The packet as it leaves this node, after address translation.
  returned: when it leaves this node
  type: dict
  contains:
    from:
      description: Its source address.
      type: str
      returned: always
      sample: 192.0.2.1
    to:
      description: Its destination with port and protocol, as in O(to).
      type: str
      returned: always
      sample: 192.0.2.2:8080/tcp
    source_port:
      description: The port of the sender, or the identifier of an echo request; 0 if none was sent.
      type: int
      returned: always
lines:
  description:
    - The steps for readers.
  returned: success
  type: list
  elements: str
error:
  description:
    - C(code), C(msg) and C(details) of the error, as in the specification.
  returned: failure
  type: dict
  sample:
    code: 7
    msg: "to: 'web:0' is not a destination"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.diagnose import ARGUMENTS, diagnose
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True), diagnose, paths)


if __name__ == "__main__":
    main()
