# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: network configurations validated on a controller, and by jsonschema alone with the same schemas."""

from __future__ import annotations

import functools
import itertools
import json
import time
import typing as t

import jsonschema

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import CONTROLLER_LEVELS, validate
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

EACH = Target(1.0)
COUNT = 1000
ALL, ALONE = "all levels", "jsonschema alone"

Contestant = t.Callable[[t.Sequence[bytes]], int]


def chapter(bench: Bench) -> str:
    contestants: dict[str, Contestant] = {
        ALL: functools.partial(_ours, CONTROLLER_LEVELS),
        ALONE: _jsonschema,
    }
    rounds = itertools.count()
    turns = {name: functools.partial(_turn, contestant, rounds) for name, contestant in contestants.items()}
    for turn in turns.values():
        turn()  # reads the schemas and imports the library
    given = interleaved(bench.effort.short_rounds, turns)
    measured = {name: Series(tuple(values)) for name, values in given.items()}
    ours = measured.pop(ALL)
    rows: list[t.Sequence[object]] = [judged_row(ALL, [ours], EACH)]
    rows += [[name, series, ""] for name, series in measured.items()]
    rows.append([f"{ALL}, as a share of {ALONE}", ours / measured[ALONE], ""])
    title = f"Milliseconds for each of {COUNT} networks, after start, rounds: {bench.effort.short_rounds}"
    return f"{title}\n\n{table(['', 'ms each', 'target'], rows)}"


def _turn(contestant: Contestant, rounds: t.Iterator[int]) -> float:
    texts = _texts(next(rounds))
    started = time.monotonic()
    findings = contestant(texts)
    seconds = time.monotonic() - started
    if findings:
        raise RuntimeError(f"{findings} findings in networks that are right")
    return seconds * 1000 / COUNT


def _texts(number: int) -> list[bytes]:
    """Return texts of the specification's example, each with a name, a bridge and a subnet of its own."""
    return [_text(number, place) for place in range(COUNT)]


def _text(number: int, place: int) -> bytes:
    network = bench_networks.example("/var/lib/cni/networks")
    bridge = network["plugins"][0]
    network["name"], bridge["bridge"] = f"net-{number}-{place}", f"cni{place}"
    bridge["ipam"]["subnet"] = f"{10 + number}.{place // 256}.{place % 256}.0/24"
    return json.dumps(network, indent=2).encode()


def _ours(levels: t.Sequence[str], texts: t.Sequence[bytes]) -> int:
    return len(validate([Source(f"{place}.conflist", text) for place, text in enumerate(texts)], levels))


def _jsonschema(texts: t.Sequence[bytes]) -> int:
    """Validate with jsonschema and the same schemas alone, as a short script would."""
    faults = 0
    for text in texts:
        network = json.loads(text)
        faults += _faults("network-list", network)
        for plugin in network["plugins"]:
            faults += _faults(schemas.name_for_plugin(plugin["type"]), plugin)
            ipam = schemas.name_for_ipam(plugin.get("ipam", {}).get("type"))
            faults += _faults(ipam, plugin["ipam"]) if ipam else 0
    return faults


def _faults(name: str, value: t.Any) -> int:
    return len(list(_validator(name).iter_errors(value)))


@functools.cache
def _validator(name: str) -> t.Any:
    return jsonschema.Draft202012Validator(schemas.load(name))
