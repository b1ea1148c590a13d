# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import http.client
import os
import tempfile
import typing as t
import urllib.error

from ansible.module_utils.urls import open_url

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._node.plugin_release import without_password

_CHUNK: t.Final = 1024 * 1024
_LIMIT: t.Final = 512 * 1024 * 1024


def download(url: str, directory: str, timeout: float) -> str:
    """Fetch a file through the node's proxies, if it has any, and return its path.

    Args:
        directory: Where the file is put; removing it is the caller's.
        timeout: Seconds in which something has to come.

    Raises:
        CniError: ``LIMITED_CONNECTIVITY``, ``IO_FAILURE``.
    """
    shown = without_password(url)
    try:
        response = open_url(url, timeout=timeout, http_agent="cni.node", decompress=False)
    except urllib.error.HTTPError as exc:
        raise _failure(shown, f"the server answers {exc.code} {exc.reason}") from exc
    except (OSError, ValueError, http.client.HTTPException) as exc:
        raise _failure(shown, str(getattr(exc, "reason", exc))) from exc
    descriptor, path = tempfile.mkstemp(prefix="cni.node-", dir=directory)
    with open(descriptor, "wb") as stream:
        _receive(response, stream, shown)
    return path


def _receive(response: t.Any, stream: t.IO[bytes], shown: str) -> None:
    size = 0
    while chunk := _next(response, shown):
        size += len(chunk)
        if size > _LIMIT:
            raise _failure(shown, f"it has more than {_LIMIT} bytes")
        try:
            stream.write(chunk)
        except OSError as exc:
            raise io_error("write", os.path.dirname(str(stream.name)), exc) from exc


def _next(response: t.Any, shown: str) -> bytes:
    try:
        return t.cast(bytes, response.read(_CHUNK))
    except (OSError, http.client.HTTPException) as exc:
        raise _failure(shown, f"it broke off: {exc or type(exc).__name__}") from exc


def _failure(shown: str, reason: str) -> CniError:
    return CniError(
        Code.LIMITED_CONNECTIVITY,
        f"cannot download {shown}: {reason}",
        "see whether the node reaches it, or give an archive on the controller as source",
    )


__all__ = ("download",)
