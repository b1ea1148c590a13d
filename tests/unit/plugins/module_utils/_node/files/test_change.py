# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.files.change import Done, FileChange, apply_all


def change(path: pathlib.Path) -> FileChange:
    return FileChange("", str(path), "created", None, b"new")


@pytest.mark.parametrize(
    ("done", "before"), [({}, "changed {}"), ({"set": ["kernel settings"]}, "set kernel settings and changed {}")]
)
def test_an_error_says_what_was_done_before_it(tmp_path: pathlib.Path, done: Done, before: str) -> None:
    first, second = tmp_path / "first", tmp_path / "file" / "second"
    (tmp_path / "file").touch()
    with pytest.raises(CniError) as raised:
        apply_all([change(first), change(second)], done)
    assert raised.value.details == f"before that, this run has {before.format(first)}; run it again"
    assert first.read_bytes() == b"new"


def test_the_first_error_of_a_run_says_nothing_of_others(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CniError) as raised:
        apply_all([change(tmp_path / "file" / "first")])
    assert raised.value.details == ""
