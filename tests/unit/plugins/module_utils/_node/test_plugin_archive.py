# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is taken out of an archive, and which archives nothing is taken out of."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import lzma
import pathlib
import tarfile
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node import plugin_archive
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of

Member = t.Union[tarfile.TarInfo, tuple[tarfile.TarInfo, bytes]]
ROOT = tarfile.TarInfo("./")
ROOT.type = tarfile.DIRTYPE


def member(name: str, content: bytes = b"#!/bin/sh\n", mode: int = 0o755, **keys: t.Any) -> Member:
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(content)
    for key, value in keys.items():
        setattr(info, key, value)
    return info, content


def packed(*members: Member) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for one in members:
            info, content = one if isinstance(one, tuple) else (one, b"")
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


GOOD = [ROOT, member("./bridge"), member("ptp", b"ptp"), member("./LICENSE", mode=0o644), member("./README.md")]


def read(path: pathlib.Path, content: bytes) -> dict[str, bytes]:
    path.write_bytes(content)
    return dict(plugin_archive.plugins(str(path), "x.tgz"))


def refused(path: pathlib.Path, content: bytes) -> str:
    path.write_bytes(content)
    error = error_of(lambda: dict(plugin_archive.plugins(str(path), "x.tgz")))
    assert error.code == Code.DECODE_FAILURE
    assert error.msg.startswith("x.tgz ")
    return str(error)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
def test_the_executables_at_its_root_are_taken(tmp_path: pathlib.Path, compress: t.Callable[[bytes], bytes]) -> None:
    assert read(tmp_path / "a", compress(packed(*GOOD))) == {"bridge": b"#!/bin/sh\n", "ptp": b"ptp"}


UNSAFE: dict[str, tuple[Member, str]] = {
    "traversal": (member("../bridge"), "'../bridge' is not at its root"),
    "traversal behind": (member("./../../etc/cron.d/x"), "is not at its root"),
    "absolute": (member("/opt/cni/bin/bridge"), "'/opt/cni/bin/bridge' is not at its root"),
    "below": (member("bin/bridge"), "'bin/bridge' is not at its root"),
    "hidden": (member(".bridge"), "hidden"),
    "two dots": (member(".."), "hidden"),
    "a directory": (member("bin", b"", type=tarfile.DIRTYPE), "'bin' is not a regular file"),
    "a symbolic link": (member("x", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "'x' is not a regular file"),
    "a hard link": (member("x", b"", type=tarfile.LNKTYPE, linkname="bridge"), "'x' is not a regular file"),
    "a device": (member("x", b"", type=tarfile.CHRTYPE), "'x' is not a regular file"),
    "a pipe": (member("x", b"", type=tarfile.FIFOTYPE), "'x' is not a regular file"),
    "setuid": (member("x", mode=0o4755), "'x' is to run as another user"),
    "setgid": (member("x", mode=0o2755), "'x' is to run as another user"),
    "twice": (member("bridge"), "'bridge' is one member too many"),
    "empty": (member("x", b""), "'x' is empty"),
}


@pytest.mark.parametrize(("bad", "problem"), UNSAFE.values(), ids=UNSAFE)
def test_an_archive_with_what_no_release_has_is_refused(tmp_path: pathlib.Path, bad: Member, problem: str) -> None:
    assert problem in refused(tmp_path / "a", packed(*GOOD, bad))


def test_a_name_that_cannot_be_a_plugins_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(packed(member("a\nb")))
    assert "is not a plugin type" in str(error_of(lambda: list(plugin_archive.plugins(str(tmp_path / "a"), "x.tgz"))))


def test_an_archive_cannot_fill_the_memory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(packed(member("bridge", bytes(10_000_000))))
    assert len(bomb) < 20_000
    monkeypatch.setattr(plugin_archive, "_TOTAL_LIMIT", 1_000_000)
    assert "it unpacks to more than 1000000 bytes" in refused(tmp_path / "a", bomb)
    monkeypatch.undo()
    monkeypatch.setattr(plugin_archive, "_MEMBER_LIMIT", 1_000_000)
    assert "'bridge' has 10000000 bytes; expected: not more than 1000000" in refused(tmp_path / "a", bomb)
    many = packed(*(member(f"p{number}") for number in range(300)))
    assert "one member too many" in refused(tmp_path / "a", many)


NO_ARCHIVE = {
    "empty": (b"", "it has 0 bytes and is empty"),
    "a page": (b"\n<!DOCTYPE html><title>502</title>", "looks like an HTML page"),
    "JSON": (b'{"errors": [{"status": 404}]}', "looks like JSON"),
    "text": (b"Not Found", "it begins with 'Not Found'"),
    "no tar": (gzip.compress(b"hello" * 500), "looks like an archive"),
    "a tar of nothing": (packed(ROOT), "it has no executable file at its root"),
    "only texts": (packed(member("LICENSE"), member("notes", mode=0o644)), "it has no executable file"),
}


@pytest.mark.parametrize(("content", "problem"), NO_ARCHIVE.values(), ids=NO_ARCHIVE)
def test_what_is_no_archive_is_named_as_what_it_is(tmp_path: pathlib.Path, content: bytes, problem: str) -> None:
    assert problem in refused(tmp_path / "a", content)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
@given(data=st.data())
def test_a_damaged_archive_gives_an_error_or_what_it_had(
    tmp_path_factory: pytest.TempPathFactory, compress: t.Callable[[bytes], bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    whole = compress(packed(*GOOD))
    cut = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(st.sampled_from([whole[:cut], whole[:cut] + bytes([whole[cut] ^ 0x55]) + whole[cut + 1 :]]))
    with contextlib.suppress(CniError):
        assert read(path, damaged) == {"bridge": b"#!/bin/sh\n", "ptp": b"ptp"}


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_the_digest_is_checked_and_both_are_named(tmp_path: pathlib.Path, algorithm: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"<html>502 Bad Gateway")
    digest = hashlib.new(algorithm, path.read_bytes()).hexdigest()
    plugin_archive.verify(str(path), f"{algorithm}:{digest}", "x.tgz")
    other = f"{algorithm}:{'0' * len(digest)}"
    error = str(error_of(plugin_archive.verify, str(path), other, "x.tgz"))
    assert error.startswith(f"x.tgz is not the archive it should be: expected {other}, found {algorithm}:{digest}; ")
    assert "it has 21 bytes and looks like an HTML page, such as a mirror" in error
