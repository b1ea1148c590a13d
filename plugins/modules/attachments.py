#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: attachments

short_description: Attach network namespaces to CNI networks

version_added: 1.0.0

description:
  - Brings the attachments of network namespaces to CNI networks to the wanted state with ADD, CHECK and DEL of the
    Container Network Interface specification, versions 0.1.0 to 1.1.0. Any number of attachments takes one task, and one
    call of the node, or a few that show O(progress).
  - What to do is decided by facts. An attachment without a record is added. One whose network namespace is another
    one now, or whose configuration or arguments are not those it was made with, is deleted as it was made and added
    anew. All others are checked. Where another configuration or other arguments cannot be added, the attachment is put
    back as it was, and the task fails.
  - Records are kept in the format of the reference runtime, so that C(cnitool), CRI-O and Podman see these
    attachments, and this module sees theirs. What is about to be done is on disk before a plugin runs; the next run
    finishes what was interrupted.
  - Different containers are worked on at the same time, one container never is. An attachment that fails does not
    stop the others; the task fails when all have been worked on.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items.planned
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir
  - cni.node._paths.timeout

attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: full
    details:
      - There is no O(progress) to be seen then.
  check_mode:
    support: full
    details:
      - No ADD and no DEL is run. CHECK is, for it changes nothing.
      - What a task with M(cni.node.conflists) would change in a network's file is known from O(planned_conflists). Without
        it, the attachments that are made anew for such a change are not foretold.
      - Warnings name the attachments that would be cut off for a while because what is wanted of them has changed.
      - What is made anew may put right what others share with it, such as a bridge that is down. Of several that have drifted for
        it, all are predicted to be made anew, and the run may find some of them as they should be by then.
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  attachments:
    description:
      - The attachments.
    type: list
    elements: dict
    required: true
    suboptions:
      network:
        description:
          - Name of the network, as the configurations in O(conf_dir) give it.
        type: str
        required: true
      netns:
        description:
          - The network namespace, as a name below C(/run/netns) or as an absolute path.
          - With O(attachments[].state=present) it has to exist. The node's own is refused.
        type: str
        required: true
      container_id:
        description:
          - The container's id. The default is the last part of O(attachments[].netns), but for a path below C(/proc),
            whose last part is the same for all.
        type: str
      ifname:
        description:
          - Name of the interface inside the namespace.
        type: str
        default: eth0
      args:
        description:
          - Generic arguments for all plugins, given to them as C(CNI_ARGS). One without a value is left out.
          - Messages name keys and not values, also where a plugin has told them, but for C(IgnoreUnknown), C(IP), C(MAC), C(GATEWAY)
            and C(K8S_POD_*). What a task was called with is hidden by C(no_log).
        type: dict
        default: {}
      capability_args:
        description:
          - Values for the capabilities that plugins of the network declare, such as C(portMappings), C(mac), C(ips) or C(bandwidth).
          - What no plugin of the network declares reaches nobody. There is a warning then.
          - A mapped port without C(protocol) is one of tcp. Numbers may be text, lists and objects JSON text, as surveys give them, and
            empty text for one of these is as good as none. The record has what plugins get.
          - A mapped port that is new to the attachment is refused where another attachment that is recorded in O(cache_dir), by
            this collection or another runtime, maps it for an address that both have, and where a process listens on it
            (O(allow_ports_in_use)). Without C(hostIP), a port is mapped for all addresses. What the same task removes, or maps
            elsewhere, frees its port.
        type: dict
        default: {}
      config_args:
        description:
          - Values for C(args.cni) in the configuration that every plugin of the network gets for this attachment, as the conventions of
            the specification have them. C(labels) is a list of objects with C(key) and C(value), C(ips) a list of addresses that
            C(host-local) and C(static) are asked for, C(mac) the MAC address that C(bridge) and C(tuning) give.
          - They take the place of values of the same name in C(args.cni) of the network's file. A plugin passes over what it does not
            know. One without a value is left out.
          - Messages show no values but those of C(ips) and C(mac), also where a plugin has told them.
          - They are recorded, so that CHECK and DEL get them as well. Where they change, the attachment is made anew.
          - C(labels) and C(ips) may be JSON text, as surveys give them. Empty text for one of these is as good as none.
        type: dict
        default: {}
      state:
        description:
          - Whether there is to be such an attachment. It fails where the container has an interface of the name already, and that
            is left alone, whoever has made it.
          - V(absent) works from the record alone. The network may have been changed or removed since.
          - With V(absent), or before it is made anew, the container's interface is found also where the container has given it
            another name. It fails where it cannot be removed without taking another interface away.
        type: str
        choices:
          - present
          - absent
        default: present
      persist:
        description:
          - Whether it comes back when the node is booted, with its network namespace and, as far as its leases allow,
            with the addresses that it had.
          - The namespace has to be in C(/run/netns), and the node needs systemd. C(cni-node-restore.service) runs this
            collection's engine from C(restore.pyz) in O(restore_dir) before container runtimes are started. The
            records in O(cache_dir) are what it goes by, so these have to be on a disk.
          - Where its result has C(dns), C(/etc/netns/NAME/resolv.conf) is made of that.
          - A service that is to live in the namespace has C(NetworkNamespacePath=/run/netns/NAME), and
            C(cni-node-restore.service) in C(Requires=) and C(After=) of its unit.
          - When the last such attachment is removed, so is all of this.
        type: bool
        default: false
  check:
    description:
      - V(always) looks for drift and runs CHECK for every attachment, those made by this run included.
      - V(drift) only looks for drift and runs no plugin, which takes about a millisecond for each attachment. Links,
        addresses and routes are to be in the kernel as the attachment's result has them. Attachments are looked at that
        begin with a reference plugin or flannel; what others return does not tell enough. The rules of iptables or nftables
        with which C(bridge) and C(ptp) masquerade, C(portmap) maps ports and C(bridge) checks MACs (C(macspoofchk)) are to be
        there as well.
      - V(changed) does what V(always) does, only for attachments made by this run.
      - V(never) does neither.
      - Networks with C(disableCheck) or a version before 0.4.0 have no CHECK. C(disableCheck) forbids to look for drift as
        well.
      - Complaints of released plugins that are known to be wrong do not count. They are returned as
        RV(attachments[].false_alarms).
    type: str
    choices:
      - always
      - drift
      - changed
      - never
    default: always
  on_drift:
    description:
      - What is done about an attachment that has drifted or whose CHECK fails.
      - V(recreate) deletes and adds it, V(fail) leaves it and fails, V(report) leaves it and returns the error.
      - Whatever is found right after ADD fails with V(recreate) too.
      - Where a CHECK cannot be completed, as when its time is over, the attachment stays and the item fails with V(recreate)
        too.
    type: str
    choices:
      - recreate
      - fail
      - report
    default: recreate
  purge:
    description:
      - Remove attachments that are not in O(attachments), if this collection has made them.
      - Attachments of other runtimes are never touched.
    type: bool
    default: false
  allow_ports_in_use:
    description:
      - Whether a port of the node is mapped on which a process listens. What comes in for it goes to the container then, and
        nothing reaches the process any more. There is a warning.
      - By default, such an attachment fails, and so it does in check mode. A socket that listens on C(::) counts for IPv4 as well.
    type: bool
    default: false
  workers:
    description:
      - How many containers are worked on at the same time.
      - The default is twice the number of CPUs that the module may use.
    type: int
  progress:
    description:
      - Seconds after which a batch that takes longer shows how far it is, again and again until it has ended. The controller
        shows a line that says how many attachments are done and of how many, how many of them failed if any did, how many
        are done in a second, and which plugin took longest in one call.
      - The node is asked once for each such line, and once more. A container that has been begun is finished first. What
        is returned is the same as of one call. A batch that ends in time takes one call and shows nothing.
      - V(0) shows nothing. So does a task with C(async), and check mode where an attachment has O(attachments[].persist) or
        one had.
      - The line goes to standard error, for what is made to be read by a program goes to standard output.
    type: float
    default: 10
  restore_dir:
    description:
      - Directory of the program that restores attachments with O(attachments[].persist) when the node is booted. It is made, and
        removed with the program where it is empty.
      - The default is where the program is already, and C(/opt/cni.node) where there is none yet.
    type: path
  _controller:
    description:
      - What the action plugin tells of earlier calls of the same task. Only the action plugin sets it.
    type: dict

