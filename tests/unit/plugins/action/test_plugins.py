# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of plugins: which calls and files a node gets, and how often."""

from __future__ import annotations

import gzip
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.cni.node.plugins.action.plugins import ActionModule
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.test_archive import (
    CRAFTED,
    MEMORY_KIB,
    header,
)

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


class PluginsAction(ActionModule):
    """The action with a fake node, which has the plugins already (`has_it`) or requests `needed`."""

    has_it = False
    needed = "content"
    requests: list[JsonObject]
    sent: dict[str, bytes]

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        self.requests.append(keywords["module_args"])
        sent = keywords["module_args"].get("_controller", {})
        is_sent = any({"listing", "archive"} & keys.keys() for keys in sent.values())
        needed = None if self.has_it or is_sent else dict.fromkeys(sent, self.needed)
        return {"needed": needed, "msg": "from the node"}

    def _make_tmp_path(self, remote_user: str | None = None) -> str:
        return "/node/tmp"

    def _transfer_file(self, local_path: str, remote_path: str) -> str:
        self.sent[remote_path] = pathlib.Path(local_path).read_bytes()
        return remote_path

    def _fixup_perms2(self, *arguments: t.Any, **keywords: t.Any) -> None:
        pass


class PluginsController:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self._loader = DataLoader()
        self._loader.set_basedir(str(directory))

    def run(
        self, arguments: JsonObject, *, check_mode: bool = False, has_it: bool = False, needed: str = "content"
    ) -> tuple[JsonObject, PluginsAction]:
        task: t.Any = types.SimpleNamespace(
            args=arguments,
            async_val=0,
            check_mode=check_mode,
            diff=False,
            get_search_path=lambda: [str(self.directory)],
        )
        shell = types.SimpleNamespace(tmpdir=None, join_path="{}/{}".format)
        connection: t.Any = types.SimpleNamespace(_shell=shell)
        templar = Templar(loader=self._loader, variables={})
        action = PluginsAction(task, connection, t.cast("t.Any", types.SimpleNamespace()), self._loader, templar, None)
        action.requests, action.sent, action.has_it = [], {}, has_it
        action.needed = needed
        return action.run(task_vars={}), action


@pytest.fixture
def controller(tmp_path: pathlib.Path) -> PluginsController:
    (tmp_path / "files" / "mine").mkdir(parents=True)
    for name in ("bridge", "ptp"):
        path = tmp_path / "files" / "mine" / name
        path.write_text(name, encoding="ascii")
        path.chmod(0o700)
    with tarfile.open(tmp_path / "files" / "x.tgz", "w:gz") as archive:
        archive.add(tmp_path / "files" / "mine" / "bridge", "bridge")
    return PluginsController(tmp_path)


def digest(controller: PluginsController) -> str:
    return f"sha256:{hashlib.sha256((controller.directory / 'files' / 'x.tgz').read_bytes()).hexdigest()}"


@pytest.mark.parametrize("source", ["x.tgz", "mine"])
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_node_that_has_the_archive_gets_one_call_and_no_file(
    controller: PluginsController, source: str, check_mode: bool
) -> None:
    result, action = controller.run({"source": source}, check_mode=check_mode, has_it=True)
    assert result["msg"] == "from the node"
    (request,) = action.requests
    assert request["_controller"]["reference"].keys() == {"digest"}
    assert action.sent == {}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_node_without_the_archive_is_sent_the_archive(controller: PluginsController, check_mode: bool) -> None:
    dummy, action = controller.run({"source": "x.tgz", "keep": 2}, check_mode=check_mode)
    known = {"reference": {"digest": digest(controller)}}
    sent = {"reference": {"digest": digest(controller), "archive": "/node/tmp/source-reference"}}
    assert [request["_controller"] for request in action.requests] == [known, sent]
    assert action.sent == {"/node/tmp/source-reference": (controller.directory / "files" / "x.tgz").read_bytes()}
    assert {request["keep"] for request in action.requests} == {2}


def test_sources_of_several_sets_are_sent_in_one_call(controller: PluginsController) -> None:
    sets = [
        {"name": "tap", "source": "mine"},
        {"name": "old", "source": "none.tgz", "state": "absent"},
        {"name": "flannel", "version": "1.9.1-flannel3"},
    ]
    dummy, action = controller.run({"source": "x.tgz", "sets": sets})
    assert [request["_controller"].keys() for request in action.requests] == [{"reference", "tap"}] * 2
    assert action.sent.keys() == {"/node/tmp/source-reference", "/node/tmp/source-tap"}


def test_a_missing_source_is_named_with_its_set(controller: PluginsController) -> None:
    result, action = controller.run({"sets": [{"name": "tap", "source": "none.zip"}]})
    assert result["msg"].startswith("set tap: source: none.zip does not exist on the controller")
    assert action.requests == []


def test_credentials_of_a_set_are_moved_to_hidden_options(controller: PluginsController) -> None:
    dummy, action = controller.run({"sets": [{"name": "tap", "source": "https://me:secret@mirror/tap.zip"}]})
    (item,) = action.requests[0]["sets"]
    assert (item["source"], item["url_username"], item["url_password"]) == ("https://mirror/tap.zip", "me", "secret")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("https://mirror/tap.zip?sig=secret", "https://mirror/tap.zip?sig=***"),
        ("https://secret@mirror/tap.zip", "https://***@mirror/tap.zip"),
    ],
)
def test_a_url_with_a_secret_is_sent_in_a_hidden_option(controller: PluginsController, source: str, shown: str) -> None:
    arguments = {"source": source, "sets": [{"name": "tap", "source": source}, {"name": "x", "source": "https://m/x"}]}
    dummy, action = controller.run({**arguments, "_urls": {"x": "https://forged"}})
    sent = action.requests[0]
    assert sent.pop("_urls") == {"reference": source, "tap": source}
    assert (sent["source"], sent["sets"][0]["source"], sent["sets"][1]["source"]) == (shown, shown, "https://m/x")
    assert "secret" not in str(sent)


