# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `attachments`."""

from __future__ import annotations

import math
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.current_library import require_library
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity, shorten
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY, positive
from ansible_collections.cni.node.plugins.module_utils._module.engine import stderr_log, warn_of_omitted
from ansible_collections.cni.node.plugins.module_utils._module.items import attachments_result as report
from ansible_collections.cni.node.plugins.module_utils._module.items.attachments_batch import plan_batch
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import Journal, Sharing, reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import (
    NETWORK_CHANGED,
    REQUEST_CHANGED,
)
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    Check,
    OnDrift,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


# The attachments that a warning names.
_SHOWN = 10


def ensure(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Reconcile the attachments of a task, or as many as fit into one interval of `progress`.

    Returns:
        The module's result. If attachments remain, `CONTROLLER_KEY` has the state for the next call.
    """
    started = time.monotonic()
    params = module.params
    timeout = positive("timeout", params["timeout"])
    workers = default_workers() if params["workers"] is None else int(positive("workers", params["workers"]))
    allowed = params["allow_world_writable_plugins"]
    log = stderr_log(module)
    executor = make_executor(
        params["plugin_dirs"], timeout, allow_world_writable=allowed, listener=log, builtin=params["builtin"]
    )
    runtime = Runtime(executor, params["cache_dir"], timeout, nested_types, paths)
    networks = _networks(module)
    prepares_boot = _prepares_boot(params, paths, dry_run=module.check_mode)
    policy = Policy(
        Check(params["check"]),
        OnDrift(params["on_drift"]),
        module.check_mode,
        params["allow_ports_in_use"],
        _planned_netns(module, paths),
    )
    until = started + _time_to_begin(module, prepares_boot)
    batch = plan_batch(module, runtime, networks)
    workers = max(1, min(workers, batch.containers))
    reconciler = Reconciler(runtime, networks, policy, batch.all_attachments)
    journals: list[Journal] = [executor] if log is None else [executor, log]
    results = reconcile_all(reconciler, batch.selected, workers, until, Sharing(executor.prepare, journals))
    warn(module, report.warnings(results))
    if any(result.lacks_library for result in results):
        _warn_of_library(module)
    if module.check_mode:
        warn(module, _interruptions(runtime, networks, results))
    continuation = batch.continuation(results)
    parts = report.entries_and_diff(results, executor, log)
    warn_of_omitted(module, log)
    if prepares_boot and not continuation:
        _prepare_boot(module, results, parts, paths)
    parts["timing"] = report.timing(executor.calls, workers, time.monotonic() - started)
    return {**report.complete_result(parts, predicted=module.check_mode), **continuation}


def _networks(module: AnsibleModule) -> ConfDir:
    """Return the networks in the conf dir. In check mode, include the changes that an earlier task predicted."""
    current = conf_dir.load(module.params["conf_dir"])
    if not module.check_mode or not module.params["planned_conflists"]:
        return current
    from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import read_planned_files, with_planned

    planned = module.params["planned_conflists"]
    return with_planned(current, read_planned_files(planned))


def _planned_netns(module: AnsibleModule, paths: NodePaths) -> frozenset[str]:
    """Return the paths of the network namespaces that an earlier task has predicted in check mode."""
    planned = module.params["planned_netns"] if module.check_mode else []
    return frozenset(os.path.join(paths.netns_dir, name) for name in planned)


def _warn_of_library(module: AnsibleModule) -> None:
    from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import LIBRARY_HINT

    warn(module, [f"{LIBRARY_HINT}; attachments are recreated instead"])


def _prepares_boot(params: t.Mapping[str, t.Any], paths: NodePaths, *, dry_run: bool) -> bool:
    """Return whether the node needs the files for restoration at boot, or already has them, or has to read them again."""
    if not any(item["persist"] and item["state"] == "present" for item in params["attachments"]):
        return os.path.lexists(paths.restore_unit) or os.path.lexists(paths.reload_mark)
    # Loaded only where something is restored.
    from ansible_collections.cni.node.plugins.module_utils._linux import mount_propagation
    from ansible_collections.cni.node.plugins.module_utils._node.boot import systemd_unit

    systemd_unit.require_systemd(paths.systemd_dir)
    mount_propagation.require_visible(paths.netns_dir)
    require_library("persist", dry_run=dry_run)
    return True


def _time_to_begin(module: AnsibleModule, prepares_boot: bool) -> float:
    """Return the seconds during which this call may start with another container.

    In check mode, the files for restoration at boot depend on all attachments, so one call predicts all of them.
    """
    progress = positive("progress", module.params["progress"]) if module.params["progress"] else math.inf
    has_to_end = module.params[CONTROLLER_KEY] is None or (module.check_mode and prepares_boot)
    return math.inf if has_to_end else progress


def _prepare_boot(
    module: AnsibleModule, outcomes: t.Sequence[AttachmentResult], parts: dict[str, t.Any], paths: NodePaths
) -> None:
    """Write the files for restoration at boot, and add them, or the error, to ``parts``."""
    # Loaded only where something is restored.
    from ansible_collections.cni.node.plugins.module_utils._node.boot.prepare import prepare

    cache_dir, timeout = module.params["cache_dir"], module.params["timeout"]
    try:
        changes, warnings = prepare(cache_dir, outcomes, dry_run=module.check_mode, timeout=timeout, paths=paths)
    except Exception as exc:  # what was done to the attachments must be reported
        parts["error"] = as_error(exc).as_dict()
        return
    warn(module, warnings)
    parts["files"] = [{"path": change.path, "action": change.action} for change in changes]
    if changes:
        parts["diff"] = [parts["diff"], *(change.as_diff() for change in changes)]


def _interruptions(runtime: Runtime, networks: ConfDir, outcomes: t.Sequence[AttachmentResult]) -> t.Iterator[str]:
    """Yield warnings about attachments that would lose their network briefly, or keep an old configuration."""
    groups: dict[tuple[str, str], list[Attachment]] = {}
    for outcome in outcomes:
        if outcome.action is Action.RECREATED and outcome.reason in REQUEST_CHANGED:
            groups.setdefault((outcome.attachment.network, outcome.reason), []).append(outcome.attachment)
    listed = {outcome.attachment.key for outcome in outcomes}
    for (name, reason), cut_off in groups.items():
        number = quantity(len(cut_off), "attachment")
        yield f"network {name}: {number} would lose the network for a short time and be recreated: {_names(cut_off)}; {reason}"
        if reason == NETWORK_CHANGED:
            records = runtime.records.read_network(name)[0]
            network = networks.networks[name]
            unlisted = [record for record in records if record.attachment.key not in listed]
            others = [record.attachment for record in unlisted if _differs(record, network)]
            if others:
                yield f"network {name}: attachments that are not listed keep its earlier configuration: {_names(others)}"


def _names(attachments: t.Sequence[Attachment]) -> str:
    return shorten([f"{each.container_id} ({each.ifname})" for each in attachments], _SHOWN)


def _differs(record: Record, network: NetworkConfiguration) -> bool:
    try:
        return record.network() != network
    except CniError:  # reported elsewhere
        return False
