# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The release that a task requests: its location, version and digest."""

from __future__ import annotations

import dataclasses
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.checksums import CHECKSUM_ADVICE, PINNED
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE
from ansible_collections.cni.node.plugins.module_utils._node.plugins.projects import PROJECTS
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.registry import RELEASE

_UPSTREAM: t.Final = "https://github.com/containernetworking/plugins/releases/download/v{version}/"
_ASSET: t.Final = re.compile(r"cni-plugins-linux-([a-z0-9]+)-v([0-9A-Za-z.+~-]+)\.tgz")
_VERSION: t.Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~_-]*", re.ASCII)
_CHECKSUM: t.Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
# Upstream's names of architectures, by the names that `uname -m` prints.
_ARCHITECTURES: t.Final = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "armv8l": "arm",
    "mips64": "mips64le" if sys.byteorder == "little" else "",
    "ppc64le": "ppc64le",
    "riscv64": "riscv64",
    "s390x": "s390x",
}


class _Defect(t.NamedTuple):
    """A defect of an upstream release.

    Attributes:
        fatal: Whether the release is refused; otherwise there is a warning.
    """

    reason: str
    instead: str
    fatal: bool = True


_DEFECTS: t.Final = {
    "0.9.0": _Defect("it was published without archives", "0.9.1"),
    "1.0.0": _Defect("its plugins are broken for the versions of the specification that they support", "1.0.1"),
    "1.4.1": _Defect("its archives were rebuilt under the same name, so that each has two digests", "1.5.1", False),
    "1.6.1": _Defect("its archives mix two builds", "1.6.2"),
    "1.7.0": _Defect("its archives are incomplete", "1.7.1"),
}


@dataclasses.dataclass(frozen=True)
class ReleaseRequest:
    """The release that a task requests.

    Attributes:
        location: An archive or directory, or a URL without credentials.
        version: Empty if unknown.
        checksum: ``sha256:HEX`` or ``sha512:HEX``; empty if any content is accepted.
        warning: A warning about the release, or an empty string.
    """

    location: str
    version: str
    checksum: str
    warning: str = ""

    @property
    def is_url(self) -> bool:
        return is_url(self.location)


# The source of executables that this collection makes of its own plugins, and the name of their release.
BUILTIN: t.Final = "builtin"
_BUILTIN_VERSION: t.Final = f"{RELEASE}-{BUILTIN}"


def is_url(location: str) -> bool:
    return location.lower().startswith(("http://", "https://"))


