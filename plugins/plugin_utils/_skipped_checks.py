# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the variables of a host if the task that checks those of all hosts was skipped together with the first host."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.plugin_utils import _library
from ansible_collections.cni.node.plugins.plugin_utils._play_variables import PlayVariables
from ansible_collections.cni.node.plugins.plugin_utils._variable_checks import ATTACHMENTS, CONCERNS, CONFLISTS

# As in the task of roles/cni_node/tasks/variables.yml.
CHECKED = (CONCERNS, CONFLISTS, ATTACHMENTS, "cni_node_check", "cni_node_on_drift", "cni_node_no_log")
_LOCK_TIMEOUT = 600.0


def find_errors(variables: JsonObject, template: t.Callable[[t.Any], t.Any], play: str) -> list[str]:
    """Return errors in the variables of a host, and networks of the play that collide.

    Args:
        variables: Those of the task.
        template: Evaluates a variable.
        play: An identifier. The nodes of a play are compared once.
    """
    hostvars, host = variables["hostvars"], str(variables["inventory_hostname"])
    given = {name: template(variables[name]) for name in CHECKED if name in variables}
    errors = PlayVariables(hostvars, [host], given, host).errors()
    if errors or not template(variables.get("__cni_node_compares_nodes", False)):
        return errors
    path = os.path.join(_library.directory(), f"{play}.collisions")
    with hold_lock(f"{path}.lock", exclusive=True, timeout=_LOCK_TIMEOUT, what="the comparison of the nodes"):
        kept = durable.read(path)
        if kept is None:
            hosts = variables["ansible_play_hosts_all"]
            nodes = {*hosts, *template(variables["__cni_node_nodes"])}
            colliding, dummy = PlayVariables(hostvars, hosts, given, host).collisions(sorted(map(str, nodes)))
            kept = json.dumps(colliding).encode()
            durable.write(path, kept, flush=False)
    found: list[str] = json.loads(kept)
    return found
