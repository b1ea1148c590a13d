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
  - Writes network configuration lists, and the single-plugin configurations of the specification's old versions, to the
    directory in which container runtimes look for them.
  - All of them are validated before one is written. A file appears under its name complete and on disk, by renaming
    a temporary file that no runtime takes for a configuration.
  - When a network's file gets another name, the old file is removed if this collection wrote it.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._paths.conf_dir
  - cni.node._paths.plugin_dirs
  - cni.node._paths.timeout

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
  mode:
    description:
      - Permissions of the files, in octal digits.
      - A number is taken as it is. V(0644) without quotes is one, which YAML reads as octal, and means the same.
    type: raw
    default: "0644"
  purge:
    description:
      - Remove files that are not in O(conflists), if this collection has written them and nobody has changed them since.
    type: bool
    default: false
  probe:
    description:
      - Ask each plugin of the networks for the versions it supports before a file is written, whatever O(validate.levels)
        are. Delegated plugins are asked too, which are those of C(ipam), and what C(flannel) and C(multus) run.
      - A plugin that is missing or supports none of the configuration's versions is an error. Nothing is written then.
      - In check mode a missing plugin is a warning, for another task may be about to install it.
    type: bool
    default: true

  validate:
    description:
      - What is looked at before a file is written.
      - All findings of the controller are returned at once, and all of the node. An error stops the task, a warning is shown.
    type: dict
    suboptions:
      levels:
        description:
          - Which checks are made. All but V(node) are made on the controller, before the node is asked for anything, as
            O(cni.node.conflist_findings#filter:levels) says.
          - V(schema) needs the Python package jsonschema, 4.17 or newer, on the controller.
          - V(node) compares the networks with the node. Their masters have to be there, with an MTU that is large enough.
            Their subnets must not have the node's own addresses, and must not be what the node's routes or the other files
            of O(conf_dir) lead elsewhere. It also warns of files that other runtimes take before these, that define the same
            network, that cannot be read, and that an interrupted program has left behind. In check mode a master that is
            missing is a warning, for another task may be about to make it.
          - What the engine itself refuses is refused without any level.
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
          - Whether a warning stops the task as well. What is a warning in check mode only does not.
        type: bool
        default: false
      attachments:
        description:
          - Attachments as O(cni.node.attachments#module:attachments) has them, to check their capability arguments and
            arguments for C(args.cni) with these networks. Those of other networks are passed over.
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
- name: Write a network given as data
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

- name: Write a network from a template, and remove what earlier runs have written
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
"""

RETURN = r"""
conflists:
  description:
    - What became of each file.
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
      description: The file.
      type: str
      returned: always
      sample: /etc/cni/net.d/10-dbnet.conflist
    action:
      description: What was done, or would be in check mode.
      type: str
      returned: always
      choices:
        - created
        - changed
        - removed
        - unchanged
    content:
      description:
        - The file's text, in check mode as it would be. Of a removed file, the text that it had.
        - O(cni.node.attachments#module:planned_conflists) takes it.
      type: str
      returned: unless the file is unchanged
findings:
  description:
    - What was found when the configurations were validated, errors and warnings, as P(cni.node.conflist_findings#filter) returns it.
      What is of the level V(node) has the path on the node as C(file).
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
    - C(code), C(msg) and C(details) of what went wrong, as the specification has them.
  returned: failure
  type: dict
  sample:
    code: 7
    msg: "conflists[0]: /plugins/1: the plugin has no 'type'"
    details: "expected: the name of the plugin's executable"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import CONFLISTS
from ansible_collections.cni.node.plugins.module_utils._module.conflists import VALIDATE, ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **CONFLISTS,
            **arguments.CONF_DIR,
            **arguments.PLUGIN_DIRS,
            **arguments.TIMEOUT,
            "mode": {"type": "raw", "default": "0644"},
            "purge": {"type": "bool", "default": False},
            "probe": {"type": "bool", "default": True},
            "validate": VALIDATE,
        },
        supports_check_mode=True,
    )
    run(module, ensure)


if __name__ == "__main__":
    main()
