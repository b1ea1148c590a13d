# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import threading
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import (
    child,
    close_stdin,
    enter_in_thread,
    read_line,
    run_holder,
)

HOLDER = """
import sys
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
with hold_lock(sys.argv[1], exclusive=sys.argv[2] == "exclusive", timeout=60, what="it"):
    print("held", flush=True)
    sys.stdin.read()
"""

COUNTER = """
import sys
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
for dummy in range(40):
    with hold_lock(sys.argv[1], exclusive=True, timeout=60, what="it"):
        with open(sys.argv[2], "r+") as stream:
            number = int(stream.read())
            stream.seek(0)
            stream.write(str(number + 1))
"""

Kind = t.Literal["exclusive", "shared"]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "locks" / "lock"


def take(path: pathlib.Path, kind: Kind, timeout: float = 0) -> None:
    with hold_lock(str(path), exclusive=kind == "exclusive", timeout=timeout, what="container c"):
        pass


def hold_elsewhere(path: pathlib.Path, kind: Kind, by: str) -> t.ContextManager[None]:
    """Hold a lock in another process or in another thread."""
    if by == "process":
        return run_holder(HOLDER, path, kind)
    return enter_in_thread(hold_lock(str(path), exclusive=kind == "exclusive", timeout=0, what="it"))


@pytest.mark.parametrize("by", ["process", "thread"])
@pytest.mark.parametrize(
    ("holder", "asker"), [("exclusive", "exclusive"), ("exclusive", "shared"), ("shared", "exclusive")]
)
def test_an_exclusive_lock_excludes_every_other_lock(path: pathlib.Path, by: str, holder: Kind, asker: Kind) -> None:
    with hold_elsewhere(path, holder, by):
        assert error_of(take, path, asker).code == Code.TRY_AGAIN
    take(path, asker)


@pytest.mark.parametrize("by", ["process", "thread"])
def test_shared_locks_do_not_exclude_each_other(path: pathlib.Path, by: str) -> None:
    with hold_elsewhere(path, "shared", by):
        take(path, "shared")


def test_the_error_names_the_locked_object_and_the_lock_file(path: pathlib.Path) -> None:
    with hold_elsewhere(path, "exclusive", "thread"):
        error = error_of(take, path, "exclusive")
    assert error.msg.startswith("container c is in use by another process")
    assert str(path) in error.details


@pytest.mark.parametrize("kind", ["exclusive", "shared"])
def test_a_killed_holder_leaves_a_free_lock(path: pathlib.Path, kind: Kind) -> None:
    with child(HOLDER, path, kind) as process:
        assert read_line(process) == "held"
        process.kill()
        process.wait()
        take(path, "exclusive")


def test_an_exception_frees_the_lock(path: pathlib.Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(str(path), exclusive=True, timeout=0, what="it"):
        raise ZeroDivisionError
    take(path, "exclusive")


def test_a_waiting_process_gets_the_lock_once_it_is_free(path: pathlib.Path) -> None:
    got = threading.Event()

    def wait() -> None:
        take(path, "exclusive", timeout=60)
        got.set()

    waiter = threading.Thread(target=wait)
    with hold_elsewhere(path, "exclusive", "process"):
        waiter.start()
        assert not got.wait(0.1)
    assert got.wait(60)
    waiter.join()


def test_waiting_for_a_lock_ends_at_the_timeout(path: pathlib.Path) -> None:
    with hold_elsewhere(path, "exclusive", "process"):
        start = time.monotonic()
        assert "waited 0.2 s" in error_of(take, path, "exclusive", timeout=0.2).msg
        assert 0.2 <= time.monotonic() - start < 5


def test_an_exclusive_lock_makes_read_and_write_atomic(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0", encoding="ascii")
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(child(COUNTER, path, counter)) for dummy in range(3)]
        for process in processes:
            close_stdin(process)
    assert counter.read_text(encoding="ascii") == "120"


def test_the_file_of_an_exclusive_lock_is_removed_with_its_holder(path: pathlib.Path) -> None:
    take(path, "exclusive")
    assert list(path.parent.iterdir()) == []


def test_a_process_started_meanwhile_does_not_keep_the_lock(path: pathlib.Path) -> None:
    with hold_lock(str(path), exclusive=True, timeout=0, what="it"):
        bystander = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    with bystander:
        take(path, "exclusive")


def test_lock_files_are_private(path: pathlib.Path) -> None:
    with hold_lock(str(path), exclusive=True, timeout=0, what="it"):
        assert [entry.stat().st_mode & 0o777 for entry in (path, path.parent)] == [0o600, 0o700]


def test_a_lock_that_cannot_be_made_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "lock").mkdir()
    assert error_of(take, tmp_path / "lock", "exclusive").code == Code.IO_FAILURE


def test_a_lock_with_keep_leaves_its_file(path: pathlib.Path) -> None:
    with hold_lock(str(path), exclusive=True, timeout=0, what="it", keep=True):
        before = path.stat().st_ino
    assert path.stat().st_ino == before
