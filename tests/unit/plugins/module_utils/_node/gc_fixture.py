# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fake node with leases and records."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

Actions = dict[str, str]


class GcFixture:
    """A fake node with leases. The collector sees nothing of the machine."""

    def __init__(self, node: FakeNode, leases: pathlib.Path) -> None:
        self.node = node
        self.leases = leases

    def lease(self, address: str, content: str, network: str = "net", age: float = 3600) -> pathlib.Path:
        path = self.leases / network / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8"))
        os.utime(path, (path.stat().st_mtime - age,) * 2)
        return path

    def link(self, address: str, target: pathlib.Path, network: str = "net") -> pathlib.Path:
        """Make a symbolic link in place of a lease, old enough to be collected."""
        path = self.leases / network / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        os.utime(path, (path.lstat().st_mtime - 3600,) * 2, follow_symlinks=False)
        return path

    def attach(self, *containers: str) -> None:
        """Attach containers, each with a lease as host-local makes it."""
        for container in containers:
            self.node.make_namespace(container)
            assert self.node.ensure(self.node.attachment(container)).action == "added"
            self.lease(f"10.1.0.{len(container)}", f"{container}\r\neth0")

    def collect(
        self,
        *names: str,
        dry_run: bool = False,
        min_age: float = 60,
        valid: t.Collection[Key] | None = None,
        owners: t.Collection[str] = (),
        release: t.Collection[Key] = (),
        confirm: bool = False,
    ) -> list[Leak]:
        runtime = self.node.runtime(lock_timeout=0)
        networks = conf_dir.load(str(self.node.conf_dir))
        keys = ValidAttachments(None if valid is None else frozenset(valid))
        policy = GcPolicy(min_age, dry_run, owners, release, confirm)
        return Collector(runtime, str(self.node.cache_dir), networks, keys, policy, 0).collect(names)

    def collect_as_predicted(self, **options: t.Any) -> Actions:
        """Return what a run has done: a dry run predicts it, and a second run finds no leak."""
        before = self.files()
        predicted = self.collect(dry_run=True, **options)
        assert self.files() == before
        done = self.collect(**options)
        assert [vars(leak) for leak in predicted] == [vars(leak) for leak in done]
        assert not any(leak.collected for leak in self.collect(**options))
        return actions(done)

    def files(self) -> dict[str, bytes]:
        tops = (self.node.cache_dir, self.leases, self.node.conf_dir)
        return {str(path): path.read_bytes() for top in tops for path in top.rglob("*") if path.is_file()}


def actions(leaks: t.Iterable[Leak]) -> Actions:
    return {f"{leak.kind} {os.path.basename(leak.subject)}": leak.action for leak in leaks}