def resolve_request(
    version: str, source: str, checksum: str, machine: str = "", name: str = REFERENCE
) -> ReleaseRequest:
    """Return the release that a task requests for a set, and complete its location, version and digest.

    Args:
        source: Empty for upstream; a URL that ends with a slash for a mirror.
        machine: The node's architecture, as ``uname -m`` prints it; empty if the source does not depend on it.
        name: The set's name.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    version = _check_version(version)
    if source == BUILTIN:
        if checksum:
            raise CniError(Code.INVALID_CONFIG, f"checksum: source {BUILTIN} has none", "leave out checksum")
        return ReleaseRequest(source, version or _BUILTIN_VERSION, "")
    if name != REFERENCE and (not source or _is_mirror(source)):
        return _resolve_project(name, version, source, checksum, machine)
    location = source or _UPSTREAM.format(version=version)
    if _is_mirror(location):
        location += _asset_name(version, machine)
    asset = _ASSET.fullmatch(location.rpartition("/")[2])
    if asset:
        version = _require_agreement(version, asset, location, machine)
    checksum = _check_checksum(checksum) or (_known_checksum(asset[2], asset[1]) if asset else "")
    warning = _check_defects(version) if asset or name == REFERENCE else ""
    request = ReleaseRequest(location, version, checksum, warning)
    if request.is_url and not checksum:
        raise _unknown_digest_error(request, asset is not None)
    return request


def _is_mirror(location: str) -> bool:
    return is_url(location) and location.endswith("/")


def _resolve_project(name: str, version: str, source: str, checksum: str, machine: str) -> ReleaseRequest:
    """Return the release of a project other than the reference plugins that is named like the set."""
    project = PROJECTS.get(name)
    if project is None:
        problem = f"source is {'a mirror' if source else 'missing'}, and no project is known by the name {name}"
        advice = f"set source to an archive, a directory or an executable; known projects: {', '.join(PROJECTS)}"
        raise CniError(Code.INVALID_CONFIG, problem, advice)
    if not version:
        raise _missing_version_error()
    architecture = {**_ARCHITECTURES, "i386": "386", "i686": "386"}.get(machine, "")
    if architecture not in project.architectures:
        raise _architecture_error(f"{name} has", machine, project.architectures)
    location = (source or project.directory.format(version=version)) + project.asset(version, architecture)
    digest = project.digests.get(version, {}).get(architecture, "")
    checksum = _check_checksum(checksum) or (f"sha256:{digest}" if digest else "")
    if not checksum:
        known = [f"{number} ({', '.join(digests)})" for number, digests in project.digests.items()]
        raise CniError(
            Code.INVALID_CONFIG,
            f"no digest is known for {location}",
            f"known digests of {name}: {', '.join(known) or 'none'}; {CHECKSUM_ADVICE}",
        )
    return ReleaseRequest(location, version, checksum)


def _check_version(version: str) -> str:
    plain = version.strip()
    plain = plain[1:] if plain[:1] in ("v", "V") else plain
    if plain and not _VERSION.fullmatch(plain):
        raise CniError(
            Code.INVALID_CONFIG, f"version: {version!r} is not a version", "expected: a version such as 1.9.1"
        )
    return plain


def _check_checksum(checksum: str) -> str:
    plain = checksum.strip().lower()
    if plain and not _CHECKSUM.fullmatch(plain):
        raise CniError(
            Code.INVALID_CONFIG,
            f"checksum: {checksum!r} is not a checksum",
            "expected: sha256: and 64 hexadecimal digits, or sha512: and 128 hexadecimal digits",
        )
    return plain


def _asset_name(version: str, machine: str) -> str:
    if not version:
        raise _missing_version_error()
    architecture = _ARCHITECTURES.get(machine)
    if not architecture:
        raise _architecture_error("the reference plugins have", machine, sorted(_ARCHITECTURES))
    return f"cni-plugins-linux-{architecture}-v{version}.tgz"


def _missing_version_error() -> CniError:
    return CniError(
        Code.INVALID_CONFIG,
        "version is missing: the URL of a release contains it",
        "set version, or set source to the URL of an archive",
    )


def _architecture_error(who: str, machine: str, known: t.Iterable[str]) -> CniError:
    return CniError(
        Code.INVALID_CONFIG,
        f"{who} no release for this node's architecture, {machine}",
        f"there are releases for {', '.join(known)}; otherwise, set source and checksum to your own archive",
    )


def _require_agreement(version: str, asset: re.Match[str], location: str, machine: str) -> str:
    """Return the version in the name of an upstream archive; refuse a name that contradicts the task or the node."""
    if version and version != asset[2]:
        raise CniError(
            Code.INVALID_CONFIG,
            f"version: {version}, but the name of {location} says version {asset[2]}",
            "correct version or source",
        )
    if machine and _ARCHITECTURES.get(machine, machine) != asset[1]:
        raise CniError(
            Code.INVALID_CONFIG,
            f"the name of {location} says architecture {asset[1]}, but this node has {machine}",
            f"expected: an archive for {_ARCHITECTURES.get(machine) or machine}",
        )
    return asset[2]


def _known_checksum(version: str, architecture: str) -> str:
    digest = PINNED.get(version, {}).get(architecture)
    return f"sha256:{digest}" if digest else ""


def _check_defects(version: str) -> str:
    """Return a warning about a version, or an empty string; refuse a broken version."""
    defect = _DEFECTS.get(version)
    if defect is None:
        return ""
    advice = f"use {defect.instead}"
    if defect.fatal:
        raise CniError(
            Code.INVALID_CONFIG,
            f"version {version} of the reference plugins is refused: {defect.reason}",
            f"{advice}; if this is your own build, set version to a name of your own, such as {version}-mine",
        )
    return f"version {version} of the reference plugins: {defect.reason}; if possible, {advice}"


def _unknown_digest_error(request: ReleaseRequest, is_upstream: bool) -> CniError:
    known = (
        f"known digests: releases {', '.join(PINNED)}, each for {', '.join(PINNED['1.9.1'])}; " if is_upstream else ""
    )
    return CniError(Code.INVALID_CONFIG, f"no digest is known for {request.location}", known + CHECKSUM_ADVICE)


__all__ = ("ReleaseRequest", "is_url", "resolve_request")
