# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files for the next boot match the records, even if another run changes records and files at the same time."""

from __future__ import annotations

import hashlib
import itertools
import os
import pathlib
import shutil
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.boot import prepare as boot_preparation
from ansible_collections.cni.node.plugins.module_utils._node.boot import restore_command
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.tests.support.error_of import error_of

LINES = b"nameserver 10.1.0.1\n"
OWN_RESOLV_CONF = (
    b"# Written by cni.node from the results of this namespace's attachments; SHA-256 of the lines below: "
    + hashlib.sha256(LINES).hexdigest().encode()
    + b"\n"
    + LINES
)


@pytest.fixture(autouse=True)
def library(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Return the library that the controller has named; nothing of it is run here."""
    library = Library(str(root / "opt"), "0" * 64)
    monkeypatch.setattr(boot_preparation, "require_library", lambda dummy, dry_run: library)
    return library


def attach(root: pathlib.Path, cache_dir: str) -> None:
    attachment = Attachment("net", "blue", "eth0", "/run/netns/blue")
    RecordStore.of_records(str(root / cache_dir)).write(Record(attachment, b"{}", restoration=Restoration((), 60.0)))


def detach(root: pathlib.Path, cache_dir: str) -> None:
    RecordStore.of_records(str(root / cache_dir)).remove(("net", "blue", "eth0"))


def prepare(root: pathlib.Path, cache_dir: str, *, dry_run: bool = False) -> list[str]:
    changes, dummy = boot_preparation.prepare(
        str(root / cache_dir), (), dry_run=dry_run, timeout=0, paths=NodePaths.below(str(root))
    )
    return [change.action for change in changes]


@pytest.mark.parametrize("other", ["cache", "another"])
def test_another_run_cannot_change_records_between_plan_and_change(
    root: pathlib.Path, unit: SystemdUnit, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    attach(root, "cache")
    assert prepare(root, "cache") == ["created"] * 2
    detach(root, "cache")
    plan_changes, codes = SystemdUnit.plan_changes, []

    def attach_after_plan(unit: SystemdUnit, directories: t.Sequence[str], library: Library | None) -> list[FileChange]:
        monkeypatch.setattr(SystemdUnit, "plan_changes", plan_changes)
        changes = plan_changes(unit, directories, library)
        attach(root, other)
        codes.append(error_of(prepare, root, other).code)
        return changes

    monkeypatch.setattr(SystemdUnit, "plan_changes", attach_after_plan)
    assert prepare(root, "cache") == ["removed"] * 2
    assert codes == [Code.TRY_AGAIN]
    assert prepare(root, other) == ["created"] * 2
    assert unit.read_cache_dirs() == [str(root / other)]


def test_a_dry_run_neither_waits_for_the_lock_nor_writes_files(root: pathlib.Path, paths: NodePaths) -> None:
    attach(root, "cache")
    assert prepare(root, "cache", dry_run=True) == ["created"] * 2
    assert os.listdir(root) == ["cache"]
    with hold_lock(paths.restore_lock, exclusive=True, timeout=0, what="all"):
        assert prepare(root, "cache", dry_run=True) == ["created"] * 2


def test_the_lock_file_is_removed(root: pathlib.Path, paths: NodePaths) -> None:
    attach(root, "cache")
    prepare(root, "cache")
    assert not os.path.lexists(paths.restore_lock)


@pytest.mark.parametrize("damage", ["a file system that is not mounted", "a record that is cut off", "an empty record"])
def test_what_cannot_be_read_now_stays_set_up_for_the_next_boot(
    root: pathlib.Path, paths: NodePaths, unit: SystemdUnit, damage: str
) -> None:
    attach(root, "cache")
    prepare(root, "cache")
    dns = pathlib.Path(paths.netns_etc) / "blue" / "resolv.conf"
    dns.parent.mkdir(parents=True)
    dns.write_bytes(OWN_RESOLV_CONF)
    (record,) = (root / "cache" / "results").iterdir()
    content = record.read_bytes()
    if damage == "a file system that is not mounted":
        (root / "cache").rename(root / "elsewhere")
    else:
        record.write_bytes(content[:40] if damage == "a record that is cut off" else b"")
    # A run makes its locks before it comes to this.
    (root / "cache" / "cni.node" / "locks").mkdir(parents=True, exist_ok=True)
    for cache_dir, dry_run in itertools.product(("other", "cache"), (True, False)):
        changes, warnings = boot_preparation.prepare(str(root / cache_dir), (), dry_run=dry_run, timeout=0, paths=paths)
        assert (changes, unit.read_cache_dirs(), dns.exists()) == ([], [str(root / "cache")], True)
        (warning,) = warnings
        assert str(root / "cache" / "results") in warning
        assert "; restoration at boot stays set up for it; " in warning
    assert restore_command.main([str(root / "cache")], paths) == 1
    shutil.rmtree(root / "cache")
    (root / "cache" / "results").mkdir(parents=True)
    assert prepare(root, "other") == ["removed"] * 3
    assert not dns.exists()
