# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are extracted from an archive, and archives that are refused."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import lzma
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import typing as t
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive as plugin_archive
from ansible_collections.cni.node.tests.support.error_of import error_of

Member = t.Union[tarfile.TarInfo, tuple[tarfile.TarInfo, bytes]]
MIB = 1024 * 1024
MEMBER_LIMIT = 256 * MIB
ROOT = tarfile.TarInfo("./")
ROOT.type = tarfile.DIRTYPE


def member(name: str, content: bytes = b"#!/bin/sh\n", mode: int = 0o755, **keys: t.Any) -> Member:
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(content)
    for key, value in keys.items():
        setattr(info, key, value)
    return info, content


def pack(*members: Member) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in members:
            info, content = member if isinstance(member, tuple) else (member, b"")
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


GOOD = [ROOT, member("./bridge"), member("ptp", b"ptp"), member("./LICENSE", mode=0o644), member("./README.md")]


def read(path: pathlib.Path, content: bytes) -> dict[str, bytes]:
    path.write_bytes(content)
    return unpack(path)


def unpack(path: pathlib.Path) -> dict[str, bytes]:
    with open(path, "rb") as file:
        return dict(plugin_archive.plugins(file, "x.tgz", ["flannel"]))


def find_refusal(path: pathlib.Path, content: bytes) -> str:
    path.write_bytes(content)
    return refusal_of(path)


def refusal_of(path: pathlib.Path) -> str:
    error = error_of(unpack, path)
    assert error.code == Code.DECODE_FAILURE
    assert error.msg.startswith("x.tgz ")
    return str(error)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
def test_the_executable_files_at_the_root_are_plugins(
    tmp_path: pathlib.Path, compress: t.Callable[[bytes], bytes]
) -> None:
    assert read(tmp_path / "a", compress(pack(*GOOD))) == {"bridge": b"#!/bin/sh\n", "ptp": b"ptp"}


def test_executables_below_a_directory_are_plugins(tmp_path: pathlib.Path) -> None:
    top = tarfile.TarInfo("multus-cni_4.3.0_linux_amd64")
    top.type = tarfile.DIRTYPE
    names = ("multus", "multus-shim", "LICENSE", "README.md", "docs/how-to.md")
    members = [member(f"{top.name}/{name}", name.encode(), 0o644 if "." in name else 0o755) for name in names]
    assert read(tmp_path / "a", pack(top, *members)) == {"multus": b"multus", "multus-shim": b"multus-shim"}


@pytest.mark.parametrize("content", [b"\x7fELF\2\1\1", b"#!/usr/bin/python3\n"], ids=["program", "script"])
def test_a_single_executable_is_the_plugin_that_the_task_names(tmp_path: pathlib.Path, content: bytes) -> None:
    assert read(tmp_path / "a", content) == {"flannel": content}
    with open(tmp_path / "a", "rb") as file:
        error = error_of(lambda: list(plugin_archive.plugins(file, "x", ["tap", "tup"])))
    assert str(error).startswith("x is a single executable, but 'only' has more than one plugin")


