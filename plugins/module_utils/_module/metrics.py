# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `metrics`."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.engine import make_runtime
from ansible_collections.cni.node.plugins.module_utils._module.gc import make_policy
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply,
    plan_change_beside_others,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.info import address_pools, inventory, prometheus
from ansible_collections.cni.node.plugins.module_utils._node.watch import watch_state

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_ENDING = ".prom"


def write(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `metrics` and return its result."""
    params = module.params
    _require_name(params["path"])
    described = prometheus.describe(
        inventory.list_networks(params["conf_dir"], params["plugin_dirs"], params["builtin"]),
        inventory.list_attachments(params["cache_dir"], params["conf_dir"], paths.lease_dir, drift=True),
        address_pools.list_pools(params["conf_dir"], paths.lease_dir),
        _count_leaks(params, paths),
        watch_state.read_if_present(paths.watch_state),
    )
    change = plan_change_beside_others(params["path"], prometheus.format_text(described, time.time()).encode())
    # The file is always written, for the time in it; that alone is not a change.
    changed = change.changed and (change.before_mode != change.after_mode or _texts_differ(change))
    if not module.check_mode:
        apply(change)
    number = sum(len(metric.values) for metric in described)
    return {
        "changed": changed,
        "msg": f"{params['path']}: {quantity(number, 'metric')}",
        "diff": [change.as_diff()] if changed else [],
        "metrics": {
            metric.name: [{"labels": dict(labels), "value": value} for labels, value in metric.values.items()]
            for metric in described
        },
    }


def _require_name(path: str) -> None:
    if not path.endswith(_ENDING):
        expected = f"expected: an absolute path that ends in {_ENDING}, because node_exporter reads no other files"
        raise CniError(Code.INVALID_CONFIG, f"path: {path!r}", expected)


def _texts_differ(change: FileChange) -> bool:
    before, after = ((text or b"").decode("utf-8", "replace") for text in (change.before, change.after))
    return change.before is None or prometheus.without_time(before) != prometheus.without_time(after)


def _count_leaks(params: t.Mapping[str, t.Any], paths: NodePaths) -> dict[str, int]:
    """Return the number of leaks of each kind that the module `gc` would remove."""
    timeout = positive("timeout", params["timeout"])
    runtime, policy = make_runtime(params, paths, timeout), make_policy(params, dry_run=True)
    networks = conf_dir.load(params["conf_dir"])
    collector = Collector(runtime, params["cache_dir"], networks, ValidAttachments(), policy, timeout)
    # A kind that is not written for once would look like a node that no longer reports.
    numbers = {kind.value: 0 for kind in Kind}
    for leak in collector.collect([]):
        numbers[leak.kind.value] += leak.collected
    return numbers
