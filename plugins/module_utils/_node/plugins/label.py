# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Verify the version of a release by its digest, or by what its plugins print."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.checksums import PINNED
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

_RELEASE: t.Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
# The first release whose plugins support a version of the specification, and that version.
_PROTOCOL_SINCE: t.Final = ((1, 6, 0), "1.1.0")
# Seconds. A plugin answers within milliseconds.
_TIMEOUT: t.Final = 10.0
# Linux 6.3 and later may require this flag for executable memory files; earlier kernels refuse it.
_MFD_EXEC: t.Final = 0x10


def is_unproven_claim(version: str, digests: t.Iterable[str]) -> bool:
    """Return whether a version names a release of the reference plugins, but none of the digests is of that release."""
    return bool(_RELEASE.fullmatch(version)) and not any(_find_release(digest) == version for digest in digests)


def require_version_of_digest(version: str, digest: str) -> None:
    """Refuse a version if the archive's digest belongs to another release.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    released = _find_release(digest)
    if released and _RELEASE.fullmatch(version) and released != version:
        raise _contradiction_error(version, f"its archive has the digest of {released}")


def require_version_of_plugin(version: str, name: str, content: bytes, *, timeout: float = _TIMEOUT) -> None:
    """Run a reference plugin, and refuse a version that its output contradicts.

    A plugin that cannot be run on this node, or prints no version, does not contradict any.

    Args:
        timeout: Seconds that it may run.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not catalogue.find_plugin_type(name).is_reference:
        return
    about = _run_without_command(content, timeout)
    stated = re.search(rf"^CNI {name} plugin v(\d+\.\d+\.\d+)$", about, re.MULTILINE)
    if stated and stated[1] != version:
        raise _contradiction_error(version, f"its plugin {name} reports version {stated[1]}")
    supported = re.search(rf"^CNI {name} plugin .*\nCNI protocol versions supported: (.+)$", about, re.MULTILINE)
    if supported:
        _require_protocol(version, name, supported[1].split(", "))


class Description(t.NamedTuple):
    """The text that a reference plugin prints without a command.

    Attributes:
        release: Its release, or an empty string.
        versions: The versions of the specification that it supports, as VERSION returns them; empty if it names none.
    """

    release: str = ""
    versions: tuple[str, ...] = ()


def read_description(path: str) -> Description:
    """Run a plugin without a command. Only reference plugins are known to do nothing else then."""
    try:
        about = _read_description(path, _TIMEOUT)
    except OSError:
        return Description()
    release = re.search(r"^CNI \S+ plugin (?:version )?v?(\d+\.\d+\.\d+)", about, re.MULTILINE)
    versions = re.search(
        r"^CNI protocol versions supported: ((?:\d+\.\d+\.\d+(?:, |$))+)$", about, re.MULTILINE | re.ASCII
    )
    return Description(release[1] if release else "", tuple(versions[1].split(", ")) if versions else ())


def _require_protocol(version: str, name: str, supported: t.Sequence[str]) -> None:
    first, protocol = _PROTOCOL_SINCE
    is_expected = tuple(map(int, version.split("."))) >= first
    if is_expected == (protocol in supported):
        return
    verb = "does not support" if is_expected else "supports"
    since = f"the reference plugins have supported since release {'.'.join(map(str, first))}"
    raise _contradiction_error(
        version, f"its plugin {name} {verb} version {protocol} of the specification, which {since}"
    )


def _find_release(digest: str) -> str:
    """Return the release of the reference plugins that has an archive with this digest, or an empty string."""
    plain = digest.rpartition("sha256:")[2]
    return next((version for version, digests in PINNED.items() if plain in digests.values()), "")


def _contradiction_error(version: str, reason: str) -> CniError:
    return CniError(
        Code.INVALID_CONFIG,
        f"version: the release is not {version}: {reason}",
        "correct version or source; "
        f"if this is your own build, set version to a name of your own, such as {version}-mine, or leave it empty",
    )


def _run_without_command(content: bytes, timeout: float) -> str:
    """Return the description that a plugin prints if ``CNI_COMMAND`` is not set, or an empty string."""
    try:
        descriptor = _create_memory_file(content)
        try:
            # The interpreter of a script opens it by path, and does not inherit the descriptor.
            path = f"/proc/{os.getpid()}/fd/{descriptor}"
            return _read_description(path, timeout)
        finally:
            os.close(descriptor)
    except (AttributeError, OSError):  # no memory files here, or a program for another architecture
        return ""


def _read_description(path: str, timeout: float) -> str:
    """Return what a plugin prints if ``CNI_COMMAND`` is not set.

    Raises:
        OSError: It cannot be run.
    """
    process.prepare()
    result = process.run([path], {}, b"", timeout)
    return (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace")


def _create_memory_file(content: bytes) -> int:
    """Return the descriptor of an executable file in memory, because any directory may be mounted with noexec."""
    try:
        descriptor = os.memfd_create("plugin", os.MFD_CLOEXEC | _MFD_EXEC)
    except OSError:
        descriptor = os.memfd_create("plugin", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as stream:
            stream.write(content)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


__all__ = (
    "Description",
    "is_unproven_claim",
    "read_description",
    "require_version_of_digest",
    "require_version_of_plugin",
)