seealso:
  - module: cni.node.conflists
  - module: cni.node.netns
  - module: cni.node.node_info
  - plugin: cni.node.result_findings
    plugin_type: filter
    description: Compares the results that are returned with the specification, on the controller.
  - name: CNI specification
    description: The law that this module keeps.
    link: https://www.cni.dev/docs/spec/

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Attach two namespaces to a network
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
      - network: dbnet
        netns: blue
        capability_args:
          mac: 00:11:22:33:44:66
          portMappings:
            - hostPort: 8080
              containerPort: 80
              protocol: tcp

- name: Ask for an address and a MAC address, and tell plugins what the container is
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: green
        config_args:
          ips:
            - 10.1.0.50
          mac: 02:00:00:00:00:50
          labels:
            - key: app
              value: orders

- name: See whether all is well, and change nothing
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
    on_drift: fail
  check_mode: true

- name: Have an attachment that comes back after a reboot, before the services that need it
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
        persist: true

- name: Remove an attachment, whatever has become of its network's configuration
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: blue
        state: absent

- name: Have these attachments and no others
  cni.node.attachments:
    attachments: "{{ my_attachments }}"
    purge: true
"""

RETURN = r"""
attachments:
  description:
    - What became of each attachment, in the order of O(attachments), then of those that O(purge) removed.
  returned: unless the task is refused as a whole
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    container_id:
      description: The container's id.
      type: str
      returned: always
      sample: blue
    ifname:
      description: The interface inside the namespace.
      type: str
      returned: always
      sample: eth0
    netns:
      description: Path of the network namespace.
      type: str
      returned: always
      sample: /run/netns/blue
    action:
      description:
        - What was done, or would be in check mode.
      type: str
      returned: always
      choices:
        - added
        - checked
        - recreated
        - removed
        - unchanged
        - failed
    changed:
      description: Whether it was changed.
      type: bool
      returned: always
    reason:
      description: Why there was something to do, or an empty string.
      type: str
      returned: always
      sample: the network's configuration has changed
    result:
      description:
        - The CNI result, in the version of the specification selected for the attachment.
        - Empty where there is none, as after a removal and for an addition in check mode.
      type: dict
      returned: always
      sample:
        cniVersion: 1.0.0
        ips:
          - address: 10.1.0.2/16
            gateway: 10.1.0.1
            interface: 2
    error:
      description:
        - C(code), C(msg) and C(details) as the specification has them, or nothing.
      type: dict
      returned: always
    false_alarms:
      description: Complaints of CHECK that are known to be wrong.
      type: list
      elements: str
      returned: always
    seconds:
      description: Time from its start to its end.
      type: float
      returned: always
      sample: 0.061
    plugin_seconds:
      description: What of it was spent in plugins.
      type: float
      returned: always
      sample: 0.052
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
files:
  description:
    - What has become of the files that a reboot needs, or would in check mode; empty where they are as they should be.
  returned: when an attachment has O(attachments[].persist), or one had
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      type: str
      returned: always
      sample: /etc/systemd/system/cni-node-restore.service
    action:
      description: What was done.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
