# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `node_info`."""

from __future__ import annotations

import base64
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONFIGURATIONS_KEY, FINDINGS
from ansible_collections.cni.node.plugins.module_utils._module.run import count_entries, summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import ConflistDirectory
from ansible_collections.cni.node.plugins.module_utils._node.info import address_pools, inventory
from ansible_collections.cni.node.plugins.module_utils._node.info.node_links import list_links
from ansible_collections.cni.node.plugins.module_utils._node.info.plugin_answers import PluginAnswers
from ansible_collections.cni.node.plugins.module_utils._node.plugins import writable_plugins
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import find_runtimes
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ansible_collections.cni.node.plugins.module_utils._node.trial.readiness import Readiness

# What `gather` may name, in the order of the result.
DEFAULT_PARTS = ["plugins", "releases", "networks", "attachments", "leases", "netns", "runtimes"]
LINKS, STATUS, REPAIRS, DIAGNOSES = ("links", "status", "repairs", "diagnoses")
OTHER_PARTS = (LINKS, FINDINGS, STATUS, REPAIRS, DIAGNOSES)
_LISTED = (*DEFAULT_PARTS, LINKS, REPAIRS)
ARGUMENTS: t.Final[arguments.Spec] = {
    "gather": {
        "type": "list",
        "elements": "str",
        "choices": [*DEFAULT_PARTS, *OTHER_PARTS],
        "default": DEFAULT_PARTS,
    },
    "drift": {"type": "bool", "default": True},
    **arguments.CONF_DIR,
    **arguments.PLUGIN_DIRS,
    **arguments.CACHE_DIR,
    **arguments.TIMEOUT,
}


def ensure(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `node_info` and return its result."""
    params = module.params
    timeout = arguments.positive("timeout", params["timeout"])
    allowed = params["allow_world_writable_plugins"]
    plugin_dirs = params["plugin_dirs"] if "plugins" in params["gather"] else ()
    pools = address_pools.list_pools(params["conf_dir"], paths.lease_dir) if "leases" in params["gather"] else []
    gatherers: dict[str, t.Callable[[], t.Any]] = {
        "plugins": lambda: inventory.list_plugins(
            plugin_dirs, timeout, PluginAnswers(paths.plugin_answers), allow_world_writable=allowed
        ),
        "releases": lambda: inventory.list_releases(params["cache_dir"]),
        "networks": lambda: inventory.list_networks(params["conf_dir"], params["plugin_dirs"], params["builtin"]),
        "attachments": lambda: inventory.list_attachments(
            params["cache_dir"], params["conf_dir"], paths.lease_dir, drift=params["drift"]
        ),
        "leases": lambda: [pool.as_dict() for pool in pools],
        "netns": lambda: inventory.list_namespaces(paths),
        "runtimes": lambda: [runtime.as_dict() for runtime in find_runtimes(paths.root)],
        LINKS: list_links,
        REPAIRS: lambda: WatchState(paths.watch_state).recent,
    }
    facts = {name: gatherers[name]() for name in _LISTED if name in params["gather"]}
    if DIAGNOSES in params["gather"]:
        attachments = facts["attachments"] if "attachments" in facts else gatherers["attachments"]()
        facts[DIAGNOSES] = _diagnose(params["cache_dir"], paths, attachments)
    statuses = _query_status(params, paths, timeout) if STATUS in params["gather"] else []
    parts = [count_entries(name, entries) for name, entries in facts.items()]
    types = sorted({entry["type"] for entry in facts.get("plugins", ())})
    unsafe = writable_plugins.findings(plugin_dirs, types, allow_world_writable=allowed)
    warn(module, map(str, unsafe))
    if FINDINGS in params["gather"]:
        of_files, facts[CONFIGURATIONS_KEY] = _validate(params["conf_dir"])
        unsafe += of_files
        parts.append(count_entries(FINDINGS, [finding.as_dict() for finding in unsafe]))
    if FINDINGS in params["gather"] or "plugins" in params["gather"]:
        facts[FINDINGS] = [finding.as_dict() for finding in unsafe]
    if STATUS in params["gather"]:
        facts[STATUS] = [answer.as_dict() for answer in statuses]
        parts.append(f"status: {summarize_actions(answer.status for answer in statuses)}")
    warnings = [pool.warning for pool in pools if pool.warning]
    warnings += [str(answer) for answer in statuses if answer.error]
    return {"changed": False, "msg": "\n".join([*warnings, ", ".join(parts) or "gather is empty"]), **facts}


def _validate(path: str) -> tuple[list[Finding], list[JsonObject]]:
    """Return the findings of the level node about the files of a directory, and the files."""
    # Loaded late: by default, nothing is validated, and no plugin is asked for its status.
    from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks

    planned = ConflistDirectory(path).as_planned()
    files = [
        {"file": network.source, "content": base64.b64encode(network.content).decode()} for network in planned.desired
    ]
    return checks.check(planned, tolerate_missing=False), files


def _diagnose(cache_dir: str, paths: NodePaths, attachments: t.Sequence[JsonObject]) -> list[JsonObject]:
    # Loaded late, as the checks.
    from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.drift_diagnosis import diagnose_drifted

    return diagnose_drifted(paths, cache_dir, attachments)


def _query_status(params: t.Mapping[str, t.Any], paths: NodePaths, timeout: float) -> list[Readiness]:
    # Loaded late, as the checks.
    from ansible_collections.cni.node.plugins.module_utils._module.engine import make_runtime
    from ansible_collections.cni.node.plugins.module_utils._node.trial.readiness import query_readiness

    networks = conf_dir.load(params["conf_dir"]).networks
    return query_readiness(make_runtime(params, paths, timeout), [networks[name] for name in sorted(networks)])
