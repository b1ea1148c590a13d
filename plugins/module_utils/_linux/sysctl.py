# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kernel settings: their keys, their values, and their files below ``/proc/sys``."""

from __future__ import annotations

import os
import re

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors

_ROOT = "/proc/sys"
_SIZE_LIMIT = 64 * 1024
_PART = re.compile(r"[a-zA-Z0-9_.:@+\-]+", re.ASCII)
_SWAPPED = str.maketrans("./", "/.")
# Aliases: the kernel has these settings under two names.
_SAME = {"net.ipv4.conf.all.forwarding": "net.ipv4.ip_forward"}


def canonical(key: str) -> str:
    """Return the canonical key of a setting, with dots between its parts.

    A dot within a part becomes a slash, as in sysctl.conf(5). Both aliases of a setting have the same canonical key.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    separator = re.search(r"[./]", key)
    path = key if separator and separator[0] == "/" else key.translate(_SWAPPED)
    parts = path.split("/")
    if len(parts) < 2 or any(part in (".", "..") or not _PART.fullmatch(part) for part in parts):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{key!r} is not a kernel setting",
            "expected: a name below /proc/sys such as net.ipv4.ip_forward or net/ipv4/ip_forward",
        )
    name = path.translate(_SWAPPED)
    return _SAME.get(name, name)


def normal(value: object) -> str:
    """Return a value in the form of `read`: fields are separated by one space.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if not text.strip() or not text.replace("\t", " ").isprintable():
        raise CniError(
            Code.INVALID_CONFIG,
            f"{value!r} is not a value of a kernel setting",
            "expected: a number or one line of text",
        )
    return " ".join(text.split())


def read(key: str) -> str | None:
    """Return the normalized value of a setting; None if the kernel does not have it.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _read(path_of(key))


def read_at(path: str) -> str | None:
    """Return the normalized value of the setting at a path below ``/proc/sys``; None if the kernel does not have it.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _read(f"{_ROOT}/{path}")


def _read(path: str) -> str | None:
    try:
        content = durable.read(path, limit=_SIZE_LIMIT)
    except CniError:
        # Not asked before: with hundreds of network namespaces, it takes the kernel 0.1 ms to find a path in /proc/sys/net.
        if not os.path.isfile(path):
            return None
        raise
    return None if content is None else " ".join(content.decode("utf-8", "replace").split())


def write_at(path: str, value: str) -> None:
    """Set the value at a path below ``/proc/sys``, in the network namespace of this thread.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    _write(f"{_ROOT}/{path}", value)


def write(key: str, value: str) -> None:
    """Set a value and check that the kernel accepted it unchanged.

    Raises:
        CniError: ``INVALID_CONFIG``, ``IO_FAILURE``.
    """
    _write(path_of(key), value)
    current = read(key)
    if current != value:
        raise CniError(
            Code.INVALID_CONFIG,
            f"{key}: the kernel changed {value!r} to {current!r}",
            "use the value as the kernel shows it",
        )


def _write(path: str, value: str) -> None:
    with io_errors(f"write {value!r} to", path), open(path, "wb", buffering=0) as stream:
        stream.write(f"{value}\n".encode())


def is_writable(key: str) -> bool:
    return os.access(path_of(key), os.W_OK)


def has_directory(key: str) -> bool:
    """Return whether the directory of a setting exists."""
    return os.path.isdir(os.path.dirname(path_of(key)))


def path_of(key: str) -> str:
    """Return the path of a setting, by its canonical key."""
    return os.path.join(_ROOT, key.translate(_SWAPPED))
