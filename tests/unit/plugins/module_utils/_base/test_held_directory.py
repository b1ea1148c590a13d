# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.held_directory import hold_directory


@contextlib.contextmanager
def room_for(size: int) -> t.Iterator[None]:
    """Let the kernel write only the beginning of a file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("has_unnamed_files", [True, False])
def test_a_file_of_which_only_a_part_can_be_written_is_not_created(
    tmp_path: pathlib.Path, has_unnamed_files: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_unnamed_files:  # the kernel then answers as for a file system without them
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)
    with hold_directory(str(tmp_path)) as directory, room_for(10):
        assert directory is not None
        with pytest.raises(CniError) as raised:
            directory.create("10.1.0.2", b"0123456789\r\neth0")
    assert raised.value.code == Code.IO_FAILURE
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_overwritten_as_a_whole_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "last").write_bytes(b"before")
    with hold_directory(str(tmp_path)) as directory, room_for(4):
        assert directory is not None
        with pytest.raises(CniError, match="cannot write"):
            directory.overwrite("last", b"10.1.0.2")