summary:
  description:
    - How many attachments each action was taken for.
  returned: unless the task is refused as a whole
  type: dict
  sample:
    added: 2
    unchanged: 1
timing:
  description:
    - Where the time went, on the node.
  returned: unless the task is refused as a whole
  type: dict
  contains:
    total:
      description: Seconds from the beginning to the end.
      type: float
      returned: always
      sample: 12.1
    plugins:
      description:
        - Seconds in plugins. Each call of a plugin counts in full, whatever others ran at the same time, so with several
          workers this may be more than RV(timing.total).
      type: float
      returned: always
      sample: 43.6
    outside:
      description: Seconds that attachments took beside plugins, summed in the same way. Waiting for other runs and for the disk counts.
      type: float
      returned: always
      sample: 2.9
    workers:
      description: How many containers were worked on at the same time, at most.
      type: int
      returned: always
      sample: 4
    slowest:
      description: The call of a plugin that took longest, with C(type), C(command) and C(seconds), or nothing where no plugin was run.
      type: dict
      returned: always
      sample:
        type: portmap
        command: ADD
        seconds: 0.41
error:
  description:
    - C(code), C(msg) and C(details) of what went wrong, as the specification has them.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 7
    msg: "attachments[1]: the attachment of blue (eth0) to network dbnet is given twice"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.attachments import ensure
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import PLANNED
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    item = {
        "network": {"type": "str", "required": True},
        "netns": {"type": "str", "required": True},
        "container_id": {"type": "str"},
        "ifname": {"type": "str", "default": "eth0"},
        "args": {"type": "dict", "default": {}},
        "capability_args": {"type": "dict", "default": {}},
        "config_args": {"type": "dict", "default": {}},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "persist": {"type": "bool", "default": False},
    }
    module = AnsibleModule(
        argument_spec={
            "attachments": {"type": "list", "elements": "dict", "required": True, "options": item},
            **arguments.CONF_DIR,
            **arguments.PLUGIN_DIRS,
            **arguments.CACHE_DIR,
            **arguments.TIMEOUT,
            "check": {"type": "str", "choices": ["always", "drift", "changed", "never"], "default": "always"},
            "on_drift": {"type": "str", "choices": ["recreate", "fail", "report"], "default": "recreate"},
            "purge": {"type": "bool", "default": False},
            "allow_ports_in_use": {"type": "bool", "default": False},
            "workers": {"type": "int"},
            "progress": {"type": "float", "default": 10.0},
            "restore_dir": {"type": "path"},
            **PLANNED,
            "_controller": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    run(module, ensure)


if __name__ == "__main__":
    main()
