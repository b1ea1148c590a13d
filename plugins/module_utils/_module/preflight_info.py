# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `preflight_info`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._node.preflight.preflight_check import (
    MISSING,
    WARNING,
    PreflightCheck,
)
from ansible_collections.cni.node.plugins.module_utils._node.preflight.runtime_checks import (
    RuntimeChecks,
    Wanted,
    check_absent,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime, find_runtimes

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def check(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `preflight_info` and return its result."""
    params = module.params
    found = find_runtimes(paths.root)
    chosen = [each for each in found if params["runtime"] in (None, each.runtime.name)]
    wanted = Wanted(params["conf_dir"], params["bin_dir"])
    checks = [each for runtime in chosen for each in RuntimeChecks(runtime, wanted, paths.root).run()]
    absent = None if chosen else runtimes.find(params["runtime"])
    if absent is not None:
        checks.append(check_absent(absent))
    return {
        "changed": False,
        "msg": _summarize(chosen, checks),
        "runtimes": [runtime.as_dict() for runtime in found],
        "checks": [each.as_dict() for each in checks],
        "missing": sum(each.state == MISSING for each in checks),
    }


def _summarize(chosen: t.Sequence[FoundRuntime], checks: t.Sequence[PreflightCheck]) -> str:
    if not checks:
        return "no container runtime found"
    missing = [str(each) for each in checks if each.state == MISSING]
    warnings = [str(each) for each in checks if each.state == WARNING]
    names = ", ".join(runtime.runtime.name for runtime in chosen) or checks[0].runtime
    first = f"{names}: {quantity(len(checks), 'check')}, {len(missing)} missing, {quantity(len(warnings), 'warning')}"
    return "\n".join([first, *missing, *warnings])
