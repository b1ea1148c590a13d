# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The form of a case: a node, its files, its desired networks, and exactly the expected findings."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks as conflist_checks
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import DesiredConflist
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import network
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import (
    PLAIN,
    ExampleNode,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import NetD, present

FILE = "10-net.conflist"
DAY = 24 * 3600


class ExpectedFinding(t.NamedTuple):
    """A finding that is expected: its code, its place, and parts of its message or hint."""

    code: str
    file: str
    path: str
    words: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class NodeCase:
    """Desired networks of a node, and the expected findings.

    Attributes:
        files: Files of other owners, by name: content, a symbolic link's target, or None for a directory.
        age: Age of these files in seconds.
        ours: Networks that an earlier run has written.
        settings: Settings of the kernel, by their paths below `/proc/sys`.
        advertised: Links that lose the default route of router advertisements when the kernel forwards IPv6.
        daemon_faults: By socket, why no daemon of dhcp answers there; daemons answer at all others.
    """

    items: t.Sequence[DesiredConflist]
    expected: t.Sequence[ExpectedFinding] = ()
    node: ExampleNode = PLAIN
    files: t.Mapping[str, bytes | str | None] = dataclasses.field(default_factory=dict)
    age: float = DAY
    ours: t.Sequence[DesiredConflist] = ()
    settings: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    advertised: t.Sequence[str] = ()
    daemon_faults: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def findings(self, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
        net_d = NetD(path)
        net_d.ensure(*self.ours)
        for name, content in self.files.items():
            _put(net_d, name, content, time.time() - self.age)
        monkeypatch.setattr(rtnetlink, "snapshot", lambda: self.node.view)
        monkeypatch.setattr(rtnetlink, "link", self.node.link)
        monkeypatch.setattr(sysctl, "read_at", self.settings.get)
        monkeypatch.setattr(router_advertisements, "find_dependent_links", lambda: list(self.advertised))
        monkeypatch.setattr(dhcp_daemon, "find_fault", lambda path: self.daemon_faults.get(path, ""))
        return conflist_checks.check(net_d.plan_directory(*self.items), tolerate_missing=False)


# By code, and by what the case is about.
Corpus = t.Mapping[str, t.Mapping[str, NodeCase]]


def expect(code: str, path: str, *words: str, file: str = FILE) -> ExpectedFinding:
    return ExpectedFinding(code, file, path, words)


def on(node: ExampleNode, *plugins: JsonObject, expected: t.Sequence[ExpectedFinding] = (), **keys: t.Any) -> NodeCase:
    """Return the case of a network with these plugins on a node."""
    return NodeCase([present("net", network("net", *plugins))], expected, node, **keys)


def among(
    files: t.Mapping[str, bytes | str | None],
    *items: DesiredConflist,
    expected: t.Sequence[ExpectedFinding] = (),
    **keys: t.Any,
) -> NodeCase:
    """Return the case of networks (by default one valid network) beside files of other owners."""
    return NodeCase(items or [present("net")], expected, files=files, **keys)


def check(findings: t.Iterable[Finding], expected: t.Iterable[ExpectedFinding]) -> None:
    """Compare the findings with the expected ones, in any order.

    Raises:
        AssertionError: A finding is missing, unexpected, or has another message.
    """
    places: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        key = (finding.code, os.path.basename(finding.file), finding.path)
        places.setdefault(key, []).append(f"{finding.message}; {finding.hint}")
    keys = [key for key, texts in places.items() for dummy in texts]
    expected_keys = sorted(finding[:3] for finding in expected)
    assert sorted(keys) == expected_keys, f"{sorted(keys)} instead of {expected_keys}"
    for code, file, path, words in expected:
        texts = places[code, file, path]
        assert any(all(word in text for word in words) for text in texts), (words, texts)


def _put(net_d: NetD, name: str, content: bytes | str | None, since: float) -> None:
    path = net_d.path / name
    if isinstance(content, bytes):
        net_d.put(name, content)
    elif content is None:
        path.mkdir(parents=True)
    else:
        net_d.path.mkdir(exist_ok=True)
        path.symlink_to(content)
    os.utime(path, (since, since), follow_symlinks=False)
