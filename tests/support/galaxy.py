# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Galaxy server on the loopback interface, as far as ansible-galaxy asks it to publish and to install one collection."""

from __future__ import annotations

import contextlib
import dataclasses
import email
import hashlib
import http.server
import json
import typing as t

from ansible_collections.cni.node.tests.support import web_server

TOKEN = "0123456789abcdef"
_VERSIONS = "/api/v3/collections/cni/node/versions"
_TASK = "/api/v3/imports/collections/1"


@dataclasses.dataclass
class Galaxy:
    """A server and the artifact that it has.

    Attributes:
        url: The server's address.
        artifact: The content of the artifact that was published last.
    """

    url: str = ""
    artifact: bytes = b""


@contextlib.contextmanager
def serve(version: str) -> t.Iterator[Galaxy]:
    """Serve cni.node in this version until the end of the block; `TOKEN` may publish it."""
    galaxy = Galaxy()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments: t.Any) -> None:
            pass

        def do_GET(self) -> None:
            path = self.path.partition("?")[0].rstrip("/")
            if path.endswith(".tar.gz"):
                self._send(200, galaxy.artifact)
            elif path in (answers := _list_answers(galaxy, version)):
                self._send(200, json.dumps(answers[path]).encode())
            else:
                self._send(404, b"{}")

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Authorization"] != f"Token {TOKEN}":
                self._send(401, b"{}")
                return
            parts = email.message_from_bytes(b"Content-Type: %b\n\n%b" % (self.headers["Content-Type"].encode(), form))
            (file,) = (part for part in parts.walk() if part.get_filename())
            galaxy.artifact = t.cast(bytes, file.get_payload(decode=True))
            self._send(202, json.dumps({"task": _TASK}).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with web_server.serve(Handler) as galaxy.url:
        yield galaxy


def _list_answers(galaxy: Galaxy, version: str) -> dict[str, t.Any]:
    """Return the server's answers by path."""
    path = f"{_VERSIONS}/{version}"
    return {
        "/api": {"available_versions": {"v3": "v3/"}},
        _TASK: {"state": "completed", "finished_at": "2026-01-01T00:00:00Z", "messages": []},
        _VERSIONS: {"data": [{"version": version}], "meta": {"count": 1}, "links": {"next": None}},
        path: {
            "namespace": {"name": "cni"},
            "collection": {"name": "node"},
            "version": version,
            "download_url": f"{galaxy.url}/cni-node-{version}.tar.gz",
            "artifact": {"sha256": hashlib.sha256(galaxy.artifact).hexdigest()},
            "metadata": {"dependencies": {}},
            "href": path,
            "signatures": [],
        },
    }
