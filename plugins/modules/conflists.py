#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: conflists

short_description: Write and remove CNI network configurations

version_added: 1.0.0

description:
  - Writes network configuration lists, and single-plugin configurations of old versions of the specification, to the
    directory where container runtimes look for them.
  - Validates all configurations before it writes the first one. Each file is written under a temporary name that runtimes
    ignore, flushed to disk, and then renamed.
  - When the file of a network gets another name, the old file is removed if this collection wrote it.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.timeout
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
  mode:
    description:
      - Permissions of the files, as octal digits in quotes.
      - A number is used as it is. YAML reads V(0644) without quotes as octal, so it means the same.
    type: raw
    default: "0644"
  purge:
    description:
      - Remove files that are not in O(conflists), if this collection has written them and they have not been changed since.
      - Remove the units of O(dhcp_daemon) if that is V(false).
    type: bool
    default: false
  dhcp_daemon:
    description:
      - Whether to run the daemon that networks need whose addresses come from the plugin C(dhcp).
      - With V(true), the units C(cni-node-dhcp.socket) and C(cni-node-dhcp.service) are installed in C(/etc/systemd/system), as the
        project of the plugin recommends, with the first executable C(dhcp) in O(plugin_dirs). The socket C(/run/cni/dhcp.sock) is
        enabled, and started if systemd is running. It starts the daemon when a plugin needs it.
      - The node needs systemd. A daemon that already listens there is left alone, and no units are installed beside it.
      - A running daemon is not restarted when a plugin or a unit changes, because it would forget its leases.
      - With V(false), units that an earlier run has installed stay, and with O(purge=true) they are stopped and removed.
    type: bool
    default: false
  runtime:
    description:
      - The container runtime that the networks are for. If the node has it, the level V(node) of O(validate.levels) also compares
        O(conf_dir) and O(plugin_dirs) with the runtime's own directories.
    type: str
    choices: [apptainer, containerd, crio, k3s, kubelet, nerdctl, nomad, podman, rke2]
  probe:
    description:
      - Run each plugin of the networks with VERSION before a file is written, whatever O(validate.levels) says. This includes
        delegated plugins, such as the one in C(ipam) and those that C(flannel) and C(multus) run.
      - A plugin that is missing, or that supports none of the configuration's versions, is an error, and no file is written.
      - In check mode a missing plugin is a warning, because an earlier task may install it.
    type: bool
    default: true

  validate:
    description:
      - Checks to make before a file is written.
      - The controller reports all of its findings together, then the node all of its own. Errors fail the task; warnings are
        shown.
    type: dict
    suboptions:
      levels:
        description:
          - The checks to make. All levels but V(node) run on the controller before the node is contacted. For what they
            check, see O(cni.node.conflist_findings#filter:levels).
          - V(schema) needs the Python package jsonschema, 4.17 or newer, on the controller.
          - V(node) compares the networks with the node. Their master links must exist, with a sufficient MTU. Their subnets
            must not contain addresses of the node, and must not overlap with the node's routes or with the networks of other
            files in O(conf_dir). IPv6 must not be switched off for links of the node that get IPv6 addresses.
          - V(node) warns if IPv6 forwarding, which a network needs, takes the default route of router advertisements away, and
            if no daemon of the plugin C(dhcp) listens on the socket of a network that gets its addresses from it.
          - V(node) also warns about files that runtimes prefer to these, that define the same network, that cannot be read, or
            that an interrupted program has left. In check mode a missing master or IPv6 that is switched off is a warning,
            because an earlier task may change it.
          - Configurations that the engine cannot use are refused whatever the levels are.
        type: list
        elements: str
        choices:
          - schema
          - specification
          - consistency
          - node
        default:
          - schema
          - specification
          - consistency
          - node
      strict:
        description:
          - Treat warnings as errors, except those that are warnings only in check mode.
        type: bool
        default: false
      attachments:
        description:
          - Attachments in the form of O(cni.node.attachments#module:attachments), whose capability arguments and arguments for
            C(args.cni) are checked against these networks. Attachments to other networks are ignored.
        type: list
        elements: dict
        default: []

seealso:
  - plugin: cni.node.conflist_findings
    plugin_type: filter
  - plugin: cni.node.valid_conflist
    plugin_type: test
  - module: cni.node.attachments
  - module: cni.node.node_info
  - name: CNI specification, section 1
    description: The format of network configurations.
    link: https://www.cni.dev/docs/spec/#section-1-network-configuration-format

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Write a network from data
  cni.node.conflists:
    conflists:
      - priority: 10
        config:
          cniVersion: 1.0.0
          name: dbnet
          plugins:
            - type: bridge
              bridge: cni0
              isGateway: true
              ipam:
                type: host-local
                subnet: 10.1.0.0/16
                gateway: 10.1.0.1
            - type: portmap
              capabilities:
                portMappings: true

- name: Write a network from a template, and remove all others that earlier runs have written
  cni.node.conflists:
    conflists:
      - template: dbnet.conflist.j2
        vars:
          subnet: 10.1.0.0/16
    purge: true

- name: Remove a network, whatever its file is called
  cni.node.conflists:
    conflists:
      - name: dbnet
        state: absent

- name: Write a network that gets its addresses from a DHCP server, and run the daemon for it
  cni.node.conflists:
    conflists:
      - config:
          cniVersion: 1.0.0
          name: lan
          plugins:
            - type: macvlan
              master: eth1
              ipam:
                type: dhcp
    dhcp_daemon: true
"""

RETURN = r"""
conflists:
  description:
    - The files that were written, removed or already as desired.
  returned: success
  type: list
  elements: dict
  contains:
    network:
      description: The network's name.
      type: str
      returned: always
      sample: dbnet
    path:
      description: The file's path.
      type: str
      returned: always
      sample: /etc/cni/net.d/10-dbnet.conflist
    action:
      description: What was done to the file, or would be done in check mode.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
        - unchanged
    content:
      description:
        - The file's new text, or the previous text of a removed file. Check mode predicts it.
        - The list can be passed to O(cni.node.attachments#module:planned_conflists).
      type: str
      returned: unless the file is unchanged
files:
  description:
    - The units of O(dhcp_daemon) that were changed, and the socket if it was started.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The file's path.
      type: str
      returned: always
      sample: /etc/systemd/system/cni-node-dhcp.socket
    action:
      description:
        - What was done, or would be done in check mode.
        - V(reloaded) with the path C(/run/cni-node-reload) is for units that a killed run had changed, and that systemd reads now.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
        - started
        - reloaded
findings:
  description:
    - Errors and warnings of the validation, in the form that P(cni.node.conflist_findings#filter) returns.
      In findings of the level V(node), C(file) is the path on the node.
  returned: always
  type: list
  elements: dict
  sample:
    - level: schema
      severity: error
      code: misspelled-key
      file: conflists[0]
      line:
      plugin:
        index: 0
        type: bridge
      path: /plugins/0/isGatway
      value: true
      message: the key 'isGatway' is unknown to bridge of release 1.9.1
      hint: did you mean isGateway?
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 7
    msg: "conflists[0]: /plugins/1: the plugin has no 'type'"
    details: "expected: the name of the plugin's executable"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.conflists import VALIDATE, ensure
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import CONFLISTS
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES

SPEC: t.Final[dict[str, t.Any]] = {
    "argument_spec": {
        **CONFLISTS,
        **arguments.CONF_DIR,
        **arguments.PLUGIN_DIRS,
        **arguments.TIMEOUT,
        "mode": {"type": "raw", "default": "0644"},
        "purge": {"type": "bool", "default": False},
        "dhcp_daemon": {"type": "bool", "default": False},
        "runtime": {"type": "str", "choices": list(NAMES)},
        "probe": {"type": "bool", "default": True},
        "validate": VALIDATE,
        **arguments.FOLLOWING,
    },
    "supports_check_mode": True,
}


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
