#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: repair

short_description: Repair what attachments have lost on a node

version_added: 1.0.0

description:
  - Compares every recorded attachment of the node with the kernel, and repairs what has drifted. No plugin runs, no container
    is restarted, and what still works is not touched. Connections through mapped ports continue.
  - Use it after C(firewall-cmd --reload), C(nft flush ruleset) or C(iptables-restore), which remove the rules of all containers.
  - It covers the attachments of all runtimes that keep records in the format of the reference runtime, such as containerd, CRI-O,
    Podman and Nomad, and those of this collection.
  - Rules of C(ipMasq), C(macspoofchk), C(portmap) and C(firewall) are written again in C(iptables) or C(nftables), as the reference
    plugins of release 1.9.1 write them, in one transaction for each tool. Rules of older releases are recognized. All other
    rules keep their order.
  - An attachment is left alone, with a reason, if its network namespace is gone or belongs to another container, if an operation
    on it is in progress, if its network has C(disableCheck), or if its plugins are unknown.
  - Where the plugin C(firewall) has added addresses to a zone of firewalld instead of writing rules, these are added again with
    C(firewall-cmd).

requirements:
  - pyroute2 0.7 to 0.9 (package C(python3-pyroute2)) on the node, only to write and repair rate limits

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._paths.cache_dir

attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - Shows each rule as a command, and the units. Of the program, it shows the digest.
  idempotent:
    support: full

options:
  networks:
    description:
      - Names of the networks whose attachments are repaired. By default, those of all networks.
    type: list
    elements: str
    default: []
  owners:
    description:
      - The runtimes whose attachments are repaired. By default, all attachments are, those of unknown runtimes included.
      - V(cni.node) stands for the attachments of this collection.
      - The records do not name the runtime. An attachment that several runtimes may have made is repaired if one of them is
        in the list.
    type: list
    elements: str
    choices: [cni.node, containerd, crio, ctr, docker, nerdctl, nomad, podman]
    default: []
  resources:
    description:
      - What is repaired. Drift of other resources is only reported.
      - V(rules) stands for rules of C(iptables) and C(nftables), and addresses in zones of firewalld.
      - V(interfaces) stands for links, membership in bridges, addresses, routes, routing rules, kernel settings, rates,
        and leases of host-local.
      - By default, everything for the attachments of this collection, and V(rules) for those of other runtimes.
    type: list
    elements: str
    choices:
      - rules
      - interfaces
  timeout:
    description:
      - Seconds to wait for another repair on the node. Attachments that need one then fail, and the others do not.
    type: float
    default: 60
  on_reload:
    description:
      - V(present) installs systemd units with which the node repairs its attachments itself, without a playbook. They run
        from the library of the collection (M(cni.node.library)), with O(networks), O(resources) and O(cache_dir) of this task.
      - C(cni-node-repair.service) runs at boot, whenever C(firewalld), C(nftables), C(iptables), C(ip6tables) or
        C(netfilter-persistent) is started or restarted by systemd, and every O(interval). C(cni-node-repair-reload.service) starts it
        after C(systemctl reload) of one of these.
      - C(firewall-cmd --reload) and C(nft flush ruleset) by hand do not involve systemd. The rules are back after O(interval) at most.
      - The journal has a line for each attachment that was repaired or could not be. Nothing stays in memory between two runs.
      - V(absent) stops the units, and removes them.
      - By default, the units stay as they are.
      - V(present) is the same as O(repair_on=[boot, reload]), and V(absent) the same as O(repair_on=[]).
    type: str
    choices:
      - present
      - absent
  repair_on:
    description:
      - When the node repairs its attachments itself, without a playbook, with O(networks), O(owners), O(resources) and
        O(cache_dir) of this task. An empty list stops the units, and removes them. By default, the units stay as they are.
      - With V(boot), C(cni-node-repair.service) runs at boot. With V(reload), it runs as described for O(on_reload), and every
        O(interval).
      - With V(change), C(cni-node-watch.service) stays in memory. It sleeps until the kernel notifies it of a change of links,
        addresses, routes, routing rules or rules of C(nftables), in the node's network namespace or that of a container of this
        collection, made by any program. When the change has settled, it compares and repairs. Lost rules are back within two
        seconds. It compares all attachments when it starts, at boot too. With V(change), there is no timer.
      - The kernel does not notify of changes of the legacy tables of C(iptables). On a node that has such tables, the service
        looks at them twice a second.
      - The service does nothing while an ADD or DEL runs, of any runtime, for up to 30 seconds. What is removed for the third time
        within a minute is left alone for 10 seconds, and longer each further time, up to 10 minutes. The journal has a line for each
        repair, with the process that removed something where the kernel names it.
      - Mutually exclusive with O(on_reload).
    type: list
    elements: str
    choices:
      - boot
      - reload
      - change
  interval:
    description:
      - How often the units of O(on_reload) and O(repair_on) look for lost rules, as a time span of systemd such as V(30s), or
        V(never).
    type: str
    default: 1min
  packages:
    description:
      - Whether the node's package manager installs the Python library pyroute2 if drift remains without it.
      - If that fails, a warning says so.
    type: bool
    default: false

