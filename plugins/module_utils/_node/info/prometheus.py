# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Metrics of a node in the text format that Prometheus reads."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._node.info.address_pools import Pool
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState

_PREFIX = "cni_node"
_LAST_RUN = "last_run_timestamp_seconds"

_Labels = tuple[tuple[str, str], ...]


class Metric(t.NamedTuple):
    """A gauge, or another kind of metric, with its values by labels."""

    name: str
    help: str
    values: t.Mapping[_Labels, int]
    kind: str = "gauge"


def describe(
    networks: t.Sequence[JsonMapping],
    attachments: t.Sequence[JsonMapping],
    pools: t.Sequence[Pool],
    leaks: t.Mapping[str, int],
    watch: WatchState | None = None,
) -> list[Metric]:
    """Return the metrics of a node.

    Args:
        networks, attachments: As `inventory` describes them.
        leaks: The number of leaks of each kind.
        watch: What the service has repaired; None on a node without it.
    """
    readable = [attachment for attachment in attachments if not attachment["error"]]
    by_pool = {(("network", pool.network), ("range", pool.text)): pool for pool in pools}
    return [
        Metric(
            "pool_size", "Addresses of a pool, gateways excluded.", {key: pool.size for key, pool in by_pool.items()}
        ),
        Metric(
            "pool_leases", "Addresses of a pool that are leased.", {key: pool.taken for key, pool in by_pool.items()}
        ),
        Metric("attachments", "Recorded attachments.", _count(readable, lambda dummy: True)),
        Metric("attachments_drifted", "Attachments that differ from the kernel.", _count(readable, _has_drifted)),
        Metric(
            "attachments_without_netns",
            "Attachments whose network namespace is gone or replaced.",
            _count(readable, lambda attachment: attachment["netns_state"] in ("gone", "replaced")),
        ),
        Metric(
            "attachments_interrupted",
            "Attachments with an operation that was interrupted.",
            _count(readable, lambda attachment: bool(attachment["interrupted"])),
        ),
        Metric("leaks", "Resources without an owner.", {(("kind", kind),): number for kind, number in leaks.items()}),
        Metric("networks", "Network configurations.", {(): len(networks)}),
        Metric(
            "broken_files",
            "Network configurations and records that cannot be read.",
            {
                (("kind", "network"),): sum(bool(network["error"]) for network in networks),
                (("kind", "record"),): len(attachments) - len(readable),
            },
        ),
        *(_describe_watch(watch) if watch else ()),
    ]


def _describe_watch(watch: WatchState) -> list[Metric]:
    counts: dict[_Labels, int] = {
        (("network", network), ("owner", owner)): number
        for network, numbers in watch.counts.items()
        for owner, number in numbers.items()
    }
    held: dict[_Labels, int] = {(): len(watch.held)}
    return [
        Metric("watch_repairs_total", "Repairs of attachments since the node was booted.", counts, "counter"),
        Metric("watch_held", "Resources that are left alone because they are removed again and again.", held),
    ]


def format_text(metrics: t.Iterable[Metric], now: float) -> str:
    """Return metrics as text, with the time of this run in seconds of the epoch at the end."""
    last = Metric(_LAST_RUN, "When these metrics were written.", {(): int(now)})
    lines: list[str] = []
    for metric in [*metrics, last]:
        name = f"{_PREFIX}_{metric.name}"
        lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
        lines += [f"{name}{_format_labels(labels)} {value}" for labels, value in metric.values.items()]
    return "\n".join([*lines, ""])


def without_time(text: str) -> str:
    """Return metrics without the time of the run, which differs each time."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(f"{_PREFIX}_{_LAST_RUN} "))


def _count(attachments: t.Iterable[JsonMapping], counts: t.Callable[[JsonMapping], bool]) -> dict[_Labels, int]:
    """Return the number of attachments with a property by network and owner, also where it is zero."""
    numbers: dict[_Labels, int] = collections.defaultdict(int)
    for attachment in attachments:
        owner = "cni.node" if attachment["own"] else "other"
        numbers[("network", attachment["network"]), ("owner", owner)] += counts(attachment)
    return numbers


def _has_drifted(attachment: JsonMapping) -> bool:
    return bool(attachment["drift"])


def _format_labels(labels: _Labels) -> str:
    written = [f'{name}="{_escape(value)}"' for name, value in labels]
    return f"{{{','.join(written)}}}" if written else ""


def _escape(value: str) -> str:
    return printable.line(value).replace("\\", r"\\").replace('"', r"\"")
