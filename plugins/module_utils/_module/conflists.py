# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `conflists`."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import (
    CONSISTENCY,
    NODE,
    SCHEMA,
    SPECIFICATION,
    Finding,
    errors,
    refusal,
)
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.execute import NotFound
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.run import (
    as_failure,
    phrase_action,
    summarize_actions,
    warn,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot import dhcp_units
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks as conflist_checks
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import (
    DesiredConflist,
    DesiredFiles,
    locate,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import (
    ConflistDirectory,
    PlannedDirectory,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plan import (
    ConflistPlan,
    apply,
    hold_lock,
    make_plan,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plugin_checks import PluginProbe
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins import writable_plugins
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import NEVER
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The controller checks all levels but the last, and the attachments, before the module runs.
_LEVELS = [SCHEMA, SPECIFICATION, CONSISTENCY, NODE]

VALIDATE = {
    "type": "dict",
    "apply_defaults": True,
    "options": {
        "levels": {"type": "list", "elements": "str", "choices": _LEVELS, "default": _LEVELS},
        "strict": {"type": "bool", "default": False},
        "attachments": {"type": "list", "elements": "dict", "default": []},
    },
}


class _Decision(t.NamedTuple):
    """A plan and the findings about it; an error among them stops the module."""

    plan: ConflistPlan
    findings: list[Finding]
    errors: list[Finding]


def ensure(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Write and remove network configurations as the task requests, and return the module's result."""
    params = module.params
    desired = [_to_desired(item, f"conflists[{position}]") for position, item in enumerate(params["conflists"])]
    files = locate(desired, params["conf_dir"])
    decision = _decide(module, files)
    # Before the networks, because runtimes use these immediately.
    daemon = [] if decision.errors else _set_up_dhcp(module, paths)
    if not module.check_mode and not decision.errors and decision.plan.is_needed:
        with hold_lock(decision.plan.directory.path, params["timeout"]):
            decision = _decide(module, files, decision)
            if not decision.errors:
                apply(decision.plan)
    warn(module, (str(finding) for finding in decision.findings if finding not in decision.errors))
    findings = [finding.as_dict() for finding in decision.findings]
    if decision.errors:
        return {"failed": True, **as_failure(refusal(decision.errors)), "findings": findings}
    return {**_report(decision.plan.changes, daemon, predicted=module.check_mode), "findings": findings}


def _set_up_dhcp(module: AnsibleModule, paths: NodePaths) -> list[FileChange]:
    """Install the units of the daemon of dhcp, or remove them with ``purge``, and return the changes."""
    params = module.params
    if not params["dhcp_daemon"] and not params["purge"]:
        return []
    executable = _find_dhcp(module) if params["dhcp_daemon"] else None
    timeout = positive("timeout", params["timeout"])
    changes, warnings = dhcp_units.set_up(paths, executable, timeout, dry_run=module.check_mode)
    warn(module, warnings)
    return changes


def _find_dhcp(module: AnsibleModule) -> str:
    """Return the path of the plugin dhcp; in check mode, where an earlier task may install it."""
    plugin_dirs, allowed = module.params["plugin_dirs"], module.params["allow_world_writable_plugins"]
    try:
        return make_executor(plugin_dirs, 1, allow_world_writable=allowed, builtin=NEVER).require(dhcp_daemon.PLUGIN)
    except CniError as exc:
        error = exc.within("dhcp_daemon")
        if not (module.check_mode and plugin_dirs and isinstance(exc, NotFound)):
            raise error from exc
        warn(module, [str(error)])
        return os.path.join(plugin_dirs[0], dhcp_daemon.PLUGIN)


def _decide(module: AnsibleModule, files: DesiredFiles, before: _Decision | None = None) -> _Decision:
    """Read the conf dir, plan changes and check them. Reuse the earlier findings if the conf dir is unchanged."""
    params = module.params
    mode = _parse_mode(params["mode"])
    plan = make_plan(ConflistDirectory(params["conf_dir"]), files, purge=params["purge"], mode=mode)
    is_same = before is not None and before.plan.planned == plan.planned
    findings = before.findings if before and is_same else _check(module, plan.planned)
    return _Decision(plan, findings, errors(findings, strict=params["validate"]["strict"]))


def _to_desired(item: t.Mapping[str, t.Any], where: str) -> DesiredConflist:
    if not 0 <= item["priority"] <= 99:
        raise CniError(
            Code.INVALID_CONFIG,
            f"{where}: priority: {item['priority']}",
            "expected: 0 to 99, because runtimes sort file names as text",
        )
    return DesiredConflist(
        where=where,
        content=content_of(item, where),
        network=item["name"] or "",
        filename=item["filename"] or "",
        priority=item["priority"],
    )


def _parse_mode(value: object) -> int:
    """Return permissions. Text has octal digits. A number is used unchanged, because YAML reads 0644 as octal."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else None
    if number is not None and 0 <= number <= 0o777:
        return number
    if isinstance(value, str) and re.fullmatch(r"0?[0-7]{3}", value):
        return int(value, 8)
    octal = "" if number is None else f", which is {number:#o}"
    raise CniError(Code.INVALID_CONFIG, f"mode: {value!r}{octal}", 'expected: octal digits such as "0644"')


def _report(changes: t.Sequence[FileChange], daemon: t.Sequence[FileChange], *, predicted: bool) -> dict[str, t.Any]:
    changed = [change for change in changes if change.changed]
    phrase = phrase_action("changed", predicted=predicted and bool(changed))
    msg = f"{len(changed)} of {len(changes)} network configurations {phrase}"
    if daemon:
        msg += f"; files: {summarize_actions((change.action for change in daemon), predicted=predicted)}"
    return {
        "changed": bool(changed or daemon),
        "conflists": [_entry(change) for change in changes],
        "files": [{"path": change.path, "action": change.action} for change in daemon],
        "diff": [change.as_diff() for change in (*changed, *daemon)],
        "msg": msg,
    }


def _entry(change: FileChange) -> dict[str, t.Any]:
    entry = {"network": change.network, "path": change.path, "action": change.action}
    content = change.before if change.after is None else change.after
    return {**entry, "content": (content or b"").decode("utf-8", "replace")} if change.changed else entry


def _check(module: AnsibleModule, planned: PlannedDirectory) -> list[Finding]:
    """Compare planned networks with the node and query the versions of their plugins, as the task requests.

    In check mode, a missing plugin or link is a warning, because an earlier task may create it.

    Raises:
        CniError: The kernel does not answer, or ``INVALID_CONFIG``: the time limit is not positive.
    """
    params = module.params
    result: list[Finding] = []
    validates_node, allowed = NODE in params["validate"]["levels"], params["allow_world_writable_plugins"]
    if params["probe"] or validates_node:
        unsafe = writable_plugins.network_findings(planned.desired, params["plugin_dirs"], allow_world_writable=allowed)
        result += unsafe if validates_node else errors(unsafe)
    if params["probe"]:
        timeout = positive("timeout", params["timeout"])
        executor = make_executor(
            params["plugin_dirs"], timeout, allow_world_writable=allowed, builtin=params["builtin"]
        )
        probe = PluginProbe(executor, tolerate_missing=module.check_mode)
        result += [finding for network in planned.desired for finding in probe.check(network)]
    if validates_node:
        runtime, plugin_dirs = params["runtime"] or "", params["plugin_dirs"]
        result += conflist_checks.check(
            planned,
            tolerate_missing=module.check_mode,
            runtime=runtime,
            plugin_dirs=plugin_dirs,
            installed_socket=dhcp_daemon.SOCKET if params["dhcp_daemon"] else "",
        )
    return result
