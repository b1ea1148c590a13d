# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Archives of the distribution's plugins in upstream's form."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import io
import pathlib
import tarfile
import typing as t

from ansible_collections.cni.node.tests.support import web_server

BIN_DIR = pathlib.Path("/opt/cni/bin")
STORE = pathlib.Path("/var/lib/cni/cni.node/plugins")
REFERENCE = next(
    (path for path in map(pathlib.Path, ("/usr/lib/cni", "/usr/libexec/cni")) if (path / "bridge").exists()),
    pathlib.Path("/usr/lib/cni"),
)
SMALL = ("loopback", "static", "tuning")


def contents(*names: str, revision: str = "") -> dict[str, bytes]:
    """Return the plugins by name; a revision changes the files and not their behaviour."""
    return {name: (REFERENCE / name).read_bytes() + revision.encode() for name in names}


def pack(path: pathlib.Path, files: t.Mapping[str, bytes]) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        root = tarfile.TarInfo("./")
        root.type = tarfile.DIRTYPE
        archive.addfile(root)
        for name, content in {**files, "LICENSE": b"Apache", "README.md": b"# plugins\n"}.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size, info.mode = len(content), 0o755 if name in files else 0o644
            archive.addfile(info, io.BytesIO(content))
    return path


def release(path: pathlib.Path, *names: str, revision: str = "") -> pathlib.Path:
    return pack(path, contents(*(names or SMALL), revision=revision))


def checksum(path: pathlib.Path, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, path.read_bytes()).hexdigest()}"


def installed() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(BIN_DIR.iterdir())}


class Server(t.NamedTuple):
    url: str
    requests: list[str]


@contextlib.contextmanager
def served(directory: pathlib.Path, credentials: str = "") -> t.Iterator[Server]:
    """Serve files on the loopback interface. Used as a proxy, the server answers for every host name.

    With credentials, "name:password", the server requires them.
    """
    authorization = f"Basic {base64.b64encode(credentials.encode()).decode()}" if credentials else None
    requests: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: t.Any) -> None:
            super().__init__(*arguments, directory=str(directory))

        def log_message(self, *arguments: t.Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.headers["Authorization"] != authorization:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="plugins"')
                self.end_headers()
                return
            requests.append(self.path)
            self.path = "/" + self.path.rpartition("/")[2]
            super().do_GET()

    with web_server.serve(Handler) as url:
        yield Server(url, requests)
