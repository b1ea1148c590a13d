# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A directory of network configurations, and runs that work on it."""

from __future__ import annotations

import json
import pathlib
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import DesiredConflist, locate
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import (
    ConflistDirectory,
    PlannedDirectory,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plan import ConflistPlan, apply, make_plan


def text(name: str, **keys: object) -> bytes:
    return json.dumps({"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "a"}], **keys}).encode()


def single(name: str) -> bytes:
    return json.dumps({"cniVersion": "0.4.0", "name": name, "type": "a"}).encode()


def present(name: str, content: bytes | None = None, **keys: t.Any) -> DesiredConflist:
    return DesiredConflist(f"item {name}", content or text(name), **keys)


def absent(network: str = "", filename: str = "") -> DesiredConflist:
    return DesiredConflist("item absent", None, network=network, filename=filename)


class NetD:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def plan(self, *items: DesiredConflist, purge: bool = False, mode: int = 0o644) -> ConflistPlan:
        path = str(self.path)
        return make_plan(ConflistDirectory(path), locate(items, path), purge=purge, mode=mode)

    def plan_directory(self, *items: DesiredConflist, purge: bool = False) -> PlannedDirectory:
        return self.plan(*items, purge=purge).planned

    def ensure(self, *items: DesiredConflist, purge: bool = False, mode: int = 0o644) -> dict[str, str]:
        """Plan and apply; return the action for each file, by its name."""
        plan = self.plan(*items, purge=purge, mode=mode)
        apply(plan)
        return {pathlib.Path(change.path).name: change.action for change in plan.changes}

    def put(self, name: str, content: bytes) -> pathlib.Path:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / name
        path.write_bytes(content)
        return path

    def files(self) -> dict[str, bytes]:
        """Return the visible files, which users and runtimes read."""
        return {path.name: path.read_bytes() for path in sorted(self.path.glob("[!.]*"))}

    def modes(self) -> set[int]:
        return {stat.S_IMODE(path.stat().st_mode) for path in self.path.glob("[!.]*")}

    def hidden(self) -> list[str]:
        return sorted(path.name for path in self.path.glob(".*"))
