# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Release archives for tests, made of the distribution's plugins.

Names and layout are those of the reference plugins' releases, each with its digest in a file beside it. Two
versions allow an upgrade: in the later one every plugin is a different file, and one is missing.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pathlib
import platform
import tarfile
import typing as t

from ansible_collections.cni.node.tests.fleet.place import FleetRefused

INSTALLED = ("/usr/lib/cni", "/usr/libexec/cni")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# By version, the bytes added to each file and the missing plugins. Debian 12 has the first; the second was never
# released under this number.
VERSIONS: dict[str, tuple[bytes, tuple[str, ...]]] = {"1.1.1": (b"", ()), "1.1.99": (b"\n", ("vrf",))}
CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "fleet"


def make(into: pathlib.Path, cache: pathlib.Path = CACHE) -> list[pathlib.Path]:
    """Return links to the archives, which are kept for the next call."""
    into.mkdir(parents=True, exist_ok=True)
    plugins = installed()
    links = []
    for version, (added, missing) in VERSIONS.items():
        archive = _archive(version, [plugin for plugin in plugins if plugin.name not in missing], added, cache)
        for kept in (archive, archive.with_name(f"{archive.name}.sha256")):
            links.append(into / kept.name)
            links[-1].unlink(missing_ok=True)
            links[-1].symlink_to(kept)
    return links


def installed() -> list[pathlib.Path]:
    for directory in map(pathlib.Path, INSTALLED):
        if os.access(directory / "bridge", os.X_OK):
            return sorted(path for path in directory.iterdir() if path.is_file() and os.access(path, os.X_OK))
    raise FleetRefused("the reference plugins are missing: install containernetworking-plugins")


def _archive(version: str, plugins: t.Sequence[pathlib.Path], added: bytes, cache: pathlib.Path) -> pathlib.Path:
    architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
    archive = cache / _stamp(plugins, added) / f"cni-plugins-linux-{architecture}-v{version}.tgz"
    digest = archive.with_name(f"{archive.name}.sha256")
    if not digest.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        # Process IDs are equal in different sandboxes.
        unfinished = archive.with_name(f".{archive.name}.{os.urandom(8).hex()}")
        _write(unfinished, plugins, added)
        unfinished.replace(archive)
        digest.write_text(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n", encoding="utf-8")
    return archive


def _stamp(plugins: t.Sequence[pathlib.Path], added: bytes) -> str:
    facts = [f"{plugin} {plugin.stat().st_size} {plugin.stat().st_mtime_ns}" for plugin in plugins]
    return hashlib.sha256("\n".join(facts).encode() + added).hexdigest()[:16]


def _write(path: pathlib.Path, plugins: t.Sequence[pathlib.Path], added: bytes) -> None:
    """Write an archive whose owner is a build user, as upstream's is; the same plugins give the same bytes."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.addfile(_member("./", tarfile.DIRTYPE, 0))
        for plugin in plugins:
            content = plugin.read_bytes() + added
            archive.addfile(_member(f"./{plugin.name}", tarfile.REGTYPE, len(content)), io.BytesIO(content))


def _member(name: str, kind: bytes, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.mode = kind, size, 0o755
    member.uid, member.gid, member.uname, member.gname = 1001, 127, "runner", "docker"
    return member
