# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases that are repaired: no address is taken from another container, and no file of another kind is touched."""

from __future__ import annotations

import itertools
import os
import pathlib
import shutil
import stat
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._linux.worker_processes import run_shares
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory, lease_index
from ansible_collections.cni.node.tests.support.descriptors import refuse_file
from ansible_collections.cni.node.tests.support.error_of import error_of

ADDRESS = "10.1.0.2"
OWN = "blue\r\neth0"


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "networks" / "dbnet"


def assign(directory: pathlib.Path) -> None:
    lease_directory.assign(str(directory), ADDRESS, "blue", "eth0")


def test_a_lease_is_written_as_host_local_writes_it(directory: pathlib.Path) -> None:
    assign(directory)
    file = directory / ADDRESS
    assert file.read_bytes() == OWN.encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o755
    assert sorted(path.name for path in directory.iterdir()) == [ADDRESS, "lock"]


@pytest.mark.parametrize("content", ["", " \n", OWN, "blue"])
def test_an_empty_lease_is_written_again_and_an_own_one_is_kept(directory: pathlib.Path, content: str) -> None:
    directory.mkdir(parents=True)
    (directory / ADDRESS).write_bytes(content.encode())
    assign(directory)
    kept = (directory / ADDRESS).read_bytes().decode()
    assert kept == (content if content.strip() else OWN)


def test_an_address_of_another_container_is_not_taken(directory: pathlib.Path) -> None:
    directory.mkdir(parents=True)
    (directory / ADDRESS).write_bytes(b"red\r\neth0")
    with pytest.raises(CniError, match=r"10\.1\.0\.2 is the lease of container red \(eth0\)") as caught:
        assign(directory)
    assert caught.value.details == "two containers have the same address: delete one of them"
    assert (directory / ADDRESS).read_bytes() == b"red\r\neth0"


def test_a_link_in_place_of_a_lease_is_neither_followed_nor_replaced(directory: pathlib.Path) -> None:
    target = directory.parent / "target"
    directory.mkdir(parents=True)
    (directory / ADDRESS).symlink_to(target)
    with pytest.raises(CniError, match="cannot create"):
        assign(directory)
    assert not target.exists()
    assert (directory / ADDRESS).is_symlink()


def test_a_file_in_place_of_the_directory_is_an_error(directory: pathlib.Path) -> None:
    directory.parent.mkdir()
    directory.touch()
    with pytest.raises(CniError, match="dbnet"):
        assign(directory)


