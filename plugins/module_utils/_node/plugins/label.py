# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The release that plugins are of, as they state it or as their digest shows, and its known flaws."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.durable import write_all
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.published import DEFECTS, PINNED
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import PROJECT, find_plugin_type

_RELEASE = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
# The first release whose plugins support a version of the specification, and that version.
_PROTOCOL_SINCE, _PROTOCOL = "1.6.0", "1.1.0"
# Seconds. A plugin answers within milliseconds.
_TIMEOUT = 10.0
# Linux 6.3 and later may require this flag for executable memory files; earlier kernels refuse it.
_MFD_EXEC = 0x10


def find_flaws(release: str, plugins: t.Iterable[str]) -> list[str]:
    """Return the known flaws of a release of the reference plugins, one sentence each.

    Args:
        release: Such as ``1.8.0``; anything else has no known flaw.
        plugins: The types that are installed.
    """
    if not _RELEASE.fullmatch(release):
        return []
    defect = DEFECTS.get(release)
    known = (
        [("release", defect.reason, defect.instead, f"{PROJECT} {defect.source}")] if defect and defect.source else []
    )
    for name in sorted(plugins):
        for flaw in find_plugin_type(name).flaws:
            if flaw.since <= _numbers(release) < flaw.fixed:
                known.append((name, flaw.text, ".".join(map(str, flaw.fixed)), flaw.source))
    return [f"{name} {release}: {text}; fixed in {fixed} ({source})" for name, text, fixed, source in known]


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
    if not find_plugin_type(name).is_reference:
        return
    about = _run_in_memory(content, timeout)
    stated = re.search(rf"^CNI {name} plugin v(\d+\.\d+\.\d+)$", about, re.MULTILINE)
    if stated and stated[1] != version:
        raise _contradiction_error(version, f"its plugin {name} reports version {stated[1]}")
    supported = re.search(rf"^CNI {name} plugin .*\nCNI protocol versions supported: (.+)$", about, re.MULTILINE)
    is_expected = _numbers(version) >= _numbers(_PROTOCOL_SINCE)
    if supported and is_expected != (_PROTOCOL in supported[1].split(", ")):
        problem = f"{'does not support' if is_expected else 'supports'} version {_PROTOCOL} of the specification"
        since = f"which the reference plugins have supported since release {_PROTOCOL_SINCE}"
        raise _contradiction_error(version, f"its plugin {name} {problem}, {since}")


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
    about = _run(path, _TIMEOUT)
    release = re.search(r"^CNI \S+ plugin (?:version )?v?(\d+\.\d+\.\d+)", about, re.MULTILINE)
    versions = re.search(
        r"^CNI protocol versions supported: ((?:\d+\.\d+\.\d+(?:, |$))+)$", about, re.MULTILINE | re.ASCII
    )
    return Description(release[1] if release else "", tuple(versions[1].split(", ")) if versions else ())


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _find_release(digest: str) -> str:
    """Return the release of the reference plugins that has an archive with this digest, or an empty string."""
    plain = digest.rpartition("sha256:")[2]
    return next((version for version, digests in PINNED.items() if plain in digests.values()), "")


def _contradiction_error(version: str, reason: str) -> CniError:
    own = f"if this is your own build, set version to a name of your own, such as {version}-mine, or leave it empty"
    problem = f"version: the release is not {version}: {reason}"
    return CniError(Code.INVALID_CONFIG, problem, f"correct version or source; {own}")


def _run_in_memory(content: bytes, timeout: float) -> str:
    """Run a plugin as `_run` from a file in memory, because any directory may be mounted with noexec."""
    try:
        try:
            descriptor = os.memfd_create("plugin", os.MFD_CLOEXEC | _MFD_EXEC)
        except OSError:
            descriptor = os.memfd_create("plugin", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            write_all(stream, content)
            # The interpreter of a script opens it by path, and does not inherit the descriptor.
            return _run(f"/proc/{os.getpid()}/fd/{descriptor}", timeout)
    except (AttributeError, OSError):  # no memory files here
        return ""


def _run(path: str, timeout: float) -> str:
    """Return what a plugin prints if ``CNI_COMMAND`` is not set; an empty string if it cannot be run."""
    process.prepare()
    try:
        result = process.run([path], {}, b"", timeout)
    except OSError:  # such as a program for another architecture
        return ""
    return (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace")
