# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins: archives from a web server, fetched by the node."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socketserver
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.published import PINNED
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.releases import SMALL, contents, installed
from ansible_collections.cni.node.tests.integration.ansible.test_plugins import PLUGINS, actions
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, wait_for_result

OTHER = "sha256:" + "0" * 64


def test_an_archive_is_downloaded_once(node: EngineNode, project: Project, tmp_path: pathlib.Path) -> None:
    archive = releases.release(tmp_path / "www" / "plugins.tgz")
    with releases.served(archive.parent) as server:
        arguments = {
            "source": f"{server.url}/cni/plugins.tgz",
            "checksum": releases.checksum(archive, "sha512"),
            "version": "1",
        }
        played = project.play(thrice("install", PLUGINS, arguments)).succeeded()
    assert actions(played.require_converged("install")) == dict.fromkeys(SMALL, "installed")
    assert server.requests == ["/cni/plugins.tgz"] * 2, "once to look what is in it, once to install it"
    assert installed() == contents(*SMALL)


def test_a_configured_proxy_is_used(node: EngineNode, project: Project, tmp_path: pathlib.Path) -> None:
    archive = releases.release(tmp_path / "www" / "plugins.tgz", "static")
    with releases.served(archive.parent) as proxy:
        url = "http://mirror.invalid/plugins.tgz"
        arguments = {"source": url, "checksum": releases.checksum(archive)}
        played = project.play([task("install", PLUGINS, arguments)], environment={"http_proxy": proxy.url}).succeeded()
    assert played["install"].changed
    assert proxy.requests == [url]


def test_a_failed_download_gives_the_reason_and_changes_nothing(
    node: EngineNode, project: Project, tmp_path: pathlib.Path
) -> None:
    www = tmp_path / "www"
    releases.release(www / "good.tgz", "static")
    asset = www / f"cni-plugins-linux-{architecture()}-v1.9.1.tgz"
    asset.write_bytes(b"<html>Sign in to the guest network")
    pinned = f"sha256:{PINNED['1.9.1'][architecture()]}"
    with releases.served(www) as server:
        closed = server.url.replace("127.0.0.1", "127.0.0.2")
        sources = {
            "missing": {"source": f"{server.url}/none.tgz", "checksum": OTHER},
            "nobody": {"source": f"{closed}/good.tgz", "checksum": OTHER},
            "mirror": {"source": f"{server.url}/", "version": "1.9.1"},
            "digest": {"source": f"{server.url.replace('//', '//me:secret@')}/good.tgz", "checksum": OTHER},
            "no digest": {"source": f"{server.url}/good.tgz"},
        }
        played = project.play([task(name, PLUGINS, source) for name, source in sources.items()])
    for name in sources:
        assert "secret" not in played[name].require_no_change().msg
    played["missing"].require_failure(
        f"cannot download {server.url}/none.tgz: the server returned 404",
        "archive on the controller",
        "cni_node_plugins_source",
    )
    played["nobody"].require_failure(f"cannot download {closed}/good.tgz: ", "Connection refused")
    played["mirror"].require_failure(
        f"{server.url}/{asset.name} has the wrong digest", pinned, "an HTML page", "guest network"
    )
    played["digest"].require_failure(f"{server.url}/good.tgz", OTHER, releases.checksum(www / "good.tgz"))
    played["no digest"].require_failure("no digest is known for", "set checksum")
    assert "/good.tgz" not in server.requests[:2]


def architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


@contextlib.contextmanager
def endless_server(beginning: bytes) -> t.Iterator[str]:
    """Yield the URL of a server that sends one byte at a time without end."""
    ended = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.request.recv(65536)
                self.request.sendall(beginning)
                while not ended.wait(0.05):
                    self.request.sendall(b"x")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/plugins.tgz"
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "beginning",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "],
    ids=["body", "head"],
)
def test_a_download_is_limited_as_a_whole(node: EngineNode, beginning: bytes) -> None:
    with endless_server(beginning) as url:
        for check_mode in (True, False):
            process = node.start(
                "plugins", source=url, checksum=OTHER, timeout=30, download_timeout=1, _ansible_check_mode=check_mode
            )
            wait_for_result(process).require_failure(
                f"cannot download {url}: incomplete after 1 s, ",
                "raise download_timeout, or set source to an archive",
                "cni_plugins_source or cni_node_plugins_source",
            )
    assert list(node.cache_dir.iterdir()) == []
