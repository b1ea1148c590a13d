# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.checksums import PINNED

_UPSTREAM: t.Final = "https://github.com/containernetworking/plugins/releases/download/v{version}/"
_ASSET: t.Final = re.compile(r"cni-plugins-linux-([a-z0-9]+)-v([0-9A-Za-z.+~-]+)\.tgz")
_VERSION: t.Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~_-]*", re.ASCII)
_CHECKSUM: t.Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
# What `uname -m` says, and what upstream calls it.
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


class _Flaw(t.NamedTuple):
    """A defect of an upstream release.

    Attributes:
        fatal: Whether the release is refused; otherwise there is a warning.
    """

    reason: str
    instead: str
    fatal: bool = True


_FLAWS: t.Final = {
    "0.9.0": _Flaw("it was published without archives", "0.9.1"),
    "1.0.0": _Flaw("its plugins are broken in the versions of the specification they support", "1.0.1"),
    "1.4.1": _Flaw("its archives were built again under the same name, so that two digests are about", "1.5.1", False),
    "1.6.1": _Flaw("its archives are a mixture of two builds", "1.6.2"),
    "1.7.0": _Flaw("its archives are incomplete", "1.7.1"),
}


@dataclasses.dataclass(frozen=True)
class ReleaseRequest:
    """The release that a task asks for.

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


def is_url(location: str) -> bool:
    return location.lower().startswith(("http://", "https://"))


def ask(version: str, source: str, checksum: str, machine: str = "") -> ReleaseRequest:
    """Return the release that a task asks for, with its location, version and digest completed.

    Args:
        source: May be empty for upstream, and a URL that ends with a slash for a mirror of it.
        machine: The node's, as ``uname -m`` has it; empty where it does not matter.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    version = _check_version(version)
    location = source or _UPSTREAM.format(version=version)
    if is_url(location) and location.endswith("/"):
        location += _asset_name(version, machine)
    named = _ASSET.fullmatch(location.rpartition("/")[2])
    if named:
        version = _require_agreement(version, named, location, machine)
    checksum = _check_checksum(checksum) or (_known_checksum(named[2], named[1]) if named else "")
    asked = ReleaseRequest(location, version, checksum, _check_flaws(version))
    if asked.is_url and not checksum:
        raise _no_digest(asked, named is not None)
    return asked


def _check_version(version: str) -> str:
    plain = version.strip()
    plain = plain[1:] if plain[:1] in ("v", "V") else plain
    if plain and not _VERSION.fullmatch(plain):
        raise CniError(Code.INVALID_CONFIG, f"version: {version!r} is not a version", 'expected: such as "1.9.1"')
    return plain


def _check_checksum(checksum: str) -> str:
    plain = checksum.strip().lower()
    if plain and not _CHECKSUM.fullmatch(plain):
        raise CniError(
            Code.INVALID_CONFIG,
            f"checksum: {checksum!r} is not a checksum",
            "expected: sha256: and 64 hexadecimal digits, or sha512: and 128",
        )
    return plain


def _asset_name(version: str, machine: str) -> str:
    if not version:
        raise CniError(Code.INVALID_CONFIG, "neither a version nor an archive is given", "give version, source or both")
    architecture = _ARCHITECTURES.get(machine)
    if not architecture:
        known = ", ".join(sorted(_ARCHITECTURES))
        raise CniError(
            Code.INVALID_CONFIG,
            f"there is no release for this node's architecture, {machine}",
            f"there are some for {known}; for any other give source and checksum of an archive of your own",
        )
    return f"cni-plugins-linux-{architecture}-v{version}.tgz"


def _require_agreement(version: str, named: re.Match[str], location: str, machine: str) -> str:
    """Return the version that an archive of upstream's has in its name, if that is no contradiction."""
    if version and version != named[2]:
        raise CniError(
            Code.INVALID_CONFIG,
            f"version: {version}, but {location} is version {named[2]} by its name",
            "correct one of the two",
        )
    if machine and _ARCHITECTURES.get(machine, machine) != named[1]:
        raise CniError(
            Code.INVALID_CONFIG,
            f"{location} is for {named[1]} by its name, and this node is {machine}",
            f"expected: an archive for {_ARCHITECTURES.get(machine) or machine}",
        )
    return named[2]


def _known_checksum(version: str, architecture: str) -> str:
    digest = PINNED.get(version, {}).get(architecture)
    return f"sha256:{digest}" if digest else ""


def _check_flaws(version: str) -> str:
    """Return a warning about a version, or an empty string; refuse a broken version."""
    flaw = _FLAWS.get(version)
    if flaw is None:
        return ""
    advice = f"use {flaw.instead}"
    if flaw.fatal:
        raise CniError(
            Code.INVALID_CONFIG,
            f"version {version} of the plugins is not installed: {flaw.reason}",
            f"{advice}; give a build of your own a version of its own",
        )
    return f"version {version} of the plugins: {flaw.reason}; better {advice}"


def _no_digest(asked: ReleaseRequest, is_upstream: bool) -> CniError:
    advice = "give checksum, as sha256:HEX or sha512:HEX, from a source you trust"
    known = f"known are {', '.join(PINNED)}, each for {', '.join(PINNED['1.9.1'])}; " if is_upstream else ""
    return CniError(Code.INVALID_CONFIG, f"no digest is known for {asked.location}", known + advice)


__all__ = ("ReleaseRequest", "ask", "is_url")
