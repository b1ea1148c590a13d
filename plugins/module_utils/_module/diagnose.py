# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `diagnose`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis import diagnosis
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.examination import SentPacket
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.probe import ANSWERS

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

ARGUMENTS: t.Final[arguments.Spec] = {
    "from": {"type": "str", "required": True},
    "to": {"type": "str", "required": True},
    "timeout": {"type": "float", "default": 0.8},
    "elsewhere": {"type": "bool", "default": False},
    "sent": {
        "type": "dict",
        "options": {
            "source_port": {"type": "int", "required": True},
            "answer": {"type": "str", "required": True, "choices": list(ANSWERS)},
        },
    },
    **arguments.CACHE_DIR,
}


def diagnose(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Run the module `diagnose` and return its result."""
    params = module.params
    timeout = arguments.positive("timeout", params["timeout"])
    done = diagnosis.diagnose(
        paths,
        params["cache_dir"],
        params["from"],
        params["to"],
        timeout,
        dry_run=module.check_mode,
        sent=SentPacket(**params["sent"]) if params["sent"] else None,
        elsewhere=params["elsewhere"],
    )
    return {"changed": False, "msg": done.summary, "lines": done.lines, **done.as_dict()}