seealso:
  - module: cni.node.attachments
    description: Repairs the attachments of a task with the option O(cni.node.attachments#module:on_drift).
  - module: cni.node.gc

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Show what the attachments of the node have lost
  cni.node.repair:
  check_mode: true
  diff: true

- name: Put it back
  cni.node.repair:

- name: Repair the interfaces of Podman's containers as well
  cni.node.repair:
    owners:
      - podman
    resources:
      - rules
      - interfaces

- name: Let the node repair lost rules by itself
  cni.node.repair:
    on_reload: present
    interval: 30s

- name: Let the node repair what is lost within two seconds
  cni.node.repair:
    repair_on:
      - change
"""

RETURN = r"""
attachments:
  description:
    - The attachments with drift, and those that were left alone.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
  contains:
    network:
      description: Name of the network.
      type: str
      returned: always
      sample: dbnet
    container_id:
      description: The container ID.
      type: str
      returned: always
      sample: blue
    ifname:
      description: Name of the interface.
      type: str
      returned: always
      sample: eth0
    netns:
      description: Path of the network namespace, as recorded.
      type: str
      returned: always
      sample: /run/netns/blue
    own:
      description: Whether this collection made the attachment.
      type: bool
      returned: always
    action:
      description:
        - V(repaired) means that everything was repaired, or would be in check mode.
        - V(drifted) means that some drift remains, for example because O(resources) excludes it.
        - V(skipped) means that the attachment, or some of its rules, were not compared, and that nothing else was missing.
      type: str
      returned: always
      choices:
        - repaired
        - drifted
        - skipped
        - failed
    changed:
      description: Whether something was repaired.
      type: bool
      returned: always
    drift:
      description: What was missing or different.
      type: list
      elements: str
      returned: always
      sample:
        - the masquerade rule of 10.1.0.2 is gone
    left:
      description: The drift that remains.
      type: list
      elements: str
      returned: always
    changes:
      description: What was repaired, as commands.
      type: list
      elements: str
      returned: always
      sample:
        - iptables -t nat -A POSTROUTING -s 10.1.0.2/32 -j CNI-0b3cbcd238078ccb114521f5
    reason:
      description: Why the attachment was left alone, or why some of its rules could not be compared; or an empty string.
      type: str
      returned: always
      sample: its network namespace is gone
    error:
      description:
        - C(code), C(msg) and C(details) as in the specification, or V(none).
      type: dict
      returned: always
missing_libraries:
  description:
    - Python libraries that the node lacks, without which some of the drift remains.
  returned: unless the task is refused as a whole
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
    - python3-pyroute2
files:
  description:
    - Changes of the units, their links and their program, made or, in check mode, predicted. Empty if nothing changes.
  returned: when O(on_reload) or O(repair_on) is set
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      type: str
      returned: always
      sample: /etc/systemd/system/cni-node-repair.service
    action:
      description:
        - What was done to the file; V(started) for a unit that did not run as its file describes, such as after a run that was killed.
        - V(reloaded) with the path C(/run/cni-node-reload) is for units that a killed run had changed, and that systemd reads now.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
        - started
        - reloaded
summary:
  description:
    - The number of attachments by action, V(unchanged) included.
  returned: unless the task is refused as a whole
  type: dict
  sample:
    repaired: 2
    unchanged: 18
error:
  description:
    - C(code), C(msg) and C(details) of the error, as in the specification.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 7
    msg: "networks[0]: 'db net' is not a network name"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.repair import ARGUMENTS, repair
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    module = AnsibleModule(
        argument_spec=ARGUMENTS, mutually_exclusive=[("on_reload", "repair_on")], supports_check_mode=True
    )
    run(module, repair, paths)


if __name__ == "__main__":
    main()
