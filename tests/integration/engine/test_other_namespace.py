# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An attachment whose network namespace is gone, is another one of the same name, or was lost with a reboot."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    Json,
    attachment,
    remove,
    replace,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import rebooted
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

ANOTHER = "its network namespace is another one now"
# Of the namespace itself; and tuning keeps what it would restore there.
LOST = r"^blue$|^/run/netns/blue |^tuning/blue_eth0"


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> Json:
    node.write(
        reference_networks.network(
            reference_networks.bridge(ipMasq=True), reference_networks.TUNING, reference_networks.PORTMAP
        )
    )
    return attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)


def test_an_attachment_without_its_namespace_is_deleted(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json
) -> None:
    before = node.come_and_go(item).without(LOST)
    engine.add(item)
    remove(blue)
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state().without(LOST)) == ""


def test_a_lost_namespace_is_missed_and_the_lease_kept(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json
) -> None:
    engine.add(item)
    remove(blue)
    error = node.refusal(item, "/run/netns/blue does not exist", "make it first")
    assert error["code"] == 4
    assert len(node.leases("net")) == 1


def test_purge_deletes_an_attachment_without_its_namespace(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json
) -> None:
    before = node.come_and_go(item).without(LOST)
    engine.add(item)
    remove(blue)
    (entry,) = node.attach(purge=True)
    assert (entry["container_id"], entry["action"]) == ("blue", "removed")
    assert before.difference(node.state().without(LOST)) == ""


@pytest.mark.parametrize("check", ["always", "never"])
def test_another_namespace_of_the_same_name_is_attached_anew(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json, check: str
) -> None:
    before = node.come_and_go(item)
    engine.add(item)
    for dummy in range(3):
        replace(blue)
        assert require_success(engine.ensure(item, check=check)) == ("recreated", True, ANOTHER)
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
        assert len(node.leases("net")) == 1
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


def test_the_interface_of_another_namespace_is_not_deleted(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json
) -> None:
    engine.add(item)
    replace(blue)
    blue.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    assert engine.ensure(item, present=False).action == "removed"
    assert {"eth0", "eth1"} <= blue.links().keys()
    assert node.leases("net") == []


def test_one_namespace_at_two_paths_is_one(node: EngineNode, engine: Engine, blue: Namespace, item: Json) -> None:
    """What is told of it below /proc is less than what is told of where it is mounted."""
    with subprocess.Popen(blue.argv("cat"), stdin=subprocess.PIPE) as process:
        until(lambda: blue.path.samefile(f"/proc/{process.pid}/ns/net") or None)
        by_process = {**item, "netns": f"/proc/{process.pid}/ns/net"}
        for first, then in ((by_process, item), (item, by_process)):
            engine.add(first)
            assert engine.ensure(then).action == "checked"
            engine.ensure(then, present=False)
            assert "eth0" not in blue.links()
        process.communicate()


def test_what_was_attached_at_a_path_that_is_no_more_is_attached_anew_at_the_other(
    node: EngineNode, engine: Engine, blue: Namespace, item: Json, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "elsewhere"
    path.touch()
    subprocess.run(["mount", "--bind", blue.path, path], check=True)
    engine.add({**item, "netns": str(path)})
    subprocess.run(["umount", path], check=True)
    path.unlink()
    assert require_success(engine.ensure(item)) == ("recreated", True, "its network namespace has another path now")
    assert require_success(engine.ensure(item)) == ("checked", False, "")
    blue.run("ping", "-c1", "-W5", "10.1.0.1")
    assert len(node.leases("net")) == 1


@pytest.mark.interop
def test_libcnis_attachment_of_another_namespace_is_attached_anew(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace, item: Json
) -> None:
    """Its record does not tell one namespace from another; CHECK does."""
    before = node.come_and_go(item)
    assert libcni.run("ADD", [item]).results[0]
    replace(blue)
    action, dummy, reason = require_success(engine.ensure(item))
    assert action == "recreated"
    assert reason.startswith("interface eth0 is gone")
    assert len(node.leases("net")) == 1
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


@pytest.fixture
def after_a_reboot(node: EngineNode, blue: Namespace, item: Json) -> t.Iterator[None]:
    """Records and leases are there, and nothing that they are about."""
    node.attach(item)
    with rebooted():
        assert node.record_of(item).exists()
        assert len(node.leases("net")) == 1
        yield


@pytest.mark.usefixtures("after_a_reboot")
@pytest.mark.parametrize("check", ["always", "never"])
def test_a_reboot_is_made_up_for(node: EngineNode, item: Json, check: str) -> None:
    with namespace("blue") as blue:
        (entry,) = node.attach(item, check=check)
        assert (entry["action"], entry["reason"]) == ("recreated", ANOTHER)
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
        assert len(node.leases("net")) == 1
        (entry,) = node.attach(item)
        assert (entry["action"], entry["changed"]) == ("checked", False)


@pytest.mark.usefixtures("after_a_reboot")
def test_what_a_reboot_left_is_deleted(node: EngineNode, item: Json) -> None:
    """portmap makes its chains on the way: only they are new."""
    (entry,) = node.detach(item)
    assert entry["action"] == "removed"
    assert (node.leases("net"), node.record_of(item).exists(), node.intents()) == ([], False, [])
