#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metrics

short_description: Write metrics of a node's container networks for Prometheus

version_added: 1.0.0

description:
  - Writes a file with metrics that node_exporter reads from the directory of its C(textfile) collector. They are the addresses of
    each pool, attachments and how many of them have drifted, leaks, files that cannot be read, and the time of the run.
  - On a node that repairs its attachments by itself, with V(change) in O(cni.node.repair#module:repair_on), they also count its
    repairs since it was booted.
  - No plugin is run, and nothing but the file is changed.

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
  diff_mode:
    support: full
  idempotent:
    support: full
    details:
      - The file is written each time, because it has the time of the run. The task is changed only if something else differs.

options:
  path:
    description:
      - The file, whose name has to end in C(.prom). A missing directory is created. The file has the mode 0644.
    type: path
    required: true
  min_age:
    description:
      - Minimum age of a leak in seconds, as O(cni.node.gc#module:min_age).
    type: float
    default: 300

  owners:
    description:
      - Runtimes whose lost attachments count as leaks, as O(cni.node.gc#module:owners).
    type: list
    elements: str
    default: []
    choices: [containerd, crio, ctr, docker, nerdctl, nomad, podman]

seealso:
  - module: cni.node.gc
  - module: cni.node.node_info

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Write metrics where node_exporter of Debian reads them
  cni.node.metrics:
    path: /var/lib/prometheus/node-exporter/cni.prom
"""

RETURN = r"""
metrics:
  description:
    - The metrics by name, without the prefix C(cni_node_). C(last_run_timestamp_seconds) is only in the file.
  returned: success
  type: dict
  sample:
    pool_leases:
      - labels:
          network: dbnet
          range: 10.1.0.1-10.1.255.254
        value: 2
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 5
    msg: "cannot write /var/lib/prometheus/node-exporter/cni.prom: Permission denied"
    details: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.metrics import write
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "min_age": {"type": "float", "default": 300},
            "owners": {"type": "list", "elements": "str", "default": [], "choices": list(runtimes.OWNER_NAMES)},
            **arguments.CONF_DIR,
            **arguments.PLUGIN_DIRS,
            **arguments.CACHE_DIR,
            **arguments.TIMEOUT,
        },
        supports_check_mode=True,
    )
    run(module, write, paths)


if __name__ == "__main__":
    main()
