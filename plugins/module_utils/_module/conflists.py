# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

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
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.file_diff import file_diff
from ansible_collections.cni.node.plugins.module_utils._module.run import as_failure, done, warn
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks as conflist_checks
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import (
    ConflistDirectory,
    Wanted,
    to_content,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.planned import Prospect
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plugin_checks import PluginProbe
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.plugins import access as plugin_access
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The controller has looked at all but the last when this gets here, and at the attachments, which stay there.
_LEVELS: t.Final = [SCHEMA, SPECIFICATION, CONSISTENCY, NODE]

VALIDATE: t.Final = {
    "type": "dict",
    "apply_defaults": True,
    "options": {
        "levels": {"type": "list", "elements": "str", "choices": _LEVELS, "default": _LEVELS},
        "strict": {"type": "bool", "default": False},
        "attachments": {"type": "list", "elements": "dict", "default": []},
    },
}


class _Plan(t.NamedTuple):
    directory: ConflistDirectory
    changes: list[FileChange]
    prospect: Prospect
    findings: list[Finding]
    stopping: list[Finding]


def ensure(module: AnsibleModule) -> dict[str, t.Any]:
    """Do what the module `conflists` is asked for and return its result."""
    plan = _planned(module)
    if not module.check_mode and not plan.stopping and plan.directory.is_to_change(plan.changes):
        with plan.directory.alone(module.params["timeout"]):
            plan = _planned(module, plan)
            if not plan.stopping:
                plan.directory.apply(plan.changes)
    warn(module, (str(finding) for finding in plan.findings if finding not in plan.stopping))
    findings = [finding.as_dict() for finding in plan.findings]
    if plan.stopping:
        return {"failed": True, **as_failure(refusal(plan.stopping)), "findings": findings}
    return {**_report(plan.changes, foretold=module.check_mode), "findings": findings}


def _planned(module: AnsibleModule, before: _Plan | None = None) -> _Plan:
    """Look at the directory and decide; what was found before still goes for a directory that is as it was."""
    params = module.params
    directory = ConflistDirectory(params["conf_dir"], _mode(params["mode"]))
    wanted = [_wanted(item, f"conflists[{position}]") for position, item in enumerate(params["conflists"])]
    changes, networks = directory.plan(wanted, purge=params["purge"])
    prospect = directory.prospect(changes, networks)
    findings = before.findings if before and before.prospect == prospect else _validated(module, prospect)
    return _Plan(directory, changes, prospect, findings, errors(findings, strict=params["validate"]["strict"]))


def _validated(module: AnsibleModule, prospect: Prospect) -> list[Finding]:
    """Find what of the node stands in the way; in check mode, another task may be about to bring what is missing."""
    params = module.params
    found: list[Finding] = []
    allowed, is_asked = params["allow_world_writable_plugins"], NODE in params["validate"]["levels"]
    if params["probe"] or is_asked:
        exposed = plugin_access.of_networks(prospect.wanted, params["plugin_dirs"], allow_world_writable=allowed)
        found += exposed if is_asked else errors(exposed)
    if params["probe"]:
        timeout = positive("timeout", params["timeout"])
        executor = make_executor(params["plugin_dirs"], timeout, allow_world_writable=allowed)
        probe = PluginProbe(executor, may_come=module.check_mode)
        found += [finding for network in prospect.wanted for finding in probe.findings(network)]
    if is_asked:
        found += conflist_checks.findings(prospect, may_come=module.check_mode)
    return found


def _wanted(item: t.Mapping[str, t.Any], where: str) -> Wanted:
    if not 0 <= item["priority"] <= 99:
        raise CniError(
            Code.INVALID_CONFIG, f"{where}: priority: {item['priority']}", "expected: 0 to 99; files are sorted as text"
        )
    return Wanted(
        where=where,
        content=content_of(item, where, to_content),
        network=item["name"] or "",
        filename=item["filename"] or "",
        priority=item["priority"],
    )


def _mode(given: object) -> int:
    """Read permissions as Ansible's own modules do: text is octal digits, a number is what YAML makes of 0644."""
    number = given if isinstance(given, int) and not isinstance(given, bool) else None
    if number is not None and 0 <= number <= 0o777:
        return number
    if isinstance(given, str) and re.fullmatch(r"0?[0-7]{3}", given):
        return int(given, 8)
    meant = "" if number is None else f", which is {number:#o}"
    raise CniError(Code.INVALID_CONFIG, f"mode: {given!r}{meant}", 'expected: octal digits such as "0644"')


def _report(changes: t.Sequence[FileChange], *, foretold: bool) -> dict[str, t.Any]:
    changed = [change for change in changes if change.changed]
    return {
        "changed": bool(changed),
        "conflists": [_entry(change) for change in changes],
        "diff": [file_diff(change) for change in changed],
        "msg": f"{len(changed)} of {len(changes)} network configurations {done('changed', foretold=foretold and bool(changed))}",
    }


def _entry(change: FileChange) -> dict[str, t.Any]:
    entry = {"network": change.network, "path": change.path, "action": change.action}
    content = change.before if change.after is None else change.after
    return {**entry, "content": (content or b"").decode("utf-8", "replace")} if change.changed else entry


__all__ = ("VALIDATE", "ensure")
