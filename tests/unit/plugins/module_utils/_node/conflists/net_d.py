# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A directory of network configurations, and runs that work on it."""

from __future__ import annotations

import json
import pathlib
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import ConflistDirectory, Wanted
from ansible_collections.cni.node.plugins.module_utils._node.conflists.planned import Prospect
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange


def text(name: str, **keys: object) -> bytes:
    return json.dumps({"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "a"}], **keys}).encode()


def single(name: str) -> bytes:
    return json.dumps({"cniVersion": "0.4.0", "name": name, "type": "a"}).encode()


def wanted(name: str, content: bytes | None = None, **keys: t.Any) -> Wanted:
    return Wanted(f"item {name}", content or text(name), **keys)


def absent(network: str = "", filename: str = "") -> Wanted:
    return Wanted("item absent", None, network=network, filename=filename)


class NetD:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def plan(
        self, *items: Wanted, purge: bool = False, mode: int = 0o644
    ) -> tuple[ConflistDirectory, list[FileChange]]:
        directory = ConflistDirectory(str(self.path), mode)
        return directory, directory.plan(items, purge=purge)[0]

    def prospect(self, *items: Wanted, purge: bool = False) -> Prospect:
        directory = ConflistDirectory(str(self.path), 0o644)
        return directory.prospect(*directory.plan(items, purge=purge))

    def ensure(self, *items: Wanted, purge: bool = False, mode: int = 0o644) -> dict[str, str]:
        """What became of each file, by its name."""
        directory, changes = self.plan(*items, purge=purge, mode=mode)
        directory.apply(changes)
        return {pathlib.Path(change.path).name: change.action for change in changes}

    def put(self, name: str, content: bytes) -> pathlib.Path:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / name
        path.write_bytes(content)
        return path

    def files(self) -> dict[str, bytes]:
        """Those that people and runtimes see."""
        return {path.name: path.read_bytes() for path in sorted(self.path.glob("[!.]*"))}

    def modes(self) -> set[int]:
        return {stat.S_IMODE(path.stat().st_mode) for path in self.path.glob("[!.]*")}

    def hidden(self) -> list[str]:
        return sorted(path.name for path in self.path.glob(".*"))
