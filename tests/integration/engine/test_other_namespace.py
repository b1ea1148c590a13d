# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An attachment whose network namespace is gone, was replaced by one of the same name, or was lost at a reboot."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    remove,
    replace,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

REPLACED = "its network namespace has been replaced"
# Lines of the namespace itself, and tuning's saved values for it.
LOST = r"^blue$|^/run/netns/blue |^tuning/blue_eth0"


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(
        reference_networks.network(
            reference_networks.bridge(ipMasq=True), reference_networks.TUNING, reference_networks.PORTMAP
        )
    )
    return attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)


def test_an_attachment_without_its_namespace_is_deleted(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject
) -> None:
    before = node.attach_and_detach(item).without(LOST)
    engine.add(item)
    remove(blue)
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state().without(LOST)) == ""


def test_a_lost_namespace_is_an_error_and_the_lease_stays(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject
) -> None:
    engine.add(item)
    remove(blue)
    error = node.refusal(item, "/run/netns/blue does not exist", "create it first")
    assert error["code"] == 4
    assert len(node.leases("net")) == 1


def test_purge_deletes_an_attachment_without_its_namespace(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject
) -> None:
    before = node.attach_and_detach(item).without(LOST)
    engine.add(item)
    remove(blue)
    (entry,) = node.attach(purge=True)
    assert (entry["container_id"], entry["action"]) == ("blue", "removed")
    assert before.difference(node.state().without(LOST)) == ""


@pytest.mark.parametrize("check", ["always", "never"])
def test_a_new_namespace_of_the_same_name_is_attached_again(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject, check: str
) -> None:
    before = node.attach_and_detach(item)
    engine.add(item)
    for dummy in range(3):
        replace(blue)
        assert require_success(engine.ensure(item, check=check)) == ("recreated", True, REPLACED)
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
        assert len(node.leases("net")) == 1
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


def test_the_interface_of_another_namespace_is_not_deleted(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject
) -> None:
    engine.add(item)
    replace(blue)
    blue.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    assert engine.ensure(item, present=False).action == "removed"
    assert {"eth0", "eth1"} <= blue.links().keys()
    assert node.leases("net") == []


def test_two_paths_of_one_namespace_are_one_container(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject
) -> None:
    """Compare a path below /proc, which has less information, with the mounted one."""
    with subprocess.Popen(blue.argv("cat"), stdin=subprocess.PIPE) as process:
        until(lambda: blue.path.samefile(f"/proc/{process.pid}/ns/net") or None)
        by_process = {**item, "netns": f"/proc/{process.pid}/ns/net"}
        for first, then in ((by_process, item), (item, by_process)):
            engine.add(first)
            assert engine.ensure(then).action == "checked"
            engine.ensure(then, present=False)
            assert "eth0" not in blue.links()
        process.communicate()


def test_an_attachment_at_a_removed_path_is_added_again_at_the_other(
    node: EngineNode, engine: Engine, blue: Namespace, item: JsonObject, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "elsewhere"
    path.touch()
    subprocess.run(["mount", "--bind", blue.path, path], check=True)
    engine.add({**item, "netns": str(path)})
    subprocess.run(["umount", path], check=True)
    path.unlink()
    reason = f"its network namespace moved from {path} to {blue.path}"
    assert require_success(engine.ensure(item)) == ("recreated", True, reason)
    assert require_success(engine.ensure(item)) == ("checked", False, "")
    blue.run("ping", "-c1", "-W5", "10.1.0.1")
    assert len(node.leases("net")) == 1


@pytest.mark.interop
def test_an_attachment_of_libcni_in_a_replaced_namespace_is_added_again(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace, item: JsonObject
) -> None:
    """Detect the replacement by CHECK: libcni's record does not identify the namespace."""
    before = node.attach_and_detach(item)
    assert libcni.run("ADD", [item]).results[0]
    replace(blue)
    action, dummy, reason = require_success(engine.ensure(item))
    assert action == "recreated"
    assert reason.startswith("interface eth0 is gone")
    assert len(node.leases("net")) == 1
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


@pytest.fixture
def after_a_reboot(node: EngineNode, blue: Namespace, item: JsonObject) -> t.Iterator[None]:
    """Run the test as after a reboot: with records and leases, but without interfaces, rules or namespaces."""
    node.attach(item)
    with reboot():
        assert node.record_of(item).exists()
        assert len(node.leases("net")) == 1
        yield


@pytest.mark.usefixtures("after_a_reboot")
@pytest.mark.parametrize("check", ["always", "never"])
def test_attachments_are_added_again_after_a_reboot(node: EngineNode, item: JsonObject, check: str) -> None:
    with namespace("blue") as blue:
        (entry,) = node.attach(item, check=check)
        assert (entry["action"], entry["reason"]) == ("recreated", REPLACED)
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
        assert len(node.leases("net")) == 1
        (entry,) = node.attach(item)
        assert (entry["action"], entry["changed"]) == ("checked", False)


@pytest.mark.usefixtures("after_a_reboot")
def test_attachments_are_deleted_after_a_reboot(node: EngineNode, item: JsonObject) -> None:
    """Delete the attachment; only the chains that portmap creates meanwhile are new."""
    (entry,) = node.detach(item)
    assert entry["action"] == "removed"
    assert (node.leases("net"), node.record_of(item).exists(), node.intents()) == ([], False, [])
