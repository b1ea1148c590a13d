# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of permissions: who can change plugins and the directories that lead to them."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._node.plugins import writable_plugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import network
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    FILE,
    ExpectedFinding,
    expect,
)

FIRST, SECOND = "opt/bin", "lib/bin"
CONTENT = network("net", {"type": "lab", "ipam": {"type": "delegated"}})


@dataclasses.dataclass(frozen=True)
class AccessCase:
    """Two plugin directories with a plugin each, their modes, and the expected findings.

    Attributes:
        modes: By path below the root; 0755 for all others.
        links: Links in the first directory, by name, and where they lead.
    """

    modes: t.Mapping[str, int]
    expected: t.Sequence[ExpectedFinding] = ()
    links: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    allowed: bool = False

    def findings(self, path: pathlib.Path) -> list[Finding]:
        for name in ("opt", FIRST, "lib", SECOND, "else"):
            (path / name).mkdir(mode=0o755)
        for name in (f"{FIRST}/delegated", f"{SECOND}/lab", f"{SECOND}/other", "else/lab"):
            (path / name).touch()
        for name, target in self.links.items():
            (path / FIRST / name).symlink_to(target)
        for name in (f"{FIRST}/delegated", f"{SECOND}/lab", f"{SECOND}/other", "else/lab", *self.modes):
            (path / name).chmod(self.modes.get(name, 0o755))
        networks = [config.parse(CONTENT, FILE)]
        directories = [str(path / FIRST), str(path / SECOND), str(path / "missing")]
        findings = writable_plugins.network_findings(networks, directories, allow_world_writable=self.allowed)
        return [finding for finding in findings if finding.file.startswith(f"{path}/")]


NO_PLUGIN = "so no plugin is run"
NOT_THIS_PLUGIN = "so this plugin is not run"


def unsafe(path: str, mode: int, refusal: str, **links: str) -> AccessCase:
    words = "every user", f"{mode:04o}", refusal
    return AccessCase({path: mode}, [expect("unsafe-plugin", "", *words, file=os.path.basename(path))], links)


def writable(path: str, mode: int, *words: str, allowed: bool = False) -> AccessCase:
    return AccessCase(
        {path: mode}, [expect("writable-plugin", "", *words, file=os.path.basename(path))], allowed=allowed
    )


BROKEN: t.Final[t.Mapping[str, t.Mapping[str, AccessCase]]] = {
    "unsafe-plugin": {
        "the directory": unsafe(FIRST, 0o777, NO_PLUGIN),
        "a directory that leads there": unsafe("lib", 0o777, NO_PLUGIN),
        "the plugin": unsafe(f"{SECOND}/lab", 0o757, NOT_THIS_PLUGIN),
        "the delegated plugin": unsafe(f"{FIRST}/delegated", 0o757, NOT_THIS_PLUGIN),
        "where a link leads": unsafe("else", 0o777, NO_PLUGIN, lab="../../else/lab"),
        "what a link leads to": unsafe("else/lab", 0o777, NOT_THIS_PLUGIN, lab="../../else/lab"),
    },
    "writable-plugin": {
        "the directory's group": writable(FIRST, 0o775, "its group", "chmod go-w"),
        "the group of a directory that leads there": writable("opt", 0o775, "its group"),
        "the plugin's group": writable(f"{SECOND}/lab", 0o775, "its group"),
        "the delegated plugin's group": writable(f"{FIRST}/delegated", 0o775, "its group"),
        "others can add plugins": writable(FIRST, 0o1777, "every user can add files"),
        "allowed": writable(FIRST, 0o777, "every user can write it", allowed=True),
    },
}
FINE: t.Final[t.Mapping[str, t.Mapping[str, AccessCase]]] = {
    "unsafe-plugin": {
        "a sticky directory leads there": AccessCase({"opt": 0o1777}),
        "another plugin": AccessCase({f"{SECOND}/other": 0o777}),
    },
    "writable-plugin": {
        "others can read": AccessCase({FIRST: 0o755}),
        "nobody else can read": AccessCase({FIRST: 0o700, f"{SECOND}/lab": 0o500}),
    },
}
