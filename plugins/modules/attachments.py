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
  - Attaches network namespaces to CNI networks, checks attachments and removes them, with ADD, CHECK and DEL of the
    Container Network Interface specification, versions 0.1.0 to 1.1.0. One task handles any number of attachments,
    normally in one remote call. Long tasks take a few calls and show O(progress).
  - An attachment without a record is added. One that is recorded for another network namespace, configuration or
    arguments is recreated, that is, deleted as recorded and added. All others are checked.
  - If an attachment cannot be added with its new configuration or arguments, it is rolled back, and the task fails. It is not even
    deleted if a built-in plugin refuses these, whatever the node has.
  - Records have the format of the reference runtime, so that C(cnitool), CRI-O and Podman see these attachments, and this
    module sees theirs. Each operation is written to disk before a plugin runs, and the next run completes what was
    interrupted.
  - Several containers are handled at the same time, the attachments of one container one after another. A failing
    attachment does not stop the others. The task fails when all have been handled.

requirements:
  - pyroute2 0.7 to 0.9 (package C(python3-pyroute2)) on the node, only to write and repair rate limits

extends_documentation_fragment:
  - cni.node._attributes.engine
  - cni.node._attributes
  - cni.node._conflist_items.planned
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir
  - cni.node._paths.timeout
  - cni.node._following