def test_a_lease_is_written_under_the_lock_of_host_local(
    directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(parents=True)
    with (
        hold_lock(str(directory / "lock"), exclusive=True, timeout=0, what="it", keep=True),
        monkeypatch.context() as clock,
    ):
        clock.setattr(time, "monotonic", itertools.count(0, 60).__next__)  # a minute between two readings
        assert "is in use by another process" in error_of(assign, directory).msg
    assert not (directory / ADDRESS).exists()


@pytest.mark.parametrize("owner", [OWN, "blue\r\neth1", "red\r\neth0"])
def test_only_an_own_lease_is_freed(directory: pathlib.Path, owner: str) -> None:
    directory.mkdir(parents=True)
    (directory / ADDRESS).write_bytes(owner.encode())
    lease_directory.free(str(directory), ADDRESS, "blue", "eth0")
    assert (directory / ADDRESS).exists() == (owner != OWN)


def test_leases_of_a_container_are_found_although_other_processes_change_them(tmp_path: pathlib.Path) -> None:
    with lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        assert directory.leases_of("blue", "eth0") == []
        assert directory.reserve("10.1.0.2", "blue", "eth0")
        (tmp_path / "net" / "10.1.0.3").write_bytes(b"blue\r\neth0")
        (tmp_path / "net" / "10.1.0.4").write_bytes(b"blue\r\neth1")
        assert [lease.address for lease in directory.leases_of("blue", "eth0")] == ["10.1.0.2", "10.1.0.3"]
        directory.free(directory.leases_of("blue", "eth0")[0])
        (tmp_path / "net" / "10.1.0.3").unlink()
        assert directory.leases_of("blue", "eth0") == []


def test_a_lease_that_changed_its_owner_is_found(tmp_path: pathlib.Path) -> None:
    with lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        assert directory.reserve("10.1.0.2", "red", "eth0")
        assert directory.leases_of("red", "eth0")
        (tmp_path / "net" / "10.1.0.2").unlink()
        (tmp_path / "net" / "10.1.0.5").write_bytes(b"blue\r\neth0")
        (tmp_path / "net" / "10.1.0.5").rename(tmp_path / "net" / "10.1.0.2")
        assert [lease.address for lease in directory.leases_of("blue", "eth0")] == ["10.1.0.2"]


def test_leases_of_a_new_directory_are_not_mistaken_for_those_of_a_removed_one(tmp_path: pathlib.Path) -> None:
    """File systems give the inode number of a removed directory to the next one."""
    for number in range(10):
        with lease_directory.hold_locked(str(tmp_path / "net")) as directory:
            assert directory.leases_of("blue", "eth0") == []
            assert directory.reserve(f"10.1.0.{number}", "blue", "eth0")
            assert [lease.address for lease in directory.leases_of("blue", "eth0")] == [f"10.1.0.{number}"]
        shutil.rmtree(tmp_path / "net")


def test_a_run_finds_its_own_leases_and_those_that_were_there_before_also_in_forked_processes(
    tmp_path: pathlib.Path,
) -> None:
    path = str(tmp_path / "net")

    def add_and_find(net: int) -> list[str]:
        for number in range(20):
            with lease_directory.hold_locked(path) as directory:
                assert directory.leases_of(f"{net}-{number}", "eth0") == []
                assert directory.reserve(f"10.{net}.0.{number}", f"{net}-{number}", "eth0")
        with lease_directory.hold_locked(path) as directory:
            containers = ["before", *(f"{net}-{number}" for number in range(20))]
            return [directory.leases_of(container, "eth0")[0].address for container in containers]

    with lease_directory.hold_locked(path) as directory:
        assert directory.reserve("10.3.0.1", "before", "eth0")
    with lease_index.keep():
        with lease_directory.hold_locked(path) as directory:
            directory.prepare_search()
        found = run_shares([1, 2], add_and_find)
    assert found == [["10.3.0.1", *(f"10.{net}.0.{number}" for number in range(20))] for net in (1, 2)]
    with lease_directory.hold_locked(path) as directory:
        assert [lease.address for lease in directory.leases_of("2-7", "eth0")] == ["10.2.0.7"]


def test_a_run_does_not_find_leases_that_it_has_freed_or_that_have_another_owner_now(tmp_path: pathlib.Path) -> None:
    with lease_index.keep(), lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        for address in ("10.1.0.2", "10.1.0.3"):
            assert directory.reserve(address, "blue", "eth0")
        for lease in directory.leases_of("blue", "eth0"):
            directory.free(lease)
        assert directory.reserve("10.1.0.3", "red", "eth0")
        assert directory.leases_of("blue", "eth0") == []
        assert [lease.address for lease in directory.leases_of("red", "eth0")] == ["10.1.0.3"]


def test_a_lease_that_cannot_be_opened_for_now_is_not_missing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        directory.reserve("10.1.0.2", "blue", "eth0")
        refuse_file(monkeypatch, "10.1.0.2")
        error = error_of(directory.leases_of, "blue", "eth0")
    assert (error.code, error.msg) == (Code.IO_FAILURE, f"cannot open {tmp_path}/net/10.1.0.2: Too many open files")


def test_files_that_are_not_leases_are_ignored(tmp_path: pathlib.Path) -> None:
    with lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        for name in ("last_reserved_ip.0", "lock", "copy of 10.1.0.2", "0"):
            (tmp_path / "net" / name).write_bytes(b"blue\r\neth0")
        os.mkfifo(tmp_path / "net" / "10.1.0.3")
        (tmp_path / "net" / "10.1.0.4").mkdir()
        (tmp_path / "net" / "10.1.0.5").symlink_to("0")
        assert directory.leases_of("blue", "eth0") == []


def test_a_run_reads_leases_of_others_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lease_index.keep(), lease_directory.hold_locked(str(tmp_path / "net")) as directory:
        for number in range(2, 50):
            directory.reserve(f"10.1.0.{number}", f"c{number}", "eth0")
        assert directory.leases_of("blue", "eth0") == []
        names: list[str] = []
        open_file = os.open

        def note(name: str, *arguments: t.Any, **options: t.Any) -> int:
            names.append(os.path.basename(name))
            return open_file(name, *arguments, **options)

        monkeypatch.setattr(os, "open", note)
        assert directory.reserve("10.1.0.60", "blue", "eth0")
        assert [lease.address for lease in directory.leases_of("blue", "eth0")] == ["10.1.0.60"]
        assert {name for name in names if name[0].isdigit()} == {"10.1.0.60"}