def test_names_and_digests_are_sent_if_the_content_is_not_needed(controller: PluginsController) -> None:
    for source, names in {"x.tgz": ["bridge"], "mine": ["bridge", "ptp"]}.items():
        dummy, action = controller.run({"source": source}, check_mode=True, needed="listing")
        listing = {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
        assert action.requests[1]["_controller"]["reference"]["listing"] == listing
        assert action.sent == {}


def test_a_directory_is_sent_as_an_archive_of_its_plugins(controller: PluginsController) -> None:
    (controller.directory / "files" / "mine" / "notes").write_text("no plugin", encoding="ascii")
    dummy, action = controller.run({"source": "mine"})
    (content,) = action.sent.values()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert {member.name: member.mode for member in archive} == {"bridge": 0o755, "ptp": 0o755}


@pytest.mark.parametrize(
    "arguments",
    [
        {"version": "1.9.1"},
        {"source": "https://mirror/x.tgz"},
        {"source": "/srv/x.tgz", "remote_src": "yes"},
        {"source": "none.tgz", "state": "absent"},
    ],
    ids=str,
)
def test_a_source_that_the_node_fetches_is_not_read_on_the_controller(
    controller: PluginsController, arguments: JsonObject
) -> None:
    dummy, action = controller.run({**arguments, "_controller": {"digest": "forged"}})
    assert action.requests == [arguments]


BAD: dict[str, tuple[JsonObject, str]] = {
    "misspelt": (
        {"source": "htps://me:pw@m/x.tgz"},
        "source: the URL begins with htps://; expected: http:// or https://",
    ),
    "misspelt in a set": (
        {"version": "1.9.1", "sets": [{"name": "tap", "source": "http:/m/x"}]},
        "set tap: source: the URL has no valid scheme",
    ),
    "misspelt, on the node": ({"source": "https://m:x/a", "remote_src": True}, "source: the URL has an invalid port"),
    "missing": (
        {"source": "none.tgz"},
        "source: none.tgz does not exist on the controller; set its absolute path, or begin with https:// if",
    ),
    "digest": ({"source": "x.tgz", "checksum": "sha256:" + "0" * 64}, "x.tgz has the wrong digest"),
    "version": ({"source": "x.tgz", "version": "1.7.0"}, "version 1.7.0 of the reference plugins is refused"),
    "a version as a number": (
        {"source": "x.tgz", "version": 1.1},
        "version: 1.1 is a number, whose last digit may be lost",
    ),
    "a version of a set as a number": (
        {"sets": [{"name": "flannel", "version": 1.8}]},
        "sets: flannel: version: 1.8 is a number, whose last digit may be lost, as 1.10 is 1.1; expected: text, in quotes",
    ),
    "digest of a directory": (
        {"source": "mine", "checksum": "sha256:" + "0" * 64},
        "files/mine is a directory; a checksum is allowed for archives only",
    ),
    "nothing in it": (
        {"source": "."},
        "has no plugin; expected: executable regular files\nfor a source on the node, set remote_src",
    ),
    "its machine": ({"source": "."}, "source on the controller: "),
    "no such file": (
        {"source": "/none"},
        "for a source on the node, set remote_src (in a role: cni_plugins_remote_src or",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_an_error_is_reported_before_the_node_is_called(
    controller: PluginsController, arguments: JsonObject, message: str
) -> None:
    result, action = controller.run(arguments)
    assert result["failed"]
    assert message in result["msg"]
    assert result["error"].keys() == {"code", "msg", "details"}
    assert action.requests == []


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "problem"), CRAFTED.values(), ids=CRAFTED)
def test_a_crafted_archive_is_refused_by_its_name_and_not_sent(
    tmp_path: pathlib.Path, content: bytes, problem: str, compress: t.Callable[[bytes], bytes]
) -> None:
    """The controller reads the archive, because a node that has other files of the plugins needs a listing."""
    path = tmp_path / "crafted.tgz"
    path.write_bytes(compress(content))
    result, action = PluginsController(tmp_path).run({"source": str(path)}, needed="listing")
    assert (result["failed"], action.sent, len(action.requests)) == (True, {}, 1)
    assert str(path) in result["msg"]
    assert problem in result["msg"]


HUNGRY = """
import pathlib, resource, sys
from ansible_collections.cni.node.tests.unit.plugins.action.test_plugins import PluginsController
path = pathlib.Path(sys.argv[1])
PluginsController(path.parent).run({"source": "none.tgz"})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(PluginsController(path.parent).run({"source": str(path)}, needed="listing")[0]["msg"].splitlines()[0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", [b"x", b"L", b"g"])
def test_a_large_archive_header_does_not_fill_the_controllers_memory(tmp_path: pathlib.Path, kind: bytes) -> None:
    path, size = tmp_path / "a.tgz", 300_000_000
    with gzip.open(path, "wb", 1) as stream:
        stream.write(header(kind, size))
        for dummy in range(size // 1_000_000):
            stream.write(bytes(1_000_000))
    done = subprocess.run([sys.executable, "-c", HUNGRY, str(path)], check=True, capture_output=True, text=True)
    message, grown = done.stdout.splitlines()[-2:]
    assert "a.tgz cannot be unpacked: it has an extension header of 300000000 bytes" in message
    assert int(grown) < MEMORY_KIB
