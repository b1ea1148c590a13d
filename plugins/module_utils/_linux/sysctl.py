# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error

_ROOT = "/proc/sys"
_SIZE_LIMIT: t.Final = 64 * 1024
_PART = re.compile(r"[a-zA-Z0-9_.:@+\-]+", re.ASCII)
_SWAPPED = str.maketrans("./", "/.")
# What the kernel has under two names is known by one here.
_SAME: t.Final = {"net.ipv4.conf.all.forwarding": "net.ipv4.ip_forward"}


def canonical(key: str) -> str:
    """Return a setting's key with dots between its parts; a dot within a part is a slash then, as sysctl.conf(5) has it.

    Of two names of one setting, it is always the same.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    separator = re.search(r"[./]", key)
    path = key if separator and separator[0] == "/" else key.translate(_SWAPPED)
    parts = path.split("/")
    if len(parts) < 2 or any(part in (".", "..") or not _PART.fullmatch(part) for part in parts):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{key!r} is no key of a kernel setting",
            "expected: a name below /proc/sys such as net.ipv4.ip_forward or net/ipv4/ip_forward",
        )
    name = path.translate(_SWAPPED)
    return _SAME.get(name, name)


def normal(value: object) -> str:
    """Return a value in the form in which `read` gives it: numbers are one space apart.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if not text.strip() or not text.replace("\t", " ").isprintable():
        raise CniError(
            Code.INVALID_CONFIG, f"{value!r} is no value of a kernel setting", "expected: a number or one line"
        )
    return " ".join(text.split())


def read(key: str) -> str | None:
    """Return a setting's value in its normal form; nothing where the kernel has no such setting.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = path_of(key)
    content = durable.read(path, limit=_SIZE_LIMIT) if os.path.isfile(path) else None
    return None if content is None else " ".join(content.decode("utf-8", "replace").split())


def write(key: str, value: str) -> None:
    """Set a value and see that the kernel took it as it is.

    Raises:
        CniError: ``INVALID_CONFIG``, ``IO_FAILURE``.
    """
    path = path_of(key)
    try:
        with open(path, "wb", buffering=0) as stream:
            stream.write(f"{value}\n".encode())
    except OSError as exc:
        raise io_error(f"write {value!r} to", path, exc) from exc
    taken = read(key)
    if taken != value:
        raise CniError(
            Code.INVALID_CONFIG,
            f"{key}: the kernel made {taken!r} of {value!r}",
            "give the value as the kernel shows it",
        )


def is_writable(key: str) -> bool:
    return os.access(path_of(key), os.W_OK)


def has_directory(key: str) -> bool:
    """Tell whether the kernel has the group of settings that this one would be in."""
    return os.path.isdir(os.path.dirname(path_of(key)))


def path_of(key: str) -> str:
    """Return the file of a setting, by its canonical key."""
    return os.path.join(_ROOT, key.translate(_SWAPPED))


__all__ = ("canonical", "has_directory", "is_writable", "normal", "path_of", "read", "write")
