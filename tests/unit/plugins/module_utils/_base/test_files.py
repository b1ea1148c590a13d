# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files are listed and read without changing them."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code


def test_a_missing_directory_has_no_names(tmp_path: pathlib.Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    assert durable.list_directory(str(tmp_path)) == ["a", "b"]
    assert [durable.list_directory(f"{tmp_path}/{path}") for path in ("none", "a\0b", "\ud800")] == [[]] * 3
    with pytest.raises(CniError) as caught:
        durable.list_directory(str(tmp_path / "a"))
    assert (caught.value.code, str(tmp_path / "a") in caught.value.msg) == (Code.IO_FAILURE, True)


def test_a_change_concerns_the_link_and_not_its_target(tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    os.utime(target, (1, 1))
    os.utime(link, (2, 2), follow_symlinks=False)
    assert (
        durable.modification_time(str(target)),
        durable.modification_time(str(link)),
        durable.modification_time(str(tmp_path / "gone")),
    ) == (1, 2, 0)
