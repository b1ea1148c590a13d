# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is killed at any moment leaves plugins that are old or new, and the next run finishes it."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import typing as t

import pytest

from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.bin_dir import BinDir, Release

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

OLD = Release("1", {"bridge": b"bridge of 1", "flannel": b"flannel of 1", "ptp": b"ptp of 1"})
NEW = Release("2", {"bridge": b"bridge of 2", "ptp": b"ptp of 2", "tap": b"tap of 2", "vlan": b"vlan of 2"})
OTHER = Release("9", {"multus": b"multus of 9"})
FOREIGN = {"calico": b"calico", "vlan": b"foreign"}
CHANGES = ("open", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink")


def is_killed_before(step: int, run: t.Callable[[], object]) -> bool:
    """Return whether a run was killed before its n-th change of a file; False if it made fewer changes."""
    pid = os.fork()
    if pid == 0:
        steps = iter(range(step))

        def kill_before_change(event: str, arguments: tuple[t.Any, ...]) -> None:
            is_change = event in CHANGES and (event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR))
            if is_change and next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_before_change)
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status != 0


def a_directory(path: pathlib.Path, other: Release | None) -> BinDir:
    bin_dir = BinDir(path)
    for name, content in FOREIGN.items():
        bin_dir.put(name, content)
    bin_dir.present(OLD)
    if other:
        bin_dir.present(other, name="other")
    return bin_dir


RUNS: dict[str, t.Callable[[BinDir], object]] = {
    "upgrade": lambda bin_dir: bin_dir.present(NEW, force=True),
    "absent": lambda bin_dir: bin_dir.absent(),
    "rolled back": lambda bin_dir: bin_dir.roll_back(),
}
AFTER = {
    "upgrade": {**FOREIGN, **NEW.files},
    "absent": FOREIGN,
    "rolled back": {**FOREIGN, **OLD.files},
}


def kill_at_each_step(path: pathlib.Path, name: str, other: Release | None = None) -> t.Iterator[BinDir]:
    """Yield a bin dir for each moment at which a run can be killed; in the inner ring for every third."""
    stride = ring.repetitions(outer=1, inner=3)
    for step in range(ring.SEED % stride, 1000, stride):
        bin_dir = a_directory(path / str(step), other)
        if name == "rolled back":
            bin_dir.present(NEW, force=True)
        if not is_killed_before(step, lambda bin_dir=bin_dir: RUNS[name](bin_dir)):  # type: ignore[misc]
            break
        yield bin_dir
    assert step > {"upgrade": 20, "absent": 4, "rolled back": 10}[name], "it was not killed often enough to tell"


@pytest.mark.parametrize("name", RUNS)
def test_the_next_run_finishes_a_killed_one(tmp_path: pathlib.Path, name: str) -> None:
    for bin_dir in kill_at_each_step(tmp_path, name):
        _check_between(bin_dir)
        RUNS[name](bin_dir)
        assert bin_dir.files() == AFTER[name]
        assert name == "absent" or bin_dir.list_unlisted() == []
        bin_dir.absent()
        assert bin_dir.files() == FOREIGN


@pytest.mark.parametrize("name", ["upgrade", "rolled back"])
def test_another_run_can_undo_a_killed_one(tmp_path: pathlib.Path, name: str) -> None:
    for bin_dir in kill_at_each_step(tmp_path, name):
        bin_dir.absent()
        assert bin_dir.files() == FOREIGN


@pytest.mark.parametrize("name", ["upgrade", "absent"])
def test_a_killed_run_for_one_set_leaves_the_other_complete(tmp_path: pathlib.Path, name: str) -> None:
    for bin_dir in kill_at_each_step(tmp_path, name, OTHER):
        assert OTHER.files.items() <= bin_dir.files().items()
        assert not bin_dir.present(OTHER, name="other", has_source=False).not_removed
        assert OTHER.files.items() <= bin_dir.files().items()
        RUNS[name](bin_dir)
        assert bin_dir.files() == {**AFTER[name], **OTHER.files}
        bin_dir.absent()
        bin_dir.absent("other")
        assert bin_dir.files() == FOREIGN


def _check_between(bin_dir: BinDir) -> None:
    files = bin_dir.files()
    assert files["calico"] == FOREIGN["calico"]
    assert {"bridge", "ptp"} <= files.keys() or not bin_dir.manifest.releases
    for name, content in files.items():
        assert content in (FOREIGN.get(name), OLD.files.get(name), NEW.files.get(name)), name
