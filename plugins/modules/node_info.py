#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info

short_description: Return the CNI state of a node

version_added: 1.0.0

description:
  - Returns the node's plugins with the versions they support, its networks, the attachments recorded by this collection and by
    other runtimes, the free addresses of its networks, and its named network namespaces.
  - An item that cannot be read is returned with its error, beside all the others.

extends_documentation_fragment:
  - cni.node._attributes.engine
  - cni.node._attributes
  - cni.node._attributes.info_module
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.cache_dir
  - cni.node._paths.timeout

attributes:
  async:
    description: Supports being used with the C(async) keyword.
    support: partial
    details:
      - Not with V(findings) in O(gather).

options:
  gather:
    description:
      - What to return. For V(plugins), each plugin is run once. One that is an ELF file is not run again until the file is
        replaced or changed, or the node is booted. For V(runtimes), the program of each container runtime of the node is run once.
      - V(links) and V(findings) are not among the defaults. For V(findings), the controller needs C(jsonschema).
      - V(status) runs the plugins of each network with STATUS, which changes nothing. It is not among the defaults.
      - V(repairs) is what the node has repaired by itself, with V(change) in O(cni.node.repair#module:repair_on). It is not among the
        defaults.
      - V(diagnoses) is why packets of attachments that have drifted are lost, and needs O(drift). It is not among the defaults.
    type: list
    elements: str
    choices:
      - plugins
      - releases
      - networks
      - attachments
      - leases
      - netns
      - runtimes
      - links
      - findings
      - status
      - repairs
      - diagnoses
    default:
      - plugins
      - releases
      - networks
      - attachments
      - leases
      - netns
      - runtimes

  drift:
    description:
      - Compare attachments with the kernel to find drift. This runs no plugin and changes nothing.
    type: bool
    default: true

seealso:
  - module: cni.node.attachments
  - module: cni.node.gc

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Read the state of a node
  cni.node.node_info:
  register: node

- name: Fail if the record of an attachment cannot be read
  ansible.builtin.assert:
    that:
      - node.attachments | selectattr('error') | length == 0

- name: Fail if the plugins of a network are not ready
  cni.node.node_info:
    gather:
      - status
  register: readiness
  failed_when: readiness.status | selectattr('error') | length > 0

- name: Read only the networks
  cni.node.node_info:
    gather:
      - networks
"""

RETURN = r"""
plugins:
  description:
    - The executables in O(plugin_dirs).
  returned: when O(gather) has V(plugins)
  type: list
  elements: dict
  contains:
    type:
      description: The plugin's type, which is the file's name.
      type: str
      returned: always
      sample: bridge
    path:
      description: The plugin's path.
      type: str
      returned: always
      sample: /opt/cni/bin/bridge
    shadowed:
      description: Whether an earlier directory has a plugin of this name.
      type: bool
      returned: always
    release:
      description: The release that a reference plugin prints, or an empty string.
      type: str
      returned: always
      sample: 1.9.1
    flaws:
      description: Known flaws of the plugin in this release.
      type: list
      elements: str
      returned: always
    versions:
      description: The versions of the specification that the plugin supports.
      type: list
      elements: str
      returned: always
    error:
      description: Why the plugin did not answer, or V(none).
      type: dict
      returned: always
findings:
  description:
    - With V(plugins), the directories and plugins that users other than root can change. With V(findings), also what validation
      finds in the files in O(conf_dir), on all levels. Each has the form of RV(cni.node.conflists#module:findings), with C(value) left
      out. A message may quote a wrong value of a key that the reference plugins know.
  returned: when O(gather) has V(plugins) or V(findings)
  type: list
  elements: dict
releases:
  description:
    - The releases that M(cni.node.plugins) has installed and those it keeps for a rollback, by set, newest first.
  returned: when O(gather) has V(releases)
  type: list
  elements: dict
  contains:
    bin_dir:
      description: The directory of the plugins.
      type: str
      returned: always
      sample: /opt/cni/bin
    set:
      description: The name of the set of plugins that the release belongs to.
      type: str
      returned: always
      sample: reference
    version:
      description: The version, or the beginning of the digest where the release has none.
      type: str
      returned: always
      sample: 1.9.1
    digest:
      description: Digest of the release's archive, or of its files.
      type: str
      returned: always
    current:
      description: Whether the release is installed.
      type: bool
      returned: always
    plugins:
      description: The plugins of the release that are installed or kept.
      type: list
      elements: str
      returned: always
    flaws:
      description: Known flaws of the release, if it is one of the reference plugins.
      type: list
      elements: str
      returned: always
      sample:
        - >-
          portmap 1.8.0: with the nftables backend, a mapped port also takes traffic that is not for the node; fixed in 1.9.0
          (CVE-2025-67499)
    missing:
      description: Plugins of the installed release that are missing in RV(releases[].bin_dir).
      type: list
      elements: str
      returned: always
networks:
  description:
    - The files in O(conf_dir), sorted by path.
  returned: when O(gather) has V(networks)
  type: list
  elements: dict
  contains:
    name:
      description: The network's name.
      type: str
      returned: when the file can be read
      sample: dbnet
    path:
      description: The file's path.
      type: str
      returned: always
    versions:
      description: The versions that the configuration allows, lowest first.
      type: list
      elements: str
      returned: when the file can be read
    plugins:
      description: The types of its plugins, in order.
      type: list
      elements: str
      returned: when the file can be read
    missing_plugins:
      description:
        - Plugins of the network, IPAM plugins included, that are missing in all of O(plugin_dirs) and are not built in.
      type: list
      elements: str
      returned: when the file can be read
    builtin_plugins:
      description:
        - Plugins of the network that run inside modules (see O(builtin)), with the release of the reference plugins whose behaviour
          they have.
      type: list
      elements: str
      returned: when the file can be read
      sample:
        - bridge@1.9.1
    shadowed:
      description: Whether an earlier file defines a network of the same name.
      type: bool
      returned: when the file can be read
    disable_check:
      description: Whether the configuration disables CHECK.
      type: bool
      returned: when the file can be read
    disable_gc:
      description: Whether the configuration disables GC.
      type: bool
      returned: when the file can be read
    config:
      description:
        - The configuration with the keys of the reference plugins that describe the network, such as C(bridge) and C(ipam). All other
          keys are left out, because they may hold secrets.
      type: dict
      returned: when the file can be read
    refused:
      description:
        - Why this collection does not use a network that container runtimes read, such as a single plugin's configuration at version
          1.0.0, or V(none).
      type: dict
      returned: when the file can be read
    error:
      description:
        - Why the file cannot be read, or why container runtimes find no network in a file that this collection reads, such as a list of
          plugins in a file whose name ends with C(.conf); V(none) for a working network.
      type: dict
      returned: always
attachments:
  description:
    - The attachments recorded in O(cache_dir) and by other runtimes, and operations that were interrupted.
  returned: when O(gather) has V(attachments)
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: when the record can be read
    container_id:
      description: The container ID.
      type: str
      returned: when the record can be read
    ifname:
      description: The interface inside the network namespace.
      type: str
      returned: when the record can be read
    netns:
      description: Path of the network namespace, or empty if neither the record nor its result has it.
      type: str
      returned: when the record can be read
    netns_state:
      description:
        - V(present), V(gone), V(replaced) by another network namespace at the same path, or V(unknown) if the record of
          another runtime and its result do not say.
      type: str
      returned: when the record can be read
    network_state:
      description:
        - Whether the network's configuration is the V(same) as at ADD, has V(changed), is V(gone), or is V(unknown) because
          the record does not have it.
      type: str
      returned: when the record can be read
    own:
      description: Whether this collection added the attachment.
      type: bool
      returned: when the record can be read
    builtin_plugins:
      description: The plugins that ran inside the module when it was added, with the release of the reference plugins.
      type: list
      elements: str
      returned: when the record can be read
    persist:
      description: Whether the attachment is restored after a reboot.
      type: bool
      returned: when the record can be read
    interrupted:
      description: The operation that was interrupted, or V(none).
      type: str
      returned: when the record can be read
    addresses:
      description: The addresses that ADD returned.
      type: list
      elements: str
      returned: when the record can be read
      sample: [10.1.0.2]
    ports:
      description: The host ports that lead to the container, with the container's port and the protocol.
      type: list
      elements: str
      returned: when the record can be read
      sample: [8080->80/tcp]
    drift:
      description:
        - Differences between the record and the kernel, such as a missing interface, bridge, address or firewall rule. An empty
          list means that there are none, and V(none) that drift was not determined.
        - Drift is not determined if O(drift=false), if the network namespace is gone, if an operation was interrupted, if the
          network disables CHECK, if the record has values that cannot be compared, or if the collection does not know what its
          plugins set up in the kernel.
      type: list
      elements: str
      returned: when the record can be read
      sample: ["interface cni0 of the node is gone"]
    result:
      description: The CNI result of ADD.
      type: dict
      returned: when the record can be read
    path:
      description: The record's path.
      type: str
      returned: when the record cannot be read
    error:
      description: Why the record cannot be read, or V(none).
      type: dict
      returned: always
leases:
  description:
    - The addresses of C(host-local), for each set of ranges in the configurations in O(conf_dir).
    - Sets without a free address come first. C(msg) begins with them, followed by sets with less than 5 percent free.
  returned: when O(gather) has V(leases)
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    range:
      description: First and last address of each range of the set.
      type: str
      returned: always
      sample: 10.1.0.1-10.1.255.254
    size:
      description: Number of addresses, gateways excluded.
      type: int
      returned: always
      sample: 65533
    taken:
      description: Number of leases.
      type: int
      returned: always
      sample: 2
    free:
      description: Number of free addresses.
      type: int
      returned: always
      sample: 65531
    path:
      description: The directory of the leases.
      type: str
      returned: always
      sample: /var/lib/cni/networks/dbnet
netns:
  description:
    - The named network namespaces.
  returned: when O(gather) has V(netns)
  type: list
  elements: dict
  contains:
    name:
      description: The namespace's name.
      type: str
      returned: always
      sample: blue
    path:
      description: The namespace's path.
      type: str
      returned: always
      sample: /run/netns/blue
runtimes:
  description:
    - The container runtimes whose program or service the node has, with the directories that their own configuration files set.
  returned: when O(gather) has V(runtimes)
  type: list
  elements: dict
  contains:
    name:
      description: The runtime's name. A node of kubeadm has V(kubelet) and V(containerd).
      type: str
      returned: always
      sample: containerd
    version:
      description: The version that its program prints; an empty string if there is none.
      type: str
      returned: always
      sample: 1.6.20~ds1
    program:
      description: The path of its program, or an empty string.
      type: str
      returned: always
      sample: /usr/bin/containerd
    units:
      description: Those of its systemd units that the node has, with C(name) and C(active).
      type: list
      elements: dict
      returned: always
      sample:
        - name: containerd.service
          active: true
    conf_dir:
      description: Where it reads network configurations.
      type: str
      returned: always
      sample: /etc/cni/net.d
    conf_dir_file:
      description: The configuration file that sets the directory; an empty string for the runtime's default.
      type: str
      returned: always
      sample: /etc/containerd/config.toml
    plugin_dirs:
      description: Where it looks for plugins, in this order.
      type: list
      elements: str
      returned: always
      sample:
        - /usr/lib/cni
    plugin_dirs_file:
      description: As RV(runtimes[].conf_dir_file).
      type: str
      returned: always
      sample: /etc/containerd/config.toml
    takes:
      description: Which file of the directory it takes.
      type: str
      returned: always
      choices:
        - the first file
        - the first valid file
        - by network name
    broken_file:
      description: What one broken file in the directory does.
      type: str
      returned: always
      sample: the file is skipped
    notices:
      description: When it notices that a file has changed.
      type: str
      returned: always
      choices:
        - at once
        - at the next container
        - on reload
    error:
      description: Why its configuration cannot be read, or V(none). Its usual directories are then returned.
      type: dict
      returned: always
repairs:
  description:
    - The last 20 repairs of attachments that the service C(cni-node-watch.service) has made since the node was booted, the newest last.
  returned: when O(gather) has V(repairs)
  type: list
  elements: dict
  contains:
    time:
      description: When it was repaired, in seconds of the epoch.
      type: int
      returned: always
      sample: 1795849200
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    container_id:
      description: The container ID.
      type: str
      returned: always
      sample: blue
    ifname:
      description: The name of the interface.
      type: str
      returned: always
      sample: eth0
    lost:
      description: What was missing or different.
      type: list
      elements: str
      returned: always
      sample: ["the masquerade rule of 10.1.0.2 is gone"]
    by:
      description: The processes that changed the node shortly before, where the kernel names them.
      type: list
      elements: str
      returned: always
      sample: ["nft (process 4711)"]
diagnoses:
  description:
    - For attachments that have drifted, ten at most, the way of a packet up to the first thing that is broken, as M(cni.node.diagnose)
      finds it in check mode. It is the first broken one of the ways to the gateway, from the node, to each mapped port and to the outside.
      No packet is sent, and each attachment takes two seconds at most.
  returned: when O(gather) has V(diagnoses)
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    container_id:
      description: The container ID.
      type: str
      returned: always
      sample: blue
    ifname:
      description: The name of the interface.
      type: str
      returned: always
      sample: eth0
    from:
      description: Where the packet comes from, the container ID, V(node) or an address outside.
      type: str
      returned: always
      sample: blue
    to:
      description: Where it goes.
      type: str
      returned: always
      sample: 10.1.0.1 (icmp)
    steps:
      description: The steps, as RV(cni.node.diagnose#module:steps). The last one is broken if any is.
      type: list
      elements: dict
      returned: always
links:
  description:
    - The links of the node's own network namespace, without the loopback.
  returned: when O(gather) has V(links)
  type: list
  elements: dict
  contains:
    name:
      description: The link's name.
      type: str
      returned: always
      sample: cni0
    kind:
      description: The kind, as C(ip -details link) shows it; an empty string for hardware.
      type: str
      returned: always
      sample: bridge
    mac:
      description: The hardware address, or an empty string.
      type: str
      returned: always
      sample: 9a:26:b3:e3:d2:56
    mtu:
      description: The largest packet, in bytes.
      type: int
      returned: always
      sample: 1500
    up:
      description: Whether it is set up.
      type: bool
      returned: always
    carrier:
      description: Whether it can send.
      type: bool
      returned: always
    addresses:
      description: Its addresses with their prefixes, without link-local ones.
      type: list
      elements: str
      returned: always
      sample: [10.1.0.1/16]
    master:
      description: The bridge, VRF or bond that it belongs to, or an empty string.
      type: str
      returned: always
    parent:
      description: The link below a VLAN, macvlan, ipvlan or VXLAN, or an empty string.
      type: str
      returned: always
    vlan:
      description: The VLAN ID of a VLAN; 0 for other links.
      type: int
      returned: always
    uplink:
      description: Whether a default route goes through it.
      type: bool
      returned: always
status:
  description:
    - Whether the plugins of each network in O(conf_dir) are ready for ADD, as they answer to STATUS. C(msg) begins with the
      networks that are not ready.
  returned: when O(gather) has V(status)
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    status:
      description:
        - V(unavailable) means that ADD would fail (code 50). V(limited) means that existing attachments may have limited
          connectivity as well (code 51). V(failed) means that a plugin could not be run or returned another error.
        - V(unsupported) means that the network has a version before 1.1.0, which has no STATUS.
      type: str
      returned: always
      choices:
        - ready
        - unavailable
        - limited
        - failed
        - unsupported
    error:
      description: The error of the first plugin that is not ready as C(code), C(msg) and C(details), or V(none).
      type: dict
      returned: always
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 7
    msg: "cannot list /etc/cni/net.d: Permission denied"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.node_info import ARGUMENTS, ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run

SPEC: t.Final[dict[str, t.Any]] = {"argument_spec": ARGUMENTS, "supports_check_mode": True}


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
