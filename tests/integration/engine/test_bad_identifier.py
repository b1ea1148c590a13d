# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid identifiers and namespaces are refused before a plugin runs or a file is written."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import identifier
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import mount
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

INVALID_ENVIRONMENT, INVALID_CONFIG = 4, 7
NAME_RULE = "expected: a letter or digit, then letters, digits, '_', '.' or '-'"
IFNAME_RULE = f"expected: {identifier.IFNAME_RULE}"


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(reference_networks.network(reference_networks.bridge()))
    return attachment("net", blue)


ODD_NAMES = ["../x", "a/b", "/abs", "-x", ".x", "a b", "a\nb", "näme", "a\x00b", "a;b", "$(id)"]
ODD_IFNAMES = ["", ".", "..", "a/b", "a:b", "a b", "a\tb", "sixteen-letters-", "éééééééé", "a\x00b"]
either_state = pytest.mark.parametrize("state", ["present", "absent"])


def check(errors: list[JsonObject], code: int, expected: list[str], rule: str) -> None:
    """Compare each error with its expected text, followed by the violated rule."""
    assert [error["code"] for error in errors] == [code] * len(expected)
    assert [error["text"] for error in errors] == [f"{text}; {rule}" for text in expected]


@either_state
def test_an_invalid_network_name_is_refused(node: EngineNode, item: JsonObject, state: str) -> None:
    named = [{**item, "network": name, "ifname": f"eth{number}"} for number, name in enumerate(ODD_NAMES)]
    errors = node.refusals([{**entry, "state": state} for entry in named])
    check(errors, INVALID_CONFIG, [f"network: {name!r} is not a network name" for name in ODD_NAMES], NAME_RULE)


@either_state
def test_an_invalid_container_id_is_refused(node: EngineNode, item: JsonObject, state: str) -> None:
    errors = node.refusals([{**item, "container_id": name, "state": state} for name in ODD_NAMES])
    texts = [f"CNI_CONTAINERID: {name!r} is not a container id" for name in ODD_NAMES]
    check(errors, INVALID_ENVIRONMENT, texts, NAME_RULE)


@either_state
def test_an_invalid_interface_name_is_refused(node: EngineNode, item: JsonObject, state: str) -> None:
    errors = node.refusals([{**item, "ifname": name, "state": state} for name in ODD_IFNAMES])
    texts = [f"CNI_IFNAME: {name!r} is not an interface name" for name in ODD_IFNAMES]
    check(errors, INVALID_ENVIRONMENT, texts, IFNAME_RULE)


def test_names_too_long_for_one_file_name_are_refused(node: EngineNode, item: JsonObject) -> None:
    error = node.refusal({**item, "container_id": "c" * 250}, "are too long in total", "expected: ")
    assert error["code"] == INVALID_ENVIRONMENT


def test_ambiguous_arguments_are_refused(node: EngineNode, item: JsonObject) -> None:
    odd = [{"A": "x;B=y"}, {"A;B": "x"}, {"A": "x=y"}, {"": "x"}, {"A": "x\x00y"}]
    errors = node.refusals([{**item, "ifname": f"eth{number}", "args": args} for number, args in enumerate(odd)])
    wrong = ["the value of 'A' is not valid", "'A;B' is not a valid key", "the value of 'A' is not valid"]
    texts = [f"CNI_ARGS: {what}" for what in [*wrong, "'' is not a valid key", "the value of 'A' is not valid"]]
    check(errors, INVALID_ENVIRONMENT, texts, "expected: strings without ';' and '=', the key not empty")


def test_one_attachment_given_twice_is_refused_before_anything_is_done(node: EngineNode, item: JsonObject) -> None:
    before = node.state()
    done = node.run("attachments", attachments=[item, {**item, "args": {"A": "1"}}])
    done.require_failure("attachments[0]: the attachment of blue (eth0) to network net is given twice")
    assert before.difference(node.state()) == ""


def test_one_bad_item_does_not_stop_the_others(node: EngineNode, item: JsonObject) -> None:
    done = node.run("attachments", attachments=[{**item, "ifname": "a/b"}, item])
    done.require_failure("CNI_IFNAME: 'a/b' is not an interface name")
    assert [entry["action"] for entry in done.entries] == ["failed", "added"]
    assert done.result["changed"] is True


