# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `gc`."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, parse_name
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import (
    REMOVED,
    Removal,
    read_networks,
    read_planned_files,
    read_removed_attachments,
    with_planned,
)
from ansible_collections.cni.node.plugins.module_utils._linux.rules import rule_cache
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive, zero_or_positive
from ansible_collections.cni.node.plugins.module_utils._module.engine import make_runtime
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import RETURNED
from ansible_collections.cni.node.plugins.module_utils._module.run import phrase_action
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import FAILED, KEPT, GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_ATTACHMENT = {
    "network": {"type": "str"},
    "container_id": {"type": "str", "required": True},
    "ifname": {"type": "str", "default": "eth0"},
}
ARGUMENTS: t.Final[arguments.Spec] = {
    "networks": {"type": "list", "elements": "str", "default": []},
    "valid_attachments": {"type": "list", "elements": "dict", "options": _ATTACHMENT},
    "min_age": {"type": "float", "default": 300},
    "owners": {"type": "list", "elements": "str", "default": [], "choices": list(rows.OWNER_NAMES)},
    "release": {"type": "list", "elements": "str", "default": []},
    "confirm": {"type": "bool", "default": False},
    "removed_conflists": RETURNED,
    "removed_networks": {"type": "list", "elements": "dict", "default": []},
    "removed_attachments": {"type": "list", "elements": "dict", "default": []},
    **arguments.CONF_DIR,
    **arguments.PLUGIN_DIRS,
    **arguments.CACHE_DIR,
    **arguments.TIMEOUT,
}


def collect(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `gc` and return its result."""
    params = module.params
    timeout = positive("timeout", params["timeout"])
    names = [check_network_name(name, f"networks[{position}]") for position, name in enumerate(params["networks"])]
    policy = make_policy(params, dry_run=module.check_mode)
    runtime = make_runtime(params, paths, timeout)
    networks = conf_dir.load(params["conf_dir"])
    removal = _read_removal(params, networks)
    if removal.files and module.check_mode:
        networks = with_planned(networks, removal.files)
    valid = _read_valid_attachments(params["valid_attachments"])
    collector = Collector(runtime, params["cache_dir"], networks, valid, policy, timeout, removal)
    with rule_cache.keep():
        leaks = collector.collect(names)
    known = {*networks.networks, *(leak.network for leak in leaks)}
    absent = ", ".join(name for name in names if name not in known)
    unknown = ", ".join("/".join(key) for key in collector.find_unknown_releases())
    remarks = [
        f"not configured in {params['conf_dir']}: {absent}" if absent else "",
        f"not recorded by another runtime: {unknown}" if unknown else "",
    ]
    return _report(leaks, remarks, predicted=module.check_mode)


def make_policy(params: t.Mapping[str, t.Any], *, dry_run: bool) -> GcPolicy:
    """Return the limits set by the options `min_age`, `owners`, `release` and `confirm`, of which a module may lack some.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    min_age = zero_or_positive("min_age", params["min_age"])
    named = (parse_name(name, f"release[{position}]") for position, name in enumerate(params.get("release", ())))
    release = frozenset(attachment.key for attachment in named)
    return GcPolicy(min_age, dry_run, params["owners"], release, params.get("confirm", False))


def _read_valid_attachments(items: t.Sequence[t.Mapping[str, t.Any]] | None) -> ValidAttachments:
    if items is None:
        return ValidAttachments()
    keys = [(item["network"] or "", item["container_id"], item["ifname"]) for item in items]
    for network, container_id, ifname in keys:
        Attachment(network or "any", container_id, ifname).require_valid()
    return ValidAttachments(frozenset(keys))


def _read_removal(params: t.Mapping[str, t.Any], networks: ConfDir) -> Removal:
    """Return the networks and attachments that earlier tasks and runs removed.

    Args:
        networks: The conf dir as it is; no run has removed these.
    """
    files = tuple(read_planned_files(entry for entry in params["removed_conflists"] if entry["action"] == REMOVED))
    removal = Removal(files, read_removed_attachments(params["removed_attachments"]))
    known = {network.name for network in (*networks.networks.values(), *networks.refused.values(), *removal.networks())}
    earlier = read_networks(params["removed_networks"], networks.path)
    return dataclasses.replace(removal, earlier=tuple(network for network in earlier if network.name not in known))


def _report(leaks: t.Sequence[Leak], remarks: t.Iterable[str], *, predicted: bool) -> dict[str, t.Any]:
    failures = [f"{leak.subject}: {leak.error}" for leak in leaks if leak.action == FAILED]
    return {
        "findings": [_entry(leak) for leak in leaks],
        "changed": any(leak.collected for leak in leaks),
        "failed": bool(failures),
        "msg": "\n".join(["; ".join(filter(None, (_summary(leaks, predicted), *remarks))), *failures]),
        "diff": {"before": {leak.subject: leak.evidence for leak in leaks if leak.collected}, "after": {}},
    }


def _entry(leak: Leak) -> dict[str, t.Any]:
    return {
        "kind": leak.kind.value,
        "network": leak.network,
        "subject": leak.subject,
        "evidence": leak.evidence,
        "proofs": list(leak.proofs),
        "action": leak.action,
        "saved": leak.saved,
        "error": leak.error.as_dict() if leak.error else None,
    }


def _summary(leaks: t.Sequence[Leak], predicted: bool) -> str:
    parts = [
        _count(phrase_action("collected", predicted=predicted), [leak for leak in leaks if leak.collected]),
        *(_count(action, [leak for leak in leaks if leak.action == action]) for action in (KEPT, FAILED)),
    ]
    return "; ".join(filter(None, parts)) or "no leaks"


def _count(word: str, leaks: t.Sequence[Leak]) -> str:
    kinds = collections.Counter(leak.kind for leak in leaks)
    return f"{word}: " + ", ".join(quantity(number, kind) for kind, number in kinds.items()) if kinds else ""
