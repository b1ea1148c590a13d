# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.checksums import PINNED

_RELEASE: t.Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
# The plugins of this release and later ones support this version of the specification. Those of earlier ones do not.
_FIRST_OF: t.Final = ((1, 6, 0), "1.1.0")
# Seconds. A plugin answers in some milliseconds.
_TIMEOUT: t.Final = 10.0
# Since Linux 6.3, what may be executed is called so; earlier kernels refuse the flag.
_MFD_EXEC: t.Final = 0x10


def is_to_be_proven(version: str, digests: t.Iterable[str]) -> bool:
    """Return whether a version names a release of the reference plugins, and no known digest says that it is that one."""
    return bool(_RELEASE.fullmatch(version)) and not any(_release_of(digest) == version for digest in digests)


def require_known(version: str, digest: str) -> None:
    """Refuse a version for an archive that is known to be another release.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    released = _release_of(digest)
    if released and _RELEASE.fullmatch(version) and released != version:
        raise _refusal(version, f"the digest of its archive is that of {released}")


def require_agreeing(version: str, name: str, content: bytes) -> None:
    """Refuse a version of the reference plugins that one of them contradicts; it is run for that.

    One that cannot be run on this node, or does not say what it is, contradicts nothing.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    from ansible_collections.cni.node.plugins.module_utils._reference import (
        catalogue,
    )  # only a node with SELinux needs it

    if not catalogue.row(name).is_reference:
        return
    about = _about(content)
    stated = re.search(rf"^CNI {name} plugin v(\d+\.\d+\.\d+)$", about, re.MULTILINE)
    if stated and stated[1] != version:
        raise _refusal(version, f"its plugin {name} says that it is {stated[1]}")
    supported = re.search(rf"^CNI {name} plugin .*\nCNI protocol versions supported: (.+)$", about, re.MULTILINE)
    if supported:
        _require_protocol(version, name, supported[1].split(", "))


def _require_protocol(version: str, name: str, supported: t.Sequence[str]) -> None:
    first, protocol = _FIRST_OF
    is_wanted = tuple(map(int, version.split("."))) >= first
    if is_wanted == (protocol in supported):
        return
    verb = "does not support" if is_wanted else "supports"
    since = f"releases of the reference plugins do since {'.'.join(map(str, first))}"
    raise _refusal(version, f"its plugin {name} {verb} version {protocol} of the specification, as {since}")


def _release_of(digest: str) -> str:
    """Return which release of the reference plugins has an archive of this digest, or an empty string."""
    plain = digest.rpartition("sha256:")[2]
    return next((version for version, digests in PINNED.items() if plain in digests.values()), "")


def _refusal(version: str, reason: str) -> CniError:
    return CniError(
        Code.INVALID_CONFIG,
        f"version: {version} is not the release's: {reason}",
        "correct the version or the source; give a build of your own a version of its own, such as "
        f"{version}-mine, or none",
    )


def _about(content: bytes) -> str:
    """Return what a plugin prints of itself where it is given no command, or an empty string."""
    from ansible_collections.cni.node.plugins.module_utils._base import process

    process.prepare()
    try:
        descriptor = _in_memory(content)
        try:
            # A script is opened by its interpreter, which has not got the descriptor.
            path = f"/proc/{os.getpid()}/fd/{descriptor}"
            outcome = process.run([path], {}, b"", _TIMEOUT)
        finally:
            os.close(descriptor)
    except (AttributeError, OSError):  # no such memory here, or made for another machine
        return ""
    return (outcome.stdout + b"\n" + outcome.stderr).decode("utf-8", "replace")


def _in_memory(content: bytes) -> int:
    """Return a descriptor of an executable file, wherever directories may be mounted without execution."""
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


__all__ = ("is_to_be_proven", "require_agreeing", "require_known")