def test_the_size_of_a_single_executable_is_limited(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(b"#!/bin/sh\n")
    os.truncate(tmp_path / "a", MEMBER_LIMIT + 1)
    assert f"it has more than {MEMBER_LIMIT} bytes" in refusal_of(tmp_path / "a")


UNSAFE: dict[str, tuple[Member, str]] = {
    "traversal": (member("../bridge"), "'../bridge' is hidden or not below its root"),
    "traversal behind": (member("./../../etc/cron.d/x"), "is hidden or not below its root"),
    "absolute": (member("/opt/cni/bin/bridge"), "'/opt/cni/bin/bridge' is hidden or not below its root"),
    "traversal below": (member("bin/../../bridge"), "'bin/../../bridge' is hidden or not below its root"),
    "another directory": (member("bin/vlan"), "it has executables in several directories: bridge, bin/vlan"),
    "hidden": (member(".bridge"), "hidden"),
    "two dots": (member(".."), "hidden"),
    "a hidden directory": (member(".bin", b"", type=tarfile.DIRTYPE), "hidden"),
    "a symbolic link": (member("x", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "'x' is not a regular file"),
    "a hard link": (member("x", b"", type=tarfile.LNKTYPE, linkname="bridge"), "'x' is not a regular file"),
    "a device": (member("x", b"", type=tarfile.CHRTYPE), "'x' is not a regular file"),
    "a pipe": (member("x", b"", type=tarfile.FIFOTYPE), "'x' is not a regular file"),
    "setuid": (member("x", mode=0o4755), "'x' has a setuid or setgid bit"),
    "setgid": (member("x", mode=0o2755), "'x' has a setuid or setgid bit"),
    "twice": (member("bridge"), "it has 'bridge' twice"),
    "of two architectures": (member("ptp-arm64"), "it has 'ptp' twice: ptp, ptp-arm64"),
    "empty": (member("x", b""), "'x' is empty"),
}


@pytest.mark.parametrize(("bad", "problem"), UNSAFE.values(), ids=UNSAFE)
def test_an_archive_with_unexpected_members_is_refused(tmp_path: pathlib.Path, bad: Member, problem: str) -> None:
    assert problem in find_refusal(tmp_path / "a", pack(*GOOD, bad))


def test_a_name_that_is_not_a_plugin_type_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(pack(member("a\nb")))
    assert "is not a plugin type" in str(error_of(unpack, tmp_path / "a"))


def test_an_archive_cannot_fill_the_memory(tmp_path: pathlib.Path) -> None:
    bomb = gzip.compress(pack(member("bridge", bytes(10_000_000))))
    assert len(bomb) < 20_000
    (tmp_path / "a").write_bytes(bomb)
    with open(tmp_path / "a", "rb") as file:
        error = error_of(lambda: list(plugin_archive.plugins(file, "x.tgz", total_limit=1_000_000)))
    assert "it unpacks to more than 1000000 bytes" in error.msg
    large = header(tarfile.REGTYPE, MEMBER_LIMIT + 1, "bridge")
    assert f"'bridge' has {MEMBER_LIMIT + 1} bytes; expected: at most {MEMBER_LIMIT}" in find_refusal(
        tmp_path / "a", large
    )
    many = pack(*(member(f"p{number}") for number in range(300)))
    assert "it has more than 256 members" in find_refusal(tmp_path / "a", many)


NO_ARCHIVE = {
    "empty": (b"", "it has 0 bytes and is empty"),
    "a page": (b"\n<!DOCTYPE html><title>502</title>", "looks like an HTML page"),
    "JSON": (b'{"errors": [{"status": 404}]}', "looks like JSON"),
    "text": (b"Not Found", "it begins with 'Not Found'"),
    "no tar": (gzip.compress(b"hello" * 500), "looks like an archive"),
    "a tar of nothing": (pack(ROOT), "it has no executable file"),
    "only texts": (pack(member("LICENSE"), member("notes", mode=0o644)), "it has no executable file"),
}


@pytest.mark.parametrize(("content", "problem"), NO_ARCHIVE.values(), ids=NO_ARCHIVE)
def test_the_error_of_a_file_that_is_not_an_archive_names_its_type(
    tmp_path: pathlib.Path, content: bytes, problem: str
) -> None:
    assert problem in find_refusal(tmp_path / "a", content)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
@given(data=st.data())
def test_a_damaged_archive_is_an_error_or_has_its_content(
    tmp_path_factory: pytest.TempPathFactory, compress: t.Callable[[bytes], bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    whole = compress(pack(*GOOD))
    cut = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(st.sampled_from([whole[:cut], whole[:cut] + bytes([whole[cut] ^ 0x55]) + whole[cut + 1 :]]))
    with contextlib.suppress(CniError):
        assert read(path, damaged) == {"bridge": b"#!/bin/sh\n", "ptp": b"ptp"}


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_wrong_digest_is_refused_with_both_digests(tmp_path: pathlib.Path, algorithm: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"<html>502 Bad Gateway")
    digest = hashlib.new(algorithm, path.read_bytes()).hexdigest()
    other = f"{algorithm}:{'0' * len(digest)}"
    with open(path, "rb") as file:
        plugin_archive.verify(file, f"{algorithm}:{digest}", "x.tgz")
        error = str(error_of(plugin_archive.verify, file, other, "x.tgz"))
    assert error.startswith(f"x.tgz has the wrong digest: expected {other}, found {algorithm}:{digest}; ")
    assert "it has 21 bytes and looks like an HTML page, perhaps an error of a mirror" in error
    assert "cni_node_plugins_checksum" not in error


def test_the_error_about_an_archive_with_another_digest_names_the_variable_of_the_role(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"own build"))
    with open(path, "rb") as file:
        error = str(error_of(plugin_archive.verify, file, f"sha256:{'0' * 64}", "x.tgz"))
    assert "if it is the one that you want, set checksum to sha256:HEX" in error
    assert "(in a role: cni_plugins_checksum or cni_node_plugins_checksum)" in error


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    """Return a header without content."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode = kind, size, 0o755
    return info.tobuf(tarfile.GNU_FORMAT)


def extend(kind: bytes, content: bytes) -> bytes:
    """Return an extension header with its content."""
    return header(kind, len(content)) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = len(rest) + len(str(len(rest)))
    return str(length + (len(str(length)) > len(str(len(rest))))).encode() + rest


BRIDGE = pack(member("bridge"))
SPARSE_MAP = record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.realsize", "9")
DEEP = 5000

CRAFTED: dict[str, tuple[bytes, str]] = {
    "a chain of pax headers": (extend(b"x", record("comment", "x")) * DEEP + BRIDGE, "two extension headers"),
    "a chain of GNU long names": (extend(b"L", b"bridge\0") * DEEP + BRIDGE, "two extension headers"),
    "a chain of global headers": (extend(b"g", record("comment", "x")) * DEEP + BRIDGE, "more than 1024 headers"),
    "a broken sparse map": (extend(b"x", SPARSE_MAP) + pack(member("bridge", b"x\ny\n")), "is a sparse file"),
    "an old sparse map": (header(b"S", 4, "bridge") + b"data" + bytes(508 + 1024), "'bridge' is a sparse file"),
    "a huge pax header": (header(b"x", 480_000_000) + bytes(4096), "an extension header of 480000000 bytes"),
    "a huge long name": (header(b"L", 480_000_000) + bytes(4096), "an extension header of 480000000 bytes"),
    "a size in a pax header": (extend(b"x", record("size", "9" * 30)) + BRIDGE, "is not a valid size"),
    "another size in a pax header": (extend(b"x", record("size", "999999999999")) + BRIDGE, "has 999999999999 bytes"),
    "a negative size": (header(b"0", 0, "bridge")[:124] + b"\xff" * 12, "cannot be unpacked"),
    "a size of all members": (
        extend(b"g", record("size", "10")) + BRIDGE,
        "a global header that sets a name or a size",
    ),
    "records that do not end": (extend(b"x", b"99 path=bridge\n") + BRIDGE, "an invalid pax header"),
    "records of nothing": (extend(b"x", b"0 =\n") + BRIDGE, "an invalid pax header"),
    "a damaged second header": (BRIDGE[:1024] + b"x" + pack(member("ptp"))[1:], "bad checksum"),
    "no end": (pack(member("bridge"))[:1024], "it is incomplete"),
}


@pytest.mark.parametrize(("content", "problem"), CRAFTED.values(), ids=CRAFTED)
def test_headers_are_bounded_and_refused_with_the_archives_name(
    tmp_path: pathlib.Path, content: bytes, problem: str
) -> None:
    assert problem in find_refusal(tmp_path / "a", content)
    assert problem in find_refusal(tmp_path / "a", gzip.compress(content))


LONG = "a" * 120


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["pax", "GNU"])
def test_a_long_name_is_read_completely(tmp_path: pathlib.Path, form: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        info, content = t.cast("tuple[tarfile.TarInfo, bytes]", member(LONG, b"long"))
        info.mtime = 1.5
        archive.addfile(info, io.BytesIO(content))
    assert read(tmp_path / "a", buffer.getvalue()) == {LONG: b"long"}


HUNGRY = """
import pathlib, resource, sys
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.test_archive import refusal_of
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(refusal_of(pathlib.Path(sys.argv[1])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
MEMORY_KIB = 100_000


@pytest.mark.parametrize("kind", [b"x", b"L", b"g"])
def test_a_header_cannot_fill_the_memory(tmp_path: pathlib.Path, kind: bytes) -> None:
    size = 300_000_000
    with gzip.open(tmp_path / "a", "wb", 1) as stream:
        stream.write(header(kind, size))
        for dummy in range(size // 1_000_000):
            stream.write(bytes(1_000_000))
    done = subprocess.run(
        [sys.executable, "-c", HUNGRY, str(tmp_path / "a")], check=True, capture_output=True, text=True
    )
    message, grown = done.stdout.splitlines()
    assert "x.tgz cannot be unpacked: it has an extension header of 300000000 bytes" in message
    assert int(grown) < MEMORY_KIB


@given(st.binary(max_size=600), st.integers(0, 511), st.sampled_from([b"0", b"x", b"g", b"L", b"K", b"S", b"5"]))
def test_an_odd_header_is_an_error_of_the_archive(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, place: int, kind: bytes
) -> None:
    block = bytearray(header(kind, len(junk), "bridge"))
    block[place : place + len(junk)] = junk[: tarfile.BLOCKSIZE - place]
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:512]) + 256)
    path = tmp_path_factory.getbasetemp() / "odd"
    with contextlib.suppress(CniError):
        read(path, bytes(block[:512]) + junk + bytes(2048) + BRIDGE)


def test_the_memory_of_xz_is_limited(tmp_path: pathlib.Path) -> None:
    content = bytearray(lzma.compress(pack(*GOOD)))
    # The header of the first block: its size, flags, the filter LZMA2 with the size of its dictionary, and a checksum.
    assert content[12:16] == b"\x02\0\x21\1"
    content[16] = 40  # 4 GiB, the largest dictionary
    content[20:24] = struct.pack("<I", zlib.crc32(content[12:20]))
    assert "emory usage limit" in find_refusal(tmp_path / "a", bytes(content))


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_consecutive_compressed_streams_are_one_archive(
    tmp_path: pathlib.Path, compress: t.Callable[[bytes], bytes]
) -> None:
    whole = pack(*GOOD)
    pieces = [compress(whole[at : at + 1000]) for at in range(0, len(whole), 1000)]
    assert read(tmp_path / "a", b"".join(pieces) + bytes(8)) == {"bridge": b"#!/bin/sh\n", "ptp": b"ptp"}
    assert "cannot be unpacked" in find_refusal(tmp_path / "a", b"".join(pieces) + b"no stream")


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("flannel-amd64", "flannel"),
        ("tc-redirect-tap-arm64", "tc-redirect-tap"),
        ("whereabouts-arm", "whereabouts"),
        ("tap_linux_x86_64", "tap"),
        ("tap-linux-armv6", "tap"),
        ("bridge", "bridge"),
        ("host-local", "host-local"),
        ("charm", "charm"),
        ("amd64", "amd64"),
        ("-amd64", "-amd64"),
        ("flannel-amd64.exe", "flannel-amd64.exe"),
    ],
)
def test_only_the_ending_of_an_architecture_is_removed(name: str, plugin: str) -> None:
    assert plugin_archive.without_architecture(name) == plugin


@pytest.mark.parametrize(
    ("location", "only", "plugin"),
    [
        ("https://mirror/v1/flannel-amd64?token=a/b#c", [], "flannel"),
        ("/srv/whereabouts", [], "whereabouts"),
        ("tap-v0.0.3-arm64", ["tap"], "tap"),
    ],
)
def test_a_single_executable_has_the_selected_plugin_name_or_the_name_of_its_file(
    location: str, only: list[str], plugin: str
) -> None:
    assert plugin_archive.name_executable(location, only) == plugin


@pytest.mark.parametrize(("location", "only"), [("https://mirror/", []), ("/srv/tap", ["../tap"])])
def test_a_single_executable_needs_a_plain_name(location: str, only: list[str]) -> None:
    assert "is not a plugin type" in str(error_of(plugin_archive.name_executable, location, only))
