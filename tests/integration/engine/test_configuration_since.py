# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An attachment is deleted as it was recorded, even if the network's file has changed or libcni added it."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

Change = t.Callable[[EngineNode, pathlib.Path], object]


def _edit(node: EngineNode, path: pathlib.Path) -> None:
    """Edit the file: DEL with the new configuration would leave the port mapping and the lease."""
    ipam = reference_networks.host_local("10.9.0.0/16", dataDir="/var/lib/cni/elsewhere")
    node.write(reference_networks.network(reference_networks.bridge(ipam=ipam, bridge="cni9")), path.name)


def _rename(node: EngineNode, path: pathlib.Path) -> None:
    node.write({**reference_networks.full(), "name": "renamed"}, path.name)


def _garble(node: EngineNode, path: pathlib.Path) -> None:
    path.write_text("{", encoding="utf-8")


CHANGES: dict[str, Change] = {
    "edited": _edit,
    "renamed": _rename,
    "garbled": _garble,
    "removed": lambda node, path: path.unlink(),
}


@pytest.fixture(params=["the engine", pytest.param("libcni", marks=pytest.mark.interop)])
def add(request: pytest.FixtureRequest, engine: Engine) -> t.Callable[[JsonObject], JsonObject]:
    if request.param == "the engine":
        return engine.add
    libcni: Libcni = request.getfixturevalue("libcni")
    return lambda item: libcni.run("ADD", [item]).results[0]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_del_leaves_nothing_after_the_file_was_edited(
    node: EngineNode, blue: Namespace, add: t.Callable[[JsonObject], JsonObject], change: Change
) -> None:
    path = node.write(reference_networks.full())
    item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    node.attach_and_detach(item)
    change(node, path)
    before = node.state()
    node.write(reference_networks.full())
    add(item)
    assert node.record_of(item).exists()
    change(node, path)
    # No arguments or capability arguments are given: they come from the record.
    bare = {**item, "args": {}, "capability_args": {}}
    assert node.detach(bare)[0]["action"] == "removed"
    assert before.difference(node.state()) == ""


def test_an_edited_network_causes_a_recreation(node: EngineNode, blue: Namespace) -> None:
    path = node.write(reference_networks.full())
    item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    node.attach(item)
    _edit(node, path)
    (entry,) = node.attach(item)
    assert (entry["action"], entry["reason"]) == ("recreated", "the network's configuration has changed")
    assert entry["result"]["ips"][0]["address"].startswith("10.9.")
    assert node.leases("net") == []
    assert node.attach(item)[0]["action"] == "checked"


def test_plugins_from_the_sibling_directory_get_a_del_too(node: EngineNode, blue: Namespace) -> None:
    """Run DEL of plugins from the directory; libcni records only the file's own text and forgets them."""
    path = node.write(reference_networks.network(reference_networks.bridge()))
    item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    node.attach_and_detach(item)
    (node.conf_dir / "net").mkdir()
    more = [
        node.write({"name": "ignored", **plugin}, f"net/{number}.conf")
        for number, plugin in enumerate((reference_networks.TUNING, reference_networks.PORTMAP))
    ]
    node.attach_and_detach(item)
    before = node.state().without(r"^(net/|10-net)")
    node.attach(item)
    assert blue.links()["eth0"]["address"] == reference_networks.MAC
    for file in (*more, path):
        file.unlink()
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state()) == ""


@pytest.mark.interop
def test_libcni_deletes_by_the_engines_record_alone(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace
) -> None:
    """Let libcni delete the engine's attachment, whose record includes the plugins from a directory."""
    path = node.write(reference_networks.network(reference_networks.bridge()))
    item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    (node.conf_dir / "net").mkdir()
    more = node.write({"name": "ignored", **reference_networks.PORTMAP}, "net/10.conf")
    node.attach_and_detach(item)
    before = node.state().without(r"^(net/|10-net)")
    engine.add(item)
    for file in (more, path):
        file.unlink()
    bare = {**item, "args": {}, "capability_args": {}}
    assert libcni.run("DEL", [bare], from_cache=True).results == [None]
    assert before.difference(node.state()) == ""
