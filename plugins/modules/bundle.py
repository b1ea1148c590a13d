#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle

short_description: Write an archive of what a node knows of its container networks

version_added: 1.0.0

description:
  - Writes one archive of at most 5 MiB for people who help with a node that they cannot reach. They read it without other programs,
    beginning with its C(README.txt).
  - It has the network configurations, the records of attachments, what the kernel has in the node's and in their network namespaces,
    the rules of the firewall, the last lines of the journal, versions, and what M(cni.node.node_info), M(cni.node.repair) and
    M(cni.node.gc) find. Nothing is repaired or removed.
  - Network configurations have only the keys that describe a network. Arguments of attachments, and keys of results that are not in the
    specification, are left out. Their values, and what looks like a password, a token or a key, are replaced by C(***) in all other text.
  - Where the archive would be too large, the middle of its largest files is left out, which C(README.txt) and RV(files[].cut) say.

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
      - Reads nothing, and returns no RV(files).
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - O(state=present) writes a new archive each time.

options:
  state:
    description:
      - V(present) writes the archive, V(absent) removes it.
    type: str
    choices:
      - present
      - absent
    default: present
  path:
    description:
      - The archive on the node. It belongs to root and has the mode C(0600).
      - Only root may be able to change its directory, which is created if it is missing.
    type: path
    default: /var/lib/cni/cni.node/bundle.tar.gz
  min_age:
    description:
      - Minimum age of a leak, as O(cni.node.gc#module:min_age) of M(cni.node.gc).
    type: float
    default: 300
  owners:
    description:
      - Other runtimes whose lost attachments count as leaks, as O(cni.node.gc#module:owners) of M(cni.node.gc).
    type: list
    elements: str
    default: []
    choices: [containerd, crio, ctr, docker, nerdctl, nomad, podman]

seealso:
  - module: cni.node.node_info
  - module: cni.node.repair
  - module: cni.node.gc

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Write a bundle
  cni.node.bundle:

- name: Fetch it
  ansible.builtin.fetch:
    src: /var/lib/cni/cni.node/bundle.tar.gz
    dest: "bundles/{{ inventory_hostname }}.tar.gz"
    flat: true

- name: Remove it from the node
  cni.node.bundle:
    state: absent
"""

RETURN = r"""
size:
  description:
    - The size of the archive in bytes; 0 in check mode, and with O(state=absent).
  returned: success
  type: int
  sample: 31337
files:
  description:
    - The files in the archive; none in check mode, and with O(state=absent).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name of the file, below the directory of the archive.
      type: str
      returned: always
      sample: kernel/rules.txt
    size:
      description: Its size in bytes.
      type: int
      returned: always
      sample: 4242
    cut:
      description: Whether a part of it is left out.
      type: bool
      returned: always
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 4
    msg: the bundle cannot be in /tmp
    details: "/tmp: every user can add files (mode 1777, owner 0:0); expected: a directory that only root can change"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.bundle import ARGUMENTS, ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True), ensure, paths)


if __name__ == "__main__":
    main()
