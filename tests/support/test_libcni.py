# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`libcni-runner` and the reference test double `noop` report both sides of a call."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import build
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.noop import PASSTHROUGH, DebugFile

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,  # the first build
    pytest.mark.skipif(build.find_missing() is not None, reason=build.find_missing() or ""),
]

RESULT = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}], "dns": {}}


class Network(t.NamedTuple):
    libcni: Libcni
    first: DebugFile
    second: DebugFile
    item: JsonObject


@pytest.fixture
def network(tmp_path: pathlib.Path) -> Network:
    """Return a list of two noop plugins; the second takes port mappings."""
    first, second = DebugFile(tmp_path / "first"), DebugFile(tmp_path / "second")
    first.write(result=RESULT)
    second.write(result=PASSTHROUGH)
    plugins = [
        {"type": "noop", "debugFile": str(first.path)},
        {"type": "noop", "debugFile": str(second.path), "capabilities": {"portMappings": True}},
    ]
    configuration = {"cniVersion": "1.0.0", "name": "twice", "plugins": plugins}
    (tmp_path / "10-twice.conflist").write_text(json.dumps(configuration), encoding="utf-8")
    libcni = Libcni(build.libcni_runner(), str(tmp_path), (str(build.noop_plugin().parent),), str(tmp_path / "cache"))
    item = {
        "network": "twice",
        "container_id": "c1",
        "ifname": "eth0",
        "netns": "/run/netns/none",
        "args": {"B": "2", "A": "1"},
        "capability_args": {"portMappings": [{"hostPort": 8080}], "mac": "02:00:00:00:00:01"},
    }
    return Network(libcni, first, second, item)


def test_noop_records_the_request_of_libcni(network: Network) -> None:
    network.libcni.run("ADD", [network.item])
    sent = network.second.sent()
    assert sent is not None
    assert (sent.command, sent.container_id, sent.ifname) == ("ADD", "c1", "eth0")
    assert (sent.netns, sent.args) == ("/run/netns/none", "A=1;B=2")
    assert sent.request["runtimeConfig"] == {"portMappings": [{"hostPort": 8080}]}
    assert sent.request["prevResult"] == RESULT


def test_a_delete_from_the_cache_has_the_arguments_of_the_add(network: Network) -> None:
    assert network.libcni.run("ADD", [network.item]).results == [RESULT]
    bare = {key: value for key, value in network.item.items() if not key.endswith("args")}
    network.second.write()
    assert network.libcni.run("DEL", [bare], from_cache=True).results == [None]
    sent = network.second.sent()
    assert sent is not None
    assert (sent.command, sent.args) == ("DEL", "A=1;B=2")
    assert sent.request["runtimeConfig"] == {"portMappings": [{"hostPort": 8080}]}


def test_a_delete_from_the_file_has_only_the_items_arguments(network: Network) -> None:
    network.libcni.run("ADD", [network.item])
    network.second.write()
    network.libcni.run("DEL", [{**network.item, "args": {}, "capability_args": {}}])
    sent = network.second.sent()
    assert sent is not None
    assert (sent.args, sent.request.get("runtimeConfig")) == ("", None)


def test_records_are_shown_as_libcni_reads_them(network: Network) -> None:
    network.libcni.run("ADD", [network.item])
    (record,) = network.libcni.run("RECORDS", [network.item]).results
    assert record["config"]["name"] == "twice"
    assert record["args"] == [["A", "1"], ["B", "2"]]
    assert record["capability_args"] == network.item["capability_args"]
    assert record["result"] == RESULT
    network.libcni.run("DEL", [network.item])
    (error,) = network.libcni.run("RECORDS", [network.item]).errors
    assert error is not None
    assert error["msg"] == "libcni has no record of twice-c1-eth0"


def test_a_plugins_error_has_its_code_and_other_items_continue(network: Network) -> None:
    items = [{**network.item, "container_id": name} for name in ("c1", "-bad-", "c3")]
    report = network.libcni.run("ADD", items, workers=1)
    assert [error and error["code"] for error in report.errors] == [None, 4, None]
    assert [outcome["container_id"] for outcome in report.outcomes] == ["c1", "-bad-", "c3"]
    network.first.write(error="out of addresses")
    (error,) = network.libcni.run("ADD", items[:1]).errors
    assert error is not None
    assert error["msg"] == "out of addresses"
    assert error["text"] == 'plugin type="noop" failed (add): out of addresses'


def test_versions_come_from_the_plugin(network: Network) -> None:
    (versions,) = network.libcni.run("VERSION", [network.item]).results
    # Since libcni 1.2 its test double speaks 1.1.0 as well.
    assert versions["noop"][1:7] == ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"]


def test_a_second_build_does_nothing(tmp_path: pathlib.Path) -> None:
    program = build.noop_plugin()
    before = program.stat()
    assert build.noop_plugin() == program
    assert (program.stat().st_ino, program.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_build_error_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.Unavailable, match="install golang-go"):
        build.libcni_runner(tmp_path)