attributes:
  async:
    description: Supports being used with the C(async) keyword.
    support: full
    details:
      - O(progress) is not shown then.
  check_mode:
    support: full
    details:
      - CHECK is run, because it changes nothing. ADD and DEL are not.
      - A configuration or a value that a built-in plugin refuses is an error, as in a run. What only ADD finds out is not predicted,
        such as an error of an executable, a range without a free address, or a missing link of the node.
      - Pass the changes of a preceding task with M(cni.node.conflists) in O(planned_conflists). Without them, attachments
        that are recreated because of these changes are not predicted.
      - Pass the names of a preceding task with M(cni.node.netns) in O(planned_netns). Without them, the module warns that these
        network namespaces do not exist.
      - Warnings name the attachments that would lose their network for a short time because the request has changed.
      - Recreating one attachment may repair what others share with it, such as a bridge that is down. All attachments that
        drifted because of it are predicted to be recreated, although the run may find some of them repaired.
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
          - Name of the network in its configuration in O(conf_dir).
        type: str
        required: true
      netns:
        description:
          - The network namespace, as a name below C(/run/netns) or as an absolute path.
          - With O(attachments[].state=present), it has to exist. The node's own network namespace is refused.
          - If only the mount namespace of the task has it, as in a systemd service with C(PrivateTmp), the module warns that the
            attachment is lost when that ends. M(cni.node.netns) creates no such network namespace.
        type: str
        required: true
      container_id:
        description:
          - The container's ID.
          - The default is the last part of O(attachments[].netns). A path below C(/proc) has no default, because its last
            part does not identify a container.
        type: str
      ifname:
        description:
          - Name of the interface in the network namespace.
        type: str
        default: eth0
      args:
        description:
          - Arguments that all plugins get in C(CNI_ARGS). Arguments without a value are left out.
          - Messages show the keys, but not the values, even if a plugin wrote them. The values of C(IgnoreUnknown), C(IP), C(MAC),
            C(GATEWAY) and C(K8S_POD_*) are shown. Use C(no_log) to hide the task's own arguments.
        type: dict
        default: {}
      capability_args:
        description:
          - Values for the capabilities that plugins of the network declare, such as C(portMappings), C(mac), C(ips) or C(bandwidth).
          - A capability that no plugin of the network declares is ignored, with a warning.
          - A mapped port without C(protocol) is a TCP port. Numbers may be given as text, and lists and objects as JSON text, as
            AWX surveys do. Empty text for one of these counts as no value. The record has the values that plugins get.
          - A new mapped port is refused where another attachment recorded in O(cache_dir), by any runtime, maps it for the
            same address, and where a process listens on it (see O(allow_ports_in_use)). Without C(hostIP), a port is mapped
            for all addresses. Ports of attachments that the same task removes or changes count as free.
        type: dict
        default: {}
      config_args:
        description:
          - Values for C(args.cni) in the configuration that every plugin of the network gets for this attachment, as in the
            conventions of the specification. C(labels) is a list of objects with C(key) and C(value). C(ips) is a list of addresses to
            request from C(host-local) or C(static). C(mac) is the MAC address that C(bridge) and C(tuning) set.
          - They override values of the same name in C(args.cni) of the network's file. Plugins ignore names that they do not
            know. Names without a value are left out.
          - Messages show only the values of C(ips) and C(mac), even if a plugin wrote others.
          - They are recorded, so that CHECK and DEL get them as well. An attachment is recreated when they change.
          - C(labels) and C(ips) may be JSON text, as in AWX surveys. Empty text for one of these counts as no value.
        type: dict
        default: {}
      state:
        description:
          - Whether the attachment should exist.
          - With V(present), the item fails if the network namespace already has an interface of that name from another source.
            That interface is not changed.
          - V(absent) needs the record only. The network's configuration may have been changed or removed.
          - Before an attachment is deleted or recreated, its interface is found even if the container renamed it. The item
            fails if the interface cannot be removed without removing another one.
        type: str
        choices:
          - present
          - absent
        default: present
      persist:
        description:
          - Whether the attachment is restored at boot, with its network namespace and, as far as leases allow, with its
            addresses.
          - The network namespace has to be in C(/run/netns), and the node needs systemd. C(cni-node-restore.service) runs
            from the library of the collection (M(cni.node.library)) before container runtimes start. It reads the records in
            O(cache_dir), which therefore has to be on persistent storage.
          - Where the result has C(dns), C(/etc/netns/NAME/resolv.conf) is written from it.
          - The unit of a service in the network namespace needs C(NetworkNamespacePath=/run/netns/NAME), and
            C(cni-node-restore.service) in C(Requires=) and C(After=).
          - The service and its files are removed together with the last such attachment.
        type: bool
        default: false
  check:
    description:
      - V(always) looks for drift and runs CHECK for every attachment, including those made by this run.
      - V(drift) only looks for drift. It runs no plugin and takes about a millisecond for each attachment. It compares
        the kernel with what follows from the attachment's record, which are links, bridges, addresses, routes, routing rules, settings
        and limits of rates. It also looks for the iptables or nftables rules of C(bridge), C(ptp) and C(portmap) for
        masquerading, mapped ports and MAC checks (C(macspoofchk)). Only attachments whose network's first plugin is a
        reference plugin or flannel are compared, because results of other plugins lack the detail.
      - V(changed) does the same as V(always), but only for attachments made by this run.
      - V(never) does neither.
      - Networks with C(disableCheck) or a version before 0.4.0 have no CHECK. C(disableCheck) also disables the search for drift.
      - Errors of CHECK that are known to be wrong are not counted. They are returned as RV(attachments[].false_alarms).
    type: str
    choices:
      - always
      - drift
      - changed
      - never
    default: always
  on_drift:
    description:
      - What to do about an attachment that has drifted or whose CHECK fails.
      - V(repair) repairs what is missing or different, without a plugin and without touching what works, as M(cni.node.repair) does. Only
        an attachment whose interface is gone, or whose CHECK still fails, is recreated.
      - V(recreate) deletes and adds it. V(fail) keeps it and fails. V(report) keeps it and returns the error.
      - Drift right after ADD fails the item with V(repair) and V(recreate) as well.
      - If a CHECK cannot be completed, for example because it timed out, the attachment is kept, and the item fails with
        V(repair) and V(recreate) as well.
    type: str
    choices:
      - repair
      - recreate
      - fail
      - report
    default: repair
  purge:
    description:
      - Remove attachments that this collection made and that O(attachments) does not list.
      - Attachments of other runtimes are never removed.
    type: bool
    default: false
  allow_ports_in_use:
    description:
      - Whether to map a host port even if a process listens on it. New connections then go to the container and no longer
        reach the process. A warning is given.
      - By default, such an attachment fails, also in check mode. A socket that listens on C(::) counts for IPv4 as well.
    type: bool
    default: false
  workers:
    description:
      - Number of containers handled at the same time.
      - The default is twice the number of CPUs that the module may use.
    type: int
  progress:
    description:
      - Interval, in seconds, at which a long task shows its progress. The controller shows one line with the number of
        attachments done and in total, the number that failed, the rate per second, and the slowest plugin call.
      - Each line takes one more remote call, which completes the containers that it began. The result is that of a single
        call. A task that ends within the interval takes one call and shows nothing.
      - V(0) shows nothing. Nothing is shown either for a task with C(async), and in check mode where an attachment has or had
        O(attachments[].persist).
      - The line goes to standard error, so that programs can parse standard output.
    type: float
    default: 10
  planned_netns:
    description:
      - The value RV(cni.node.netns#module:changed_names) that an earlier task with M(cni.node.netns) returned.
      - In check mode, these network namespaces may be missing. Ignored outside check mode.
    type: list
    elements: str
    default: []
  _controller:
    description:
      - State of earlier calls of the same task. Only the action plugin sets it.
    type: dict

seealso:
  - module: cni.node.repair
  - module: cni.node.conflists
  - module: cni.node.netns
  - module: cni.node.node_info
  - plugin: cni.node.result_findings
    plugin_type: filter
    description: Compares returned results with the specification, on the controller.
  - name: CNI specification
    description: The specification that this module implements.
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

- name: Request an address and a MAC address, and pass labels to plugins
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

- name: Check an attachment without changing anything
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
    on_drift: fail
  check_mode: true

- name: Attach a namespace and restore the attachment at boot, before the services that need it
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: red
        persist: true

- name: Remove an attachment, even if the configuration of its network has changed or is gone
  cni.node.attachments:
    attachments:
      - network: dbnet
        netns: blue
        state: absent

- name: Keep these attachments and remove all others that this collection made
  cni.node.attachments:
    attachments: "{{ my_attachments }}"
    purge: true
"""

RETURN = r"""
attachments:
  description:
    - The result for each attachment, in the order of O(attachments), followed by those that O(purge) removed.
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
      description: The container's ID.
      type: str
      returned: always
      sample: blue
    ifname:
      description: The interface in the network namespace.
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
        - What was done, or would be done in check mode.
      type: str
      returned: always
      choices:
        - added
        - checked
        - recreated
        - repaired
        - removed
        - unchanged
        - failed
    changed:
      description: Whether the attachment was changed.
      type: bool
      returned: always
    reason:
      description: Why something had to be done, or an empty string.
      type: str
      returned: always
      sample: the network's configuration has changed
    interrupts:
      description:
        - What an attachment in use loses. It is lost for a short time if the attachment is recreated, and for good if it is removed.
        - V(none) if nothing is interrupted. An attachment whose network namespace is gone or has been replaced is not in use.
      type: dict
      returned: always
      contains:
        addresses:
          description: The addresses whose connections are interrupted, without prefix lengths.
          type: list
          elements: str
          returned: always
        ports:
          description: The host ports that are mapped to the container and are not mapped meanwhile.
          type: list
          elements: str
          returned: always
      sample:
        addresses:
          - 10.1.0.2
        ports:
          - 8080->80/tcp
    result:
      description:
        - The CNI result, in the version of the specification selected for the attachment.
        - Empty after a removal, and for an addition in check mode.
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
        - C(code), C(msg) and C(details) as in the specification, or V(none).
      type: dict
      returned: always
    false_alarms:
      description: Errors of CHECK that are known to be wrong.
      type: list
      elements: str
      returned: always
    seconds:
      description: Seconds spent on this attachment.
      type: float
      returned: always
      sample: 0.061
    plugin_seconds:
      description: Seconds of these that were spent in plugins.
      type: float
      returned: always
      sample: 0.052
    builtin_plugins:
      description:
        - The plugins of this attachment that this run has executed inside the module (see O(builtin)), with the release of the
          reference plugins whose behaviour they have.
      type: list
      elements: str
      returned: always
      sample:
        - bridge@1.9.1
        - host-local@1.9.1
    stderr:
      description:
        - Standard error of plugins that succeeded, with C(type) and C(command) of each call. It is limited to the last 16 KiB of
          a call and to 256 KiB in total. Standard error of a plugin that failed is in its error.
      type: list
      elements: dict
      returned: with a verbosity of 3 and more (C(-vvv))
      sample:
        - type: bridge
          command: ADD
          text: "could not disable IPv6 on cni0"
files:
  description:
    - Changes of the files that restoration at boot needs, made or, in check mode, predicted. Empty if nothing changes.
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
      description:
        - What was done to the file.
        - V(reloaded) with the path C(/run/cni-node-reload) is for units that a killed run had changed, and that systemd reads now.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
        - reloaded
summary:
  description:
    - Number of attachments by action.
  returned: unless the task is refused as a whole
  type: dict
  sample:
    added: 2
    unchanged: 1
timing:
  description:
    - Time spent on the node.
  returned: unless the task is refused as a whole
  type: dict
  contains:
    total:
      description: Elapsed seconds.
      type: float
      returned: always
      sample: 12.1
    plugins:
      description:
        - Seconds in plugins, summed over all plugin calls. With several workers, this may be more than RV(timing.total).
      type: float
      returned: always
      sample: 43.6
    workers:
      description: Maximum number of containers handled at the same time.
      type: int
      returned: always
      sample: 4
    slowest:
      description: The slowest plugin call, with C(type), C(command) and C(seconds), or V(none) if no plugin was run.
      type: dict
      returned: always
      sample:
        type: portmap
        command: ADD
        seconds: 0.41
error:
  description:
    - C(code), C(msg) and C(details) of the failure, as in the specification.
  returned: when the task is refused as a whole
  type: dict
  sample:
    code: 7
    msg: "attachments[1]: the attachment of blue (eth0) to network dbnet is given twice"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.attachments import ensure
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import PLANNED
from ansible_collections.cni.node.plugins.module_utils._module.run import run

_ITEM: t.Final[arguments.Spec] = {
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
SPEC: t.Final[dict[str, t.Any]] = {
    "argument_spec": {
        "attachments": {"type": "list", "elements": "dict", "required": True, "options": _ITEM},
        **arguments.CONF_DIR,
        **arguments.PLUGIN_DIRS,
        **arguments.CACHE_DIR,
        **arguments.TIMEOUT,
        "check": {"type": "str", "choices": ["always", "drift", "changed", "never"], "default": "always"},
        "on_drift": {"type": "str", "choices": ["repair", "recreate", "fail", "report"], "default": "repair"},
        "purge": {"type": "bool", "default": False},
        "allow_ports_in_use": {"type": "bool", "default": False},
        "workers": {"type": "int"},
        "progress": {"type": "float", "default": 10.0},
        **PLANNED,
        "planned_netns": {"type": "list", "elements": "str", "default": []},
        **arguments.CONTROLLER,
        **arguments.FOLLOWING,
    },
    "supports_check_mode": True,
}


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
