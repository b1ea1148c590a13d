# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are extracted from a zip archive, and zip archives that are refused."""

from __future__ import annotations

import contextlib
import io
import pathlib
import stat
import typing as t
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.test_archive import (
    MEMBER_LIMIT,
    MIB,
    find_refusal,
    read,
)

Member = tuple[zipfile.ZipInfo, bytes]


def member(name: str, content: bytes = b"#!/bin/sh\n", mode: int = stat.S_IFREG | 0o755, **keys: t.Any) -> Member:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.create_system = mode << 16, 3
    info.compress_type = zipfile.ZIP_DEFLATED
    for key, value in keys.items():
        setattr(info, key, value)
    return info, content


def pack(*members: Member, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info, content in members:
            archive.writestr(info, content, info.compress_type)
        archive.comment = comment
    return buffer.getvalue()


GOOD = [member("consul-cni"), member("LICENSE.txt", mode=0o644), member("README.md")]


def test_the_executable_files_of_a_zip_archive_are_plugins(tmp_path: pathlib.Path) -> None:
    stored = member("tap-linux-amd64", b"tap", compress_type=zipfile.ZIP_STORED)
    assert read(tmp_path / "a", pack(*GOOD, stored)) == {"consul-cni": b"#!/bin/sh\n", "tap": b"tap"}


def test_executables_below_a_directory_of_a_zip_archive_are_plugins(tmp_path: pathlib.Path) -> None:
    top = member("tap_1.0/", b"", stat.S_IFDIR | 0o755)
    assert read(tmp_path / "a", pack(top, member("tap_1.0/tap"))) == {"tap": b"#!/bin/sh\n"}


UNSAFE: dict[str, tuple[Member, str]] = {
    "traversal": (member("../tap"), "'../tap' is hidden or not below its root"),
    "traversal behind": (member("bin/../../tap"), "'bin/../../tap' is hidden or not below its root"),
    "absolute": (member("/opt/cni/bin/tap"), "'/opt/cni/bin/tap' is hidden or not below its root"),
    "hidden": (member(".tap"), "hidden"),
    "another directory": (member("bin/tap"), "executables in several directories: consul-cni, bin/tap"),
    "a symbolic link": (member("tap", b"/etc/passwd", stat.S_IFLNK | 0o777), "'tap' is not a regular file"),
    "a device": (member("tap", b"", stat.S_IFBLK | 0o755), "'tap' is not a regular file"),
    "a pipe": (member("tap", b"", stat.S_IFIFO | 0o755), "'tap' is not a regular file"),
    "setuid": (member("tap", mode=stat.S_IFREG | 0o4755), "'tap' has a setuid or setgid bit"),
    "a file named like a directory": (member("tap/", b"x"), "'tap/' is hidden or not below its root"),
    "twice": (member("consul-cni"), "it has 'consul-cni' twice"),
    "empty": (member("tap", b""), "'tap' is empty"),
    "another compression": (member("tap", compress_type=zipfile.ZIP_LZMA), "compressed with method 14"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(("bad", "problem"), UNSAFE.values(), ids=UNSAFE)
def test_a_zip_archive_with_unexpected_members_is_refused(tmp_path: pathlib.Path, bad: Member, problem: str) -> None:
    assert problem in find_refusal(tmp_path / "a", pack(*GOOD, bad))


def test_a_zip_archive_without_modes_has_no_executables(tmp_path: pathlib.Path) -> None:
    windows = member("tap", create_system=0)
    assert "it has no executable file" in find_refusal(tmp_path / "a", pack(windows))


def test_an_encrypted_member_is_refused(tmp_path: pathlib.Path) -> None:
    content = bytearray(pack(member("tap")))
    listed = content.index(b"PK\1\2")
    content[6] |= 1
    content[listed + 8] |= 1
    assert "'tap' is encrypted" in find_refusal(tmp_path / "a", bytes(content))


def state_size(content: bytes, size: int) -> bytes:
    """Return an archive of one member whose list states another size."""
    listed = content.index(b"PK\1\2")
    return content[: listed + 24] + size.to_bytes(4, "little") + content[listed + 28 :]


def test_a_zip_archive_cannot_fill_the_memory(tmp_path: pathlib.Path) -> None:
    one = pack(member("tap"))
    assert f"it unpacks to more than {2 * MEMBER_LIMIT} bytes" in find_refusal(
        tmp_path / "a", state_size(one, 2 * MEMBER_LIMIT + 1)
    )
    assert f"'tap' has {MEMBER_LIMIT + 1} bytes; expected: at most {MEMBER_LIMIT}" in find_refusal(
        tmp_path / "a", state_size(one, MEMBER_LIMIT + 1)
    )
    many = pack(*(member(f"p{number}") for number in range(300)))
    assert "it has more than 256 members" in find_refusal(tmp_path / "a", many)
    verbose = pack(*(member(f"p{number}", comment=bytes(60_000)) for number in range(20)))
    assert f"bytes; expected: at most {MIB}" in find_refusal(tmp_path / "a", verbose)


def test_a_member_that_is_larger_than_stated_is_refused(tmp_path: pathlib.Path) -> None:
    content = state_size(pack(member("tap", bytes(10_000_000))), 10)
    assert "x.tgz cannot be unpacked: Bad CRC-32" in find_refusal(tmp_path / "a", content)


def test_only_one_list_of_members_of_a_zip_archive_is_accepted(tmp_path: pathlib.Path) -> None:
    hidden = pack(*GOOD)
    assert "it is incomplete, or has a comment" in find_refusal(tmp_path / "a", pack(*GOOD, comment=b"x"))
    end = len(hidden) - 22
    large = hidden[:end] + b"PK\6\7" + bytes(16) + hidden[end:]
    assert "archives of more than 4 GiB" in find_refusal(tmp_path / "a", large)


@given(data=st.data())
def test_a_damaged_zip_archive_is_an_error_or_has_its_content(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = pack(member("tap"), member("LICENSE.txt", mode=0o644))
    cut = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255))
    damaged = data.draw(st.sampled_from([whole[:cut], whole[:cut] + bytes([value]) + whole[cut + 1 :]]))
    with contextlib.suppress(CniError):
        content = read(tmp_path_factory.getbasetemp() / "damaged.zip", damaged)
        assert set(content.values()) <= {b"#!/bin/sh\n"}
