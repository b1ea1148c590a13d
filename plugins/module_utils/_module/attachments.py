# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections
import math
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._module import attachments_report as report
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.attachments_batch import batch
from ansible_collections.cni.node.plugins.module_utils._module.attachments_result import completed
from ansible_collections.cni.node.plugins.module_utils._module.run import stderr_log, warn, warn_of_omitted
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot import paths as boot_paths
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_Keys = dict[str, t.Any]


def ensure(module: AnsibleModule) -> _Keys:
    """Do what the module `attachments` is asked for, or as much of it as the controller gives time for.

    Returns:
        The module's result; where something is left, ``_controller`` has what the next call is to be told.
    """
    started = time.monotonic()
    params = module.params
    timeout = positive("timeout", params["timeout"])
    _check_restore_dir(params["restore_dir"])
    allowed = params["allow_world_writable_plugins"]
    log = stderr_log(module)
    executor = make_executor(params["plugin_dirs"], timeout, allow_world_writable=allowed, listener=log)
    runtime = Runtime(executor, params["cache_dir"], timeout, nested_types)
    networks = _networks(module)
    wanted = _wanted(
        params["attachments"], Restoration(tuple(params["plugin_dirs"]), timeout, allow_world_writable=allowed)
    )
    warn(module, _undeclared(wanted, networks))
    prepares_boot = _prepares_boot(wanted)
    todo = batch(module, runtime, wanted)
    workers = min(_workers(params), todo.containers) or 1
    policy = Policy(params["check"], params["on_drift"], module.check_mode, params["allow_ports_in_use"])
    reconciler = Reconciler(runtime, networks, policy, [*todo.wanted, *todo.purged])
    outcomes = reconcile_all(reconciler, todo.asked, workers, started + _seconds(module, prepares_boot))
    warn(module, (str(one) for outcome in outcomes for one in (outcome.missing_prerequisite, outcome.tolerated) if one))
    if module.check_mode:
        _forecast(module, runtime, networks, outcomes)
    rest = todo.rest(outcomes)
    parts = report.of(outcomes, executor.calls, log)
    warn_of_omitted(module, log)
    if prepares_boot and not rest:
        _prepare_boot(module, outcomes, parts)
    parts["timing"] = report.timing(outcomes, executor.calls, workers, time.monotonic() - started)
    return {**completed(parts, foretold=module.check_mode), **({"_controller": rest} if rest else {})}


def _check_restore_dir(path: str | None) -> None:
    if path is not None and not os.path.isabs(path):
        raise CniError(Code.INVALID_CONFIG, f"restore_dir: {path!r} is not an absolute path")


def _networks(module: AnsibleModule) -> conf_dir.ConfDir:
    """Return the networks of the node; in check mode, as they will be when their files have been written."""
    found = conf_dir.load(module.params["conf_dir"])
    if not module.check_mode or not module.params["planned_conflists"]:
        return found
    from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import read_planned_files, with_planned

    planned = module.params["planned_conflists"]
    return with_planned(found, read_planned_files(planned))


def _forecast(
    module: AnsibleModule, runtime: Runtime, networks: conf_dir.ConfDir, outcomes: t.Sequence[AttachmentResult]
) -> None:
    from ansible_collections.cni.node.plugins.module_utils._module.attachments_forecast import interruptions

    warn(module, interruptions(runtime, networks, outcomes))


def _workers(params: t.Mapping[str, t.Any]) -> int:
    return default_workers() if params["workers"] is None else int(positive("workers", params["workers"]))


def _seconds(module: AnsibleModule, prepares_boot: bool) -> float:
    """Return for how long containers are begun.

    What a dry run says of a reboot follows from all attachments together, for there are no records to go by.
    """
    progress = positive("progress", module.params["progress"]) if module.params["progress"] else math.inf
    has_to_end = module.params["_controller"] is None or (module.check_mode and prepares_boot)
    return math.inf if has_to_end else progress


def _prepares_boot(wanted: t.Iterable[DesiredAttachment]) -> bool:
    if not any(one.restoration for one in wanted):
        return os.path.lexists(boot_paths.UNIT)
    # What is needed only where something is restored is loaded only there.
    from ansible_collections.cni.node.plugins.module_utils._node.boot import systemd_unit

    systemd_unit.require_systemd()
    return True


def _prepare_boot(module: AnsibleModule, outcomes: t.Sequence[AttachmentResult], parts: _Keys) -> None:
    from ansible_collections.cni.node.plugins.module_utils._module import boot_report

    boot_report.prepare_boot(module, outcomes, parts)


def _undeclared(wanted: t.Iterable[DesiredAttachment], networks: conf_dir.ConfDir) -> list[str]:
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


def _wanted(items: t.Sequence[t.Mapping[str, t.Any]], restoration: Restoration) -> list[DesiredAttachment]:
    for position, item in enumerate(items):
        if not item["container_id"] and item["netns"].startswith("/proc/"):
            what = f"attachments[{position}]: container_id is missing: {item['netns']} names no container"
            raise CniError(Code.INVALID_CONFIG, what, "expected: the id of whose namespace that is")
    wanted = [_one_wanted(item, restoration) for item in items]
    counted = collections.Counter(one.attachment.key for one in wanted)
    taken = collections.Counter(one.attachment.key[1:] for one in wanted if one.present)
    for position, one in enumerate(wanted):
        if counted[one.attachment.key] > 1:
            raise CniError(Code.INVALID_CONFIG, f"attachments[{position}]: the {one.attachment} is given twice")
        if one.present and taken[one.attachment.key[1:]] > 1:
            what = f"attachments[{position}]: the interface of the {one.attachment} is another item's as well"
            raise CniError(Code.INVALID_CONFIG, what, "expected: an ifname of its own for each network of a container")
        if one.restoration and os.path.dirname(one.attachment.netns) not in ("", netns.DIRECTORY):
            what = f"attachments[{position}]: persist: the network namespace {one.attachment.netns} has no name"
            raise CniError(Code.INVALID_CONFIG, what, f"expected: one in {netns.DIRECTORY}, which can be made again")
    return wanted


def _one_wanted(item: t.Mapping[str, t.Any], restoration: Restoration) -> DesiredAttachment:
    try:
        path, problem = item["netns"] if item["netns"].startswith("/") else netns.path_of(item["netns"]), None
    except CniError as exc:
        path, problem = "", exc
    attachment = Attachment(
        network=item["network"],
        container_id=item["container_id"] or os.path.basename(item["netns"]),
        ifname=item["ifname"],
        netns=path,
        args={str(key): str(value) for key, value in item["args"].items() if value is not None},
        capability_args=_capability_args(item),
        config_args=_config_args(item),
    )
    present = item["state"] == "present"
    return DesiredAttachment(attachment, present, problem, restoration if present and item["persist"] else None)


def _capability_args(item: t.Mapping[str, t.Any]) -> _Keys:
    if not item["capability_args"]:
        return {}
    from ansible_collections.cni.node.plugins.module_utils._cni.capability_values import normalize_capability_args

    return normalize_capability_args(item["capability_args"])


def _config_args(item: t.Mapping[str, t.Any]) -> _Keys:
    if not item["config_args"]:
        return {}
    from ansible_collections.cni.node.plugins.module_utils._cni.config_args import normalize_config_args

    return normalize_config_args(item["config_args"])


__all__ = ("ensure",)