MISSING = ("does not exist", "create it first, for example with the module cni.node.netns")
NO_NAMESPACE = (
    "is not a network namespace",
    "if a removed namespace left the file behind, remove it and create the namespace again",
)
OWN = ("is the node's own network namespace", "expected: the network namespace of the container")
NOT_A_CONTAINERS = {
    "/run/netns/nothing": MISSING,
    "/run/netns/link": MISSING,
    "/run/netns/file": NO_NAMESPACE,
    "/run/netns/directory": NO_NAMESPACE,
    "/run/netns/pipe": NO_NAMESPACE,
    "/dev/null": NO_NAMESPACE,
    "/proc/self/ns/mnt": NO_NAMESPACE,
    "/proc/1/ns/pid": NO_NAMESPACE,
    "/proc/1/ns/net": OWN,
    "/proc/self/ns/net": OWN,
    "/proc/thread-self/ns/net": OWN,
}


def test_a_path_that_is_not_a_containers_namespace_is_refused(node: EngineNode, item: JsonObject) -> None:
    named = pathlib.Path("/run/netns")
    named.joinpath("link").symlink_to("/nonexistent")
    named.joinpath("file").touch()
    named.joinpath("directory").mkdir()
    os.mkfifo(named / "pipe")
    paths = enumerate(NOT_A_CONTAINERS)
    errors = node.refusals([{**item, "netns": path, "container_id": f"c{number}"} for number, path in paths])
    for error, (path, (problem, advice)) in zip(errors, NOT_A_CONTAINERS.items()):
        assert (error["code"], error["text"]) == (INVALID_ENVIRONMENT, f"CNI_NETNS: {path} {problem}; {advice}")


def test_the_nodes_own_namespace_is_refused_under_any_name(node: EngineNode, item: JsonObject) -> None:
    path = pathlib.Path("/run/netns/own")
    path.touch()
    with mount("--bind", "/proc/self/ns/net", str(path)):
        node.refusal({**item, "netns": "own"}, f"{path} is the node's own network namespace")


ODD_NAMESPACES = ["", ".", "..", "../netns/blue", "a/b", "a b", "-x", "a\nb"]


@either_state
def test_an_invalid_namespace_name_is_refused(node: EngineNode, item: JsonObject, state: str) -> None:
    items = [{**item, "state": state, "netns": name, "ifname": f"eth{n}"} for n, name in enumerate(ODD_NAMESPACES)]
    errors = node.refusals(items)
    for error, name in zip(errors, ODD_NAMESPACES):
        assert error["code"] == INVALID_ENVIRONMENT
        assert error["text"].startswith(f"{name!r} is not a network namespace name; expected: a file name")


@pytest.mark.parametrize("name", ["../x", "a b"])
def test_no_namespace_is_created_under_an_invalid_name(node: EngineNode, name: str) -> None:
    before = node.state()
    node.run("netns", names=["fine", name]).require_failure(
        f"{name!r} is not a network namespace name", "expected: a file name"
    )
    assert before.difference(node.state()) == ""


def test_a_namespace_may_be_given_by_name_path_or_pid(node: EngineNode, item: JsonObject, blue: Namespace) -> None:
    """Use all three for one namespace; the recorded path stays that of the first ADD."""
    with subprocess.Popen(blue.argv("sleep", "60")) as process:
        try:
            path = f"/proc/{process.pid}/ns/net"
            _until_inside(path, blue)
            assert node.attach({**item, "netns": path, "container_id": "by-process"})[0]["action"] == "added"
            assert "eth0" in blue.links()
            node.detach({**item, "netns": path, "container_id": "by-process"})
        finally:
            process.kill()
    assert node.attach({**item, "netns": "blue"})[0]["action"] == "added"
    assert node.attach(item)[0]["action"] == "checked"


def _until_inside(path: str, namespace: Namespace) -> None:
    until(lambda: os.path.samestat(os.stat(path), namespace.path.stat()) or None)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"workers": 0}, "workers: 0; expected: a number above 0"),
        ({"timeout": -1}, "timeout: -1; expected: a number above 0"),
        ({"plugin_dirs": ["relative"]}, "plugin_dirs[0]: 'relative' is not an absolute path"),
        ({"check": "sometimes"}, "value of check must be one of: always, drift, changed, never"),
    ],
)
def test_invalid_options_are_refused(node: EngineNode, item: JsonObject, arguments: JsonObject, fragment: str) -> None:
    before = node.state()
    node.run("attachments", attachments=[item], **arguments).require_failure(fragment)
    assert before.difference(node.state()) == ""
