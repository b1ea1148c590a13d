# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import stat
import threading
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import child, close_stdin, read_line

# Seconds of a flush of a slow disk.
SLOW_FLUSH = 0.001
OLD, NEW = b"o" * 300_000, b"n" * 300_000

READER = """
import hashlib, select, sys
seen = set()
while not (seen and select.select([sys.stdin], [], [], 0)[0]):
    with open(sys.argv[1], "rb") as stream:
        seen.add(hashlib.sha256(stream.read()).hexdigest())
    print("read", flush=True) if len(seen) == 1 else None
print(*sorted(seen))
"""

WRITER = """
import itertools, sys
from ansible_collections.cni.node.plugins.module_utils._base import durable
for letter in itertools.cycle((b"o", b"n")):
    durable.write(sys.argv[1], letter * 300_000)
    print("wrote", flush=True)
"""

# The largest file that the process may write ends in the middle of the content.
CUT_OFF = """
import resource, sys
from ansible_collections.cni.node.plugins.module_utils._base import durable, error
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    durable.write(sys.argv[1], b"n" * 300_000)
except error.CniError as exc:
    print(exc.code, exc.msg)
"""


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    return path


def test_a_written_file_is_read(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "new")
    durable.write(path, b"content")
    assert durable.read(path, limit=100) == b"content"


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_mode_is_as_requested_under_any_umask(tmp_path: pathlib.Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        durable.write(str(tmp_path / "file"), b"", mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o7777 == mode


def test_a_written_file_is_private_by_default(tmp_path: pathlib.Path) -> None:
    durable.write(str(tmp_path / "file"), b"")
    assert (tmp_path / "file").stat().st_mode & 0o7777 == 0o600


def test_an_open_reader_keeps_the_old_content(file: pathlib.Path) -> None:
    with file.open("rb") as reader:
        begin = reader.read(10)
        durable.write(str(file), NEW)
        assert begin + reader.read() == OLD
    assert file.read_bytes() == NEW


def test_another_process_reads_the_old_or_the_new_content(file: pathlib.Path) -> None:
    with child(READER, file) as reader:
        assert read_line(reader) == "read"
        for content in (NEW, OLD) * 30:
            durable.write(str(file), content)
        seen = set(close_stdin(reader).split()) - {"read"}
    assert seen <= {hashlib.sha256(content).hexdigest() for content in (OLD, NEW)}


def test_a_killed_writer_leaves_the_old_or_new_file_and_no_other_visible_one(
    file: pathlib.Path,
) -> None:
    for dummy in range(5):
        with child(WRITER, file) as writer:
            assert read_line(writer) == "wrote"
        assert file.read_bytes() in (OLD, NEW)
    assert all(durable.is_temporary(path.name) for path in file.parent.iterdir() if path != file)


def test_a_write_that_fails_in_the_middle_leaves_the_old_file_and_no_temporary_one(
    file: pathlib.Path,
) -> None:
    with child(CUT_OFF, file) as writer:
        assert close_stdin(writer) == f"5 cannot write {file}: File too large"
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == {"file": OLD}


def test_an_interrupted_write_leaves_no_temporary_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*dummy: t.Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        durable.write(str(tmp_path / "file"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_rename_that_fails_leaves_no_temporary_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "directory").mkdir()
    error = error_of(durable.write, str(tmp_path / "directory"), b"content")
    assert (error.code, os.listdir(tmp_path)) == (Code.IO_FAILURE, ["directory"])


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the system calls that matter after a loss of power, in order, and make them."""
    seen: list[str] = []

    def watch(name: str, describe: t.Callable[..., str]) -> None:
        original = getattr(os, name)

        def call(*arguments: object) -> object:
            seen.append(describe(*arguments))
            return original(*arguments)

        monkeypatch.setattr(os, name, call)

    watch("fsync", lambda number: f"sync {'directory' if stat.S_ISDIR(os.fstat(number).st_mode) else 'file'}")
    watch("rename", lambda source, target: "rename")
    watch("unlink", lambda path: "remove")
    return seen


@pytest.mark.parametrize(("flush", "asked"), [(True, ["sync file", "rename", "sync directory"]), (False, ["rename"])])
def test_content_is_flushed_before_the_rename_and_the_directory_after_it(
    file: pathlib.Path, order: list[str], flush: bool, asked: list[str]
) -> None:
    durable.write(str(file), NEW, flush=flush)
    assert order == asked


@pytest.mark.parametrize(("flush", "asked"), [(True, ["remove", "sync directory"]), (False, ["remove"])])
def test_a_removal_is_flushed_to_disk(file: pathlib.Path, order: list[str], flush: bool, asked: list[str]) -> None:
    durable.remove(str(file), flush=flush)
    assert order == asked


def test_threads_that_wait_for_a_slow_disk_flush_at_the_same_time(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a", "b", "c")
    together = threading.Barrier(len(names), timeout=10)
    monkeypatch.setattr(os, "fsync", lambda dummy: time.sleep(SLOW_FLUSH))
    durable.write(str(tmp_path / "first"), NEW)  # it shows that the disk is slow

    def flush_together(dummy: int) -> None:
        time.sleep(SLOW_FLUSH)
        together.wait()

    monkeypatch.setattr(os, "fsync", flush_together)
    Workers(1, len(names)).run([functools.partial(durable.write, str(tmp_path / name), NEW) for name in names])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(("first", *names), NEW)


def test_a_missing_directory_is_an_error_that_names_the_file(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "missing" / "file")
    assert error_of(durable.write, path, b"").msg == f"cannot write {path}: No such file or directory"


@pytest.mark.parametrize("ending", [".conf", ".conflist", ".json"])
def test_runtimes_ignore_the_name_of_a_temporary_file(ending: str) -> None:
    assert not durable.TEMPORARY_SUFFIX.endswith(ending)


@pytest.mark.parametrize("name", ["10-net.conflist", ".cni.node-x", "x.tmp", "net-c-eth0", ""])
def test_other_files_are_not_recognized_as_temporary(name: str) -> None:
    assert not durable.is_temporary(name)


def test_remove_returns_whether_there_was_a_file(file: pathlib.Path) -> None:
    assert [durable.remove(str(file)), durable.remove(str(file)), file.exists()] == [True, False, False]


def test_remove_does_not_remove_a_directory(tmp_path: pathlib.Path) -> None:
    (tmp_path / "directory").mkdir()
    assert error_of(durable.remove, str(tmp_path / "directory")).code == Code.IO_FAILURE


def test_read_of_a_missing_file_returns_none(tmp_path: pathlib.Path) -> None:
    assert durable.read(str(tmp_path / "missing"), limit=1) is None


@pytest.mark.parametrize(("limit", "fits"), [(len(OLD), True), (len(OLD) - 1, False)])
def test_read_refuses_more_bytes_than_its_limit(file: pathlib.Path, limit: int, fits: bool) -> None:
    if fits:
        assert durable.read(str(file), limit=limit) == OLD
    else:
        assert str(limit) in error_of(durable.read, str(file), limit=limit).msg


def test_read_of_a_directory_is_an_error(tmp_path: pathlib.Path) -> None:
    assert error_of(durable.read, str(tmp_path), limit=1).code == Code.IO_FAILURE


def test_read_of_an_endless_device_is_an_error() -> None:
    assert error_of(durable.read, "/dev/zero", limit=1000).code == Code.IO_FAILURE


@pytest.mark.parametrize("has_writer", [False, True])
def test_read_of_a_pipe_does_not_wait(tmp_path: pathlib.Path, has_writer: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    if has_writer:
        writer = os.open(path, os.O_RDWR)
        try:
            assert error_of(durable.read, str(path), limit=1).code == Code.IO_FAILURE
        finally:
            os.close(writer)
    else:
        assert not durable.read(str(path), limit=1)


def test_directories_are_made_with_their_parents(tmp_path: pathlib.Path) -> None:
    durable.make_directory(str(tmp_path / "a" / "b"), mode=0o700)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_directories_have_their_modes_under_any_umask(tmp_path: pathlib.Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        durable.make_directory(str(tmp_path / "a" / "b" / "c"), mode=mode)
        durable.make_directory(f"{tmp_path / 'd'}/", mode=mode)
    finally:
        os.umask(before)
    modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in ("a", "a/b", "a/b/c", "d")}
    assert modes == {"a": 0o755, "a/b": 0o755, "a/b/c": mode, "d": mode}


def test_a_directory_keeps_the_group_bit_that_it_inherits(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o2755)
    before = os.umask(0o077)
    try:
        durable.make_directory(str(tmp_path / "a"))
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o7777 == 0o2755


def test_an_existing_directory_keeps_its_mode(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir(mode=0o750)
    durable.make_directory(str(tmp_path / "a"), mode=0o700)
    assert (tmp_path / "a").stat().st_mode & 0o7777 == 0o750


def test_a_file_in_place_of_a_directory_is_refused(file: pathlib.Path) -> None:
    assert error_of(durable.make_directory, str(file)).code == Code.IO_FAILURE
