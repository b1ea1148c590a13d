# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The release that a task requests: its location, version and digest."""

from __future__ import annotations

import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.url import hide, is_url, require_no_misspelt_url, separate
from ansible_collections.cni.node.plugins.module_utils._node.plugins.published import DEFECTS, PINNED, PROJECTS
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.registry import RELEASE

# The source of executables that this collection makes of its own plugins, and the name of their release.
BUILTIN = "builtin"
_BUILTIN_VERSION = f"{RELEASE}-{BUILTIN}"
CHECKSUM_ADVICE = (
    "set checksum to sha256:HEX or sha512:HEX from a source that you trust (in a role: cni_plugins_checksum or"
    " cni_node_plugins_checksum)"
)
_ASSET = re.compile(r"cni-plugins-linux-([a-z0-9]+)-v([0-9A-Za-z.+~-]+)\.tgz")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~_-]*", re.ASCII)
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
# Upstream's names of architectures, by the names that `uname -m` prints.
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "i386": "386",
    "i686": "386",
    **dict.fromkeys(("armv6l", "armv7l", "armv8l"), "arm"),
    **{name: name for name in ("ppc64le", "riscv64", "s390x")},
    "mips64": "mips64le" if sys.byteorder == "little" else "",
}


class ReleaseRequest(t.NamedTuple):
    """The release that a task requests.

    Attributes:
        location: An archive or directory, or a URL as messages show it.
        version: Empty if unknown.
        checksum: ``sha256:HEX`` or ``sha512:HEX``; empty if any content is accepted.
        warning: A warning about the release, or an empty string.
    """

    location: str
    version: str
    checksum: str
    warning: str = ""


def without_credentials(options: t.Mapping[str, t.Any], where: str = "source") -> tuple[dict[str, t.Any], str]:
    """Return the options of a set with a source that may be shown, and the URL to download, or an empty string.

    The credentials of a URL are moved to the options for them, which Ansible hides. The URL is returned if it has more that
    may be a secret: the values of a query, or a user name without a password, which is how tokens are written.

    Args:
        where: The option, as errors name it.

    Raises:
        CniError: ``INVALID_CONFIG``: the source is a misspelt URL. The error does not show it.
    """
    source = options.get("source")
    if not isinstance(source, str):
        return dict(options), ""
    require_no_misspelt_url(source, where)
    if hide(source) == source:
        return dict(options), ""
    location, (username, password) = separate(source)
    if username and not (password or options.get("url_password")):
        return {**options, "source": hide(source)}, source
    given = {"url_username": username, "url_password": password}
    moved = {key: value for key, value in given.items() if value and not options.get(key)}
    shown = hide(location)
    return {**options, **moved, "source": shown}, location if location != shown else ""


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
            raise _invalid(f"checksum: source {BUILTIN} has none", "leave out checksum")
        return ReleaseRequest(source, version or _BUILTIN_VERSION, "")
    location, digest, known = source, "", ""
    if not source or (is_url(source) and source.endswith("/")):
        location, digest, known = _complete(name, version, source, machine)
    asset = _ASSET.fullmatch(location.rpartition("/")[2])
    if asset:
        version = _require_agreement(version, asset, location, machine)
        digest = PINNED.get(version, {}).get(asset[1], "")
        known = f"known digests: releases {', '.join(PINNED)}, each for {', '.join(PINNED['1.9.1'])}; "
    checksum = _check_checksum(checksum) or (f"sha256:{digest}" if digest else "")
    warning = _check_defects(version) if asset or name == REFERENCE else ""
    if is_url(location) and not checksum:
        raise _invalid(f"no digest is known for {location}", known + CHECKSUM_ADVICE)
    return ReleaseRequest(location, version, checksum, warning)


def _complete(name: str, version: str, source: str, machine: str) -> tuple[str, str, str]:
    """Return the URL of a release that a project has published, its digest, and advice that lists the known ones."""
    project = PROJECTS.get(name)
    if project is None:
        problem = f"source is {'a mirror' if source else 'missing'}, and no project is known by the name {name}"
        projects = ", ".join(other for other in PROJECTS if other != REFERENCE)
        advice = f"set source to an archive, a directory or an executable; known projects: {projects}"
        raise _invalid(problem, advice)
    if not version:
        problem = "version is missing: the URL of a release contains it"
        raise _invalid(problem, "set version, or set source to the URL of an archive")
    architecture = _ARCHITECTURES.get(machine, "")
    if architecture not in project.architectures:
        who = "the reference plugins have" if name == REFERENCE else f"{name} has"
        advice = f"there are releases for {', '.join(project.architectures)}"
        raise _invalid(
            f"{who} no release for this node's architecture, {machine}",
            f"{advice}; otherwise, set source and checksum to your own archive",
        )
    location = (source or project.directory.format(version=version)) + project.asset(version, architecture)
    known = ", ".join(f"{number} ({', '.join(digests)})" for number, digests in project.digests.items()) or "none"
    digest = project.digests.get(version, {}).get(architecture, "")
    return location, digest, f"known digests of {name}: {known}; "


def _check_version(version: str) -> str:
    plain = version.strip()
    plain = plain[1:] if plain[:1] in ("v", "V") else plain
    if plain and not _VERSION.fullmatch(plain):
        raise _invalid(f"version: {version!r} is not a version", "expected: a version such as 1.9.1")
    return plain


def _check_checksum(checksum: str) -> str:
    plain = checksum.strip().lower()
    if plain and not _CHECKSUM.fullmatch(plain):
        expected = "expected: sha256: and 64 hexadecimal digits, or sha512: and 128 hexadecimal digits"
        raise _invalid(f"checksum: {checksum!r} is not a checksum", expected)
    return plain


def _require_agreement(version: str, asset: re.Match[str], location: str, machine: str) -> str:
    """Return the version in the name of an upstream archive; refuse a name that contradicts the task or the node."""
    if version and version != asset[2]:
        problem = f"version: {version}, but the name of {location} says version {asset[2]}"
        raise _invalid(problem, "correct version or source")
    architecture = _ARCHITECTURES.get(machine, machine)
    if machine and architecture != asset[1]:
        problem = f"the name of {location} says architecture {asset[1]}, but this node has {machine}"
        raise _invalid(problem, f"expected: an archive for {architecture or machine}")
    return asset[2]


def _check_defects(version: str) -> str:
    """Return a warning about a version, or an empty string; refuse a broken version."""
    defect = DEFECTS.get(version)
    if defect is None:
        return ""
    what = f"version {version} of the reference plugins"
    if defect.fatal:
        advice = f"use {defect.instead}; if this is your own build, set version to a name of your own, such as"
        raise _invalid(f"{what} is refused: {defect.reason}", f"{advice} {version}-mine")
    return f"{what}: {defect.reason}; if possible, use {defect.instead}"


def _invalid(problem: str, advice: str) -> CniError:
    return CniError(Code.INVALID_CONFIG, problem, advice)
