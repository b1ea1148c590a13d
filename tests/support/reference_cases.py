# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recorded runs of release 1.9.1 of the reference plugins, from tests/reference_cases."""

from __future__ import annotations

import functools
import json
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni import result
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record

DIRECTORY = pathlib.Path(__file__).resolve().parents[1] / "reference_cases"


class Situation(t.NamedTuple):
    """A node right after an ADD that succeeded.

    Attributes:
        case: The case as recorded.
        records: The records of all attachments that exist at that moment, oldest first.
        state: What the plugins have changed on the node since the case began, by network namespace, and the files.
        is_prepared: Whether commands other than plugins have run on the node.
    """

    name: str
    case: dict[str, t.Any]
    records: tuple[Record, ...]
    state: dict[str, t.Any]
    is_prepared: bool


@functools.lru_cache(maxsize=1)
def situations() -> tuple[Situation, ...]:
    """Return the node after each successful ADD of all recorded cases."""
    return tuple(situation for path in sorted(DIRECTORY.glob("*/*.json")) for situation in _read(path))


def situation(name: str) -> Situation:
    """Return the last situation of a case, such as ``bridge/promisc``."""
    return [found for found in situations() if found.name.partition(" ")[0] == name][-1]


def _read(path: pathlib.Path) -> t.Iterator[Situation]:
    document = json.loads(path.read_text(encoding="utf-8"))
    case = document["case"]
    name = f"{path.parent.name}/{path.stem}"
    records: dict[str, Record] = {}
    state: dict[str, t.Any] = {}
    is_prepared = bool(case.get("prepare"))
    for number, step in enumerate(document["recorded"]["steps"]):
        recorded = step.get("state", "same")
        state = state if recorded == "same" else recorded
        is_prepared = is_prepared or step["op"] in ("SHELL", "EXEC", "DELNS")
        if step["op"] == "DEL":
            records.pop(step["as"], None)
        if step["op"] == "ADD":
            if any("error" in plugin or plugin["exit"] for plugin in step["plugins"]):
                return  # what remains after a failure is not described by records
            records[step["as"]] = _record(case, step)
            yield Situation(f"{name} {number}", case, tuple(records.values()), state, is_prepared)


def _record(case: dict[str, t.Any], step: dict[str, t.Any]) -> Record:
    keys = case["attachments"][step["as"]]
    config = case["configs"][step["config"]] if "config" in step else case["config"]
    attachment = Attachment(
        config["name"],
        keys["containerID"],
        keys["ifname"],
        f"/run/netns/{keys['netns']}",
        keys.get("args", {}),
        keys.get("capabilityArgs", {}),
    )
    final = step["plugins"][-1]["result"]
    version = final.get("cniVersion", config["cniVersion"])
    return Record(attachment, json.dumps(config).encode(), result.from_keys(final, version, "result"), version)
