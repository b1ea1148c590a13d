# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The download of an archive of plugins into a private file, limited as a whole."""

from __future__ import annotations

import functools
import http.client
import os
import typing as t
import urllib.error

from ansible.module_utils.urls import open_url

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.url import hide, hide_in_text
from ansible_collections.cni.node.plugins.module_utils._node.files import private as private_file

_CHUNK = 64 * 1024
_OTHER_SOURCE = "set source to an archive on the controller (in a role: cni_plugins_source or cni_node_plugins_source)"
_ADVICE = f"check that the node can reach the server, or {_OTHER_SOURCE}"
_TIME_ADVICE = (
    f"raise download_timeout, or {_OTHER_SOURCE}; the roles' time limits are cni_plugins_download_timeout and"
    " cni_node_download_timeout"
)


def download(url: str, credentials: tuple[str, str], directory: str, timeout: float, limit: float) -> t.IO[bytes]:
    """Download a file into a private file, through the node's proxies if it has any.

    Args:
        credentials: A user name and a password for a server that requires them.
        directory: See `private_file.create`.
        timeout: Seconds that the transfer may pause.
        limit: Seconds for the whole download, name resolution included.

    Raises:
        CniError: ``LIMITED_CONNECTIVITY``, ``IO_FAILURE``.
    """
    file = private_file.create(directory)
    outcome: list[Exception | None] = []

    def receive() -> None:
        try:
            for chunk in _read(url, credentials, timeout):
                private_file.append(file, chunk, directory)
            outcome.append(None)
        except Exception as exc:  # raised again in the waiting thread, unless it has given up and closed the file
            outcome.append(exc)

    # The download may block in its thread, for example in name resolution. The main thread only waits until the limit.
    with io_errors("start", "a thread for the download"):
        worker = workers.start_thread(receive, is_daemon=True)
    worker.join(limit)
    size = os.fstat(file.fileno()).st_size
    error = (
        outcome[0] if outcome else _failure(url, f"incomplete after {limit:g} s, {size} bytes received", _TIME_ADVICE)
    )
    if error:
        file.close()
        raise error
    return file


def _read(url: str, credentials: tuple[str, str], timeout: float) -> t.Iterator[bytes]:
    """Yield the content that the server sends, in pieces."""
    username, password = credentials
    login = {"url_username": username or None, "url_password": password}
    try:
        response: t.Any = open_url(url, timeout=timeout, http_agent="cni.node", decompress=False, **login)
    except urllib.error.HTTPError as exc:
        raise _failure(url, f"the server returned {exc.code} {exc.reason}") from exc
    except (OSError, ValueError, http.client.HTTPException) as exc:
        raise _failure(url, str(getattr(exc, "reason", exc))) from exc
    size = 0
    try:
        for chunk in iter(functools.partial(response.read1, _CHUNK), b""):
            size += len(chunk)
            if size > private_file.SIZE_LIMIT:
                raise _failure(url, f"it is larger than {private_file.SIZE_LIMIT} bytes")
            yield chunk
    except (OSError, http.client.HTTPException) as exc:
        raise _failure(url, f"the connection was lost: {exc or type(exc).__name__}") from exc


def _failure(url: str, reason: str, advice: str = _ADVICE) -> CniError:
    # A redirection may lead to a signed URL.
    return CniError(Code.LIMITED_CONNECTIVITY, f"cannot download {hide(url)}: {hide_in_text(reason)}", advice)
