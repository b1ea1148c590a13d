# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node import boot
from ansible_collections.cni.node.plugins.module_utils._node.attachments import Attachments
from ansible_collections.cni.node.plugins.module_utils._node.node_executor import NodeExecutor
from ansible_collections.cni.node.plugins.module_utils._node.outcome import Outcome, Policy, Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def converge(module: AnsibleModule) -> dict[str, t.Any]:
    """Do what the module `attachments` is asked for and return its result."""
    params = module.params
    timeout = positive("timeout", params["timeout"])
    runtime = Runtime(NodeExecutor(params["plugin_dirs"], timeout), params["cache_dir"], timeout)
    policy = Policy(params["check"], params["on_drift"], module.check_mode)
    networks = conf_dir.load(params["conf_dir"])
    attachments = Attachments(runtime, networks, policy)
    wanted = _wanted(params["attachments"], Restoration(tuple(params["plugin_dirs"]), timeout))
    warn(module, _undeclared(wanted, networks))
    lasting = any(one.restoration for one in wanted)
    if lasting:
        _require_systemd()
    if params["purge"]:
        unwanted, unknown = attachments.unwanted(wanted)
        wanted += unwanted
        warn(module, (f"not purged, for nobody can tell whose it is: {error}" for error in unknown))
    workers = default_workers() if params["workers"] is None else int(positive("workers", params["workers"]))
    outcomes = attachments.converge(wanted, workers)
    warn(module, (str(outcome.awaited) for outcome in outcomes if outcome.awaited))
    report = _report(outcomes)
    if lasting or os.path.lexists(boot.UNIT):
        _prepare_boot(module, outcomes, report)
    return report


def _undeclared(wanted: t.Iterable[Wanted], networks: conf_dir.ConfDir) -> list[str]:
    """Name the capabilities that no plugin takes the values of; once for all attachments to a network."""
    given = {
        (one.attachment.network, capability)
        for one in wanted
        if one.present and one.attachment.network in networks.networks
        for capability in one.attachment.capability_args
    }
    return [
        f"network {name} has no plugin that declares the capability {capability}: its values reach nobody"
        for name, capability in sorted(given)
        if not any(capability in plugin.capabilities for plugin in networks.networks[name].plugins)
    ]


def _require_systemd() -> None:
    # What is needed only where something is restored is loaded only there.
    from ansible_collections.cni.node.plugins.module_utils._node import boot_unit

    boot_unit.require_systemd()


def _prepare_boot(module: AnsibleModule, outcomes: t.Sequence[Outcome], report: dict[str, t.Any]) -> None:
    from ansible_collections.cni.node.plugins.module_utils._module import boot_report

    boot_report.prepare_boot(module, outcomes, report)


def _wanted(items: t.Sequence[t.Mapping[str, t.Any]], restoration: Restoration) -> list[Wanted]:
    wanted = [_one_wanted(item, restoration) for item in items]
    counted = collections.Counter(one.attachment.key for one in wanted)
    for position, one in enumerate(wanted):
        if counted[one.attachment.key] > 1:
            raise CniError(Code.INVALID_CONFIG, f"attachments[{position}]: the {one.attachment} is given twice")
        if one.restoration and os.path.dirname(one.attachment.netns) not in ("", netns.DIRECTORY):
            what = f"attachments[{position}]: persist: the network namespace {one.attachment.netns} has no name"
            raise CniError(Code.INVALID_CONFIG, what, f"expected: one in {netns.DIRECTORY}, which can be made again")
    return wanted


def _one_wanted(item: t.Mapping[str, t.Any], restoration: Restoration) -> Wanted:
    try:
        path, problem = item["netns"] if item["netns"].startswith("/") else netns.path_of(item["netns"]), None
    except CniError as exc:
        path, problem = "", exc
    attachment = Attachment(
        network=item["network"],
        container_id=item["container_id"] or os.path.basename(item["netns"]),
        ifname=item["ifname"],
        netns=path,
        args={str(key): value if isinstance(value, str) else str(value) for key, value in item["args"].items()},
        capability_args=item["capability_args"],
    )
    present = item["state"] == "present"
    return Wanted(attachment, present, problem, restoration if present and item["persist"] else None)


def _report(outcomes: t.Sequence[Outcome]) -> dict[str, t.Any]:
    counted = collections.Counter(outcome.action for outcome in outcomes)
    summary = ", ".join(f"{number} {action}" for action, number in sorted(counted.items()))
    failures = [f"{outcome.attachment}: {outcome.error}" for outcome in outcomes if outcome.action == "failed"]
    return {
        "attachments": [_entry(outcome) for outcome in outcomes],
        "summary": dict(counted),
        "changed": any(outcome.changed for outcome in outcomes),
        "failed": bool(failures),
        "msg": "\n".join([f"attachments: {summary or 'none'}", *failures]),
        "diff": {"before": _state(outcomes, after=False), "after": _state(outcomes, after=True)},
    }


def _entry(outcome: Outcome) -> dict[str, t.Any]:
    attachment = outcome.attachment
    return {
        "network": attachment.network,
        "container_id": attachment.container_id,
        "ifname": attachment.ifname,
        "netns": attachment.netns,
        "action": outcome.action,
        "changed": outcome.changed,
        "reason": outcome.reason,
        "result": dict(outcome.result or {}),
        "error": outcome.error.as_dict() if outcome.error else None,
        "false_alarms": [error.msg for error in outcome.false_alarms],
        "seconds": round(outcome.seconds, 6),
    }


def _state(outcomes: t.Sequence[Outcome], *, after: bool) -> dict[str, str]:
    """Describe what a diff is about: attachments that change, by what they are before and after."""
    describe = _after if after else _before
    return {str(outcome.attachment): describe(outcome) for outcome in outcomes if outcome.changed}


def _before(outcome: Outcome) -> str:
    reason = f", but {outcome.reason}" if outcome.reason else ""
    return f"attached{_lasting(outcome.restoration_before)}{reason}" if outcome.existed else "absent"


def _after(outcome: Outcome) -> str:
    anew = " anew" if outcome.existed and (outcome.touched or outcome.action == "recreated") else ""
    return f"attached{anew}{_lasting(outcome.restoration_after)}" if outcome.exists else "absent"


def _lasting(restoration: Restoration | None) -> str:
    if restoration is None:
        return ""
    return f", after a reboot too (by {':'.join(restoration.plugin_dirs)}, {restoration.timeout:g} s)"


__all__ = ("converge",)
