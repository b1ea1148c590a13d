# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel tells which entries of a directory were changed, or that it could not note them."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.inotify import DirectoryWatch


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "watched"
    path.mkdir()
    return path


@pytest.fixture
def watch(directory: pathlib.Path) -> t.Iterator[DirectoryWatch]:
    descriptor = os.open(directory, os.O_RDONLY)
    made = DirectoryWatch(descriptor)
    os.close(descriptor)
    yield made
    made.close()


def test_every_kind_of_change_is_reported_once(
    directory: pathlib.Path, watch: DirectoryWatch, tmp_path: pathlib.Path
) -> None:
    assert watch.changed_names() == set()
    (directory / "written").write_text("x")
    (tmp_path / "elsewhere").write_text("x")
    os.link(tmp_path / "elsewhere", directory / "linked")
    (tmp_path / "elsewhere").rename(directory / "moved in")
    (directory / "linked").rename(directory / "renamed")
    assert watch.changed_names() == {"written", "linked", "moved in", "renamed"}
    (directory / "written").unlink()
    assert watch.changed_names() == {"written"}
    assert watch.changed_names() == set()


def test_reading_a_directory_is_not_reported_as_a_change(directory: pathlib.Path, watch: DirectoryWatch) -> None:
    (directory / "file").write_text("x")
    assert watch.changed_names() == {"file"}
    (directory / "file").read_text()
    assert watch.changed_names() == set()


def test_a_removed_directory_cannot_be_watched(directory: pathlib.Path, watch: DirectoryWatch) -> None:
    directory.rmdir()
    assert watch.changed_names() is None


def test_an_overflow_of_the_kernels_queue_is_reported(directory: pathlib.Path, watch: DirectoryWatch) -> None:
    limit = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii"))
    for number in range(limit // 2):  # each makes at least two events
        (directory / str(number)).touch()
        (directory / str(number)).unlink()
    assert watch.changed_names() is None
