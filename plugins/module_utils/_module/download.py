# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Download a file to the node within a time limit."""

from __future__ import annotations

import http.client
import threading
import typing as t
import urllib.error

from ansible.module_utils.urls import open_url

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.files import private as private_file
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import Credentials

_CHUNK: t.Final = 64 * 1024
_OTHER_SOURCE: t.Final = (
    "set source to an archive on the controller (in a role: cni_plugins_source or cni_node_plugins_source)"
)
_ADVICE: t.Final = f"check that the node can reach the server, or {_OTHER_SOURCE}"
_TIME_ADVICE: t.Final = (
    f"raise download_timeout, or {_OTHER_SOURCE}; the roles' time limits are cni_plugins_download_timeout and"
    " cni_node_download_timeout"
)


def download(url: str, credentials: Credentials, directory: str, timeout: float, limit: float) -> t.IO[bytes]:
    """Download a file into a private file, through the node's proxies if it has any.

    Args:
        credentials: For a server that requires them.
        directory: See `private_file.create`.
        timeout: Seconds that the transfer may pause.
        limit: Seconds for the whole download, name resolution included.

    Raises:
        CniError: ``LIMITED_CONNECTIVITY``, ``IO_FAILURE``.
    """
    transfer = _Transfer(url, credentials, directory, timeout)
    # The download may block in this thread, for example in name resolution. The main thread only waits until the limit.
    worker = threading.Thread(target=transfer.run, daemon=True)
    worker.start()
    worker.join(limit)
    return transfer.result(limit)


class _Transfer:
    """One download, in a thread of its own."""

    def __init__(self, url: str, credentials: Credentials, directory: str, timeout: float) -> None:
        self._url, self._credentials, self._directory, self._timeout = url, credentials, directory, timeout
        self._file = private_file.create(directory)
        self._size = 0
        self._ended = threading.Event()
        self._abandoned = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._receive(self._open())
        except Exception as exc:  # raised again in the waiting thread
            self._error = exc
        finally:
            self._ended.set()

    def result(self, limit: float) -> t.IO[bytes]:
        if not self._ended.is_set():
            self._abandoned.set()
            self._file.close()
            raise self._failure(f"incomplete after {limit:g} s, {self._size} bytes received", _TIME_ADVICE)
        if self._error:
            self._file.close()
            raise self._error
        return self._file

    def _open(self) -> t.Any:
        try:
            return open_url(
                self._url,
                timeout=self._timeout,
                url_username=self._credentials.username or None,
                url_password=self._credentials.password,
                http_agent="cni.node",
                decompress=False,
            )
        except urllib.error.HTTPError as exc:
            raise self._failure(f"the server returned {exc.code} {exc.reason}") from exc
        except (OSError, ValueError, http.client.HTTPException) as exc:
            raise self._failure(str(getattr(exc, "reason", exc))) from exc

    def _receive(self, response: t.Any) -> None:
        while not self._abandoned.is_set():
            chunk = self._next(response)
            if not chunk:
                return
            self._size += len(chunk)
            if self._size > private_file.SIZE_LIMIT:
                raise self._failure(f"it is larger than {private_file.SIZE_LIMIT} bytes")
            private_file.append(self._file, chunk, self._directory)

    def _next(self, response: t.Any) -> bytes:
        try:
            return t.cast(bytes, response.read1(_CHUNK))
        except (OSError, http.client.HTTPException) as exc:
            raise self._failure(f"the connection was lost: {exc or type(exc).__name__}") from exc

    def _failure(self, reason: str, advice: str = _ADVICE) -> CniError:
        return CniError(Code.LIMITED_CONNECTIVITY, f"cannot download {self._url}: {reason}", advice)


__all__ = ("download",)
