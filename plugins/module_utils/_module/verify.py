# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `verify`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive, zero_or_positive
from ansible_collections.cni.node.plugins.module_utils._module.engine import (
    StderrLog,
    make_runtime,
    stderr_log,
    warn_of_omitted,
)
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions, warn
from ansible_collections.cni.node.plugins.module_utils._node.plugins import writable_plugins
from ansible_collections.cni.node.plugins.module_utils._node.trial.network_trial import Trial, Verification

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def verify(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `verify` and return its result."""
    params = module.params
    timeout = positive("timeout", params["timeout"])
    log = stderr_log(module)
    runtime = make_runtime(params, paths, timeout, log)
    gateway_timeout = zero_or_positive("gateway_timeout", params["gateway_timeout"])
    verification = Verification(runtime, conf_dir.load(params["conf_dir"]), gateway_timeout)
    trials = verification.plan(params["networks"])
    if module.check_mode:
        verification.predict(trials)
    else:
        with hold_lock(paths.verify_lock, exclusive=True, timeout=timeout, what="verification"):
            verification.carry_out(trials)
    findings = writable_plugins.network_findings(
        verification.networks(trials),
        params["plugin_dirs"],
        allow_world_writable=params["allow_world_writable_plugins"],
    )
    warn(module, map(str, findings))
    warn(module, verification.warnings)
    warn_of_omitted(module, log)
    return {**_report(trials, log), "findings": [finding.as_dict() for finding in findings]}


def _report(trials: t.Sequence[Trial], log: StderrLog | None) -> dict[str, t.Any]:
    failures = [f"{trial.network}: {trial.error}" for trial in trials if trial.error]
    return {
        "networks": [_entry(trial, log) for trial in trials],
        "changed": False,
        "failed": bool(failures),
        "msg": "\n".join([f"networks: {summarize_actions(trial.action for trial in trials)}", *failures]),
    }


def _entry(trial: Trial, log: StderrLog | None) -> dict[str, t.Any]:
    return {
        "network": trial.network,
        "action": trial.action,
        "reason": trial.reason,
        "addresses": list(trial.addresses),
        "status": trial.status,
        "gateways": [{"address": address, "answered": answered} for address, answered in trial.gateways.items()],
        "error": trial.error.as_dict() if trial.error else None,
        "seconds": round(trial.seconds, 6),
        **({} if log is None else {"stderr": log.entries(trial.key)}),
    }
