# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._node.conflists.ownership import Ownership
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.tests.support.error_of import error_of

LIST = ".cni.node.owned"


def created_file(directory: pathlib.Path, name: str, after: bytes = b"new") -> FileChange:
    return FileChange("net", str(directory / name), "created", None, after)


def test_an_empty_directory_has_no_own_files(tmp_path: pathlib.Path) -> None:
    ownership = Ownership.load(str(tmp_path))
    assert (ownership.networks_by_file(), list(tmp_path.iterdir())) == ({}, [])


def test_a_written_file_is_listed_and_the_list_is_world_readable(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.conf").write_bytes(b"new")
    Ownership.load(str(tmp_path)).settle([created_file(tmp_path, "x.conf")])
    again = Ownership.load(str(tmp_path))
    assert (again.networks_by_file(), again.is_unaltered("x.conf")) == ({"x.conf": "net"}, True)
    listed = json.loads((tmp_path / LIST).read_text(encoding="utf-8"))
    assert listed == {"files": {"x.conf": {"network": "net", "sha256": hashlib.sha256(b"new").hexdigest()}}}
    assert (tmp_path / LIST).stat().st_mode & 0o777 == 0o644


def test_a_claimed_file_is_own_with_its_old_and_its_new_content(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.conf"
    path.write_bytes(b"old")
    Ownership.load(str(tmp_path)).settle([created_file(tmp_path, "x.conf", b"old")])
    Ownership.load(str(tmp_path)).claim([FileChange("net", str(path), "changed", b"old", b"new")])
    for content, ours in ((b"old", True), (b"new", True), (b"other", False), (b"", False)):
        path.write_bytes(content)
        assert Ownership.load(str(tmp_path)).is_unaltered("x.conf") is ours
    path.unlink()
    assert Ownership.load(str(tmp_path)).is_unaltered("x.conf") is False


def test_an_existing_file_with_the_same_content_is_not_own(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.conf").write_bytes(b"same")
    ownership = Ownership.load(str(tmp_path))
    unchanged = [FileChange("net", str(tmp_path / "x.conf"), "unchanged", b"same", b"same")]
    assert ownership.differs(unchanged) is False
    ownership.settle(unchanged)
    assert list(tmp_path.iterdir()) == [tmp_path / "x.conf"]


def test_a_removed_file_is_dropped_and_an_empty_list_is_removed(tmp_path: pathlib.Path) -> None:
    for name in ("x.conf", "y.conf"):
        (tmp_path / name).write_bytes(b"new")
    Ownership.load(str(tmp_path)).settle([created_file(tmp_path, "x.conf"), created_file(tmp_path, "y.conf")])
    removed = FileChange("net", str(tmp_path / "x.conf"), "removed", b"new", None)
    Ownership.load(str(tmp_path)).settle([removed])
    assert Ownership.load(str(tmp_path)).networks_by_file() == {"y.conf": "net"}
    (tmp_path / "y.conf").unlink()
    assert Ownership.load(str(tmp_path)).differs([]) is True
    Ownership.load(str(tmp_path)).settle([])
    assert not (tmp_path / LIST).exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"files": []}', b'{"files": {"x.conf": "net"}}', b"\0" * 10]
)
def test_an_unreadable_list_is_an_error_and_is_kept(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / LIST).write_bytes(content)
    error = error_of(Ownership.load, str(tmp_path))
    assert (error.code, str(tmp_path / LIST) in error.msg) == (Code.DECODE_FAILURE, True)
    assert (tmp_path / LIST).read_bytes() == content
