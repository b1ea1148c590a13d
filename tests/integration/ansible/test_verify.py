# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module verify tries each network with the real plugins and removes everything afterwards."""

from __future__ import annotations

import os
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import open_network
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.support.state import network_state

VERIFY = "cni.node.verify"
# Chains that plugins create once for all attachments.
STAYS = r" drwx|/last_reserved_ip|/lock |\bcni[01]\b|\bveth|^[*:]|^COMMIT|/\.gate "


def require_nothing_left(done: TaskRun) -> TaskRun:
    difference = done.before.without(STAYS).difference(done.after.without(STAYS))
    assert difference == "", difference
    return done


def by_network(done: TaskRun) -> dict[str, JsonObject]:
    return {network["network"]: network for network in done.result["networks"]}


def verify(project: Project, **arguments: t.Any) -> TaskRun:
    return project.play([task("verify", VERIFY, arguments)])["verify"]


def dual_stack(**keys: t.Any) -> JsonObject:
    ranges = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64")
    return reference_networks.network(reference_networks.bridge(ipam=ranges, **keys), name="dual")


def test_every_network_is_verified_and_nothing_is_left(node: EngineNode, project: Project) -> None:
    node.write(dual_stack())
    node.write(reference_networks.network(reference_networks.LOOPBACK, name="loop"))
    played = project.play(thrice("verify", VERIFY, {}))
    done = require_nothing_left(played["verify"].ok())
    assert (done.changed, done.msg) == (False, "networks: 2 verified")
    dual, loop = by_network(done)["dual"], by_network(done)["loop"]
    assert dual["addresses"] == ["10.1.0.2/16", "fd00:1::2/64"]
    assert dual["gateways"] == [{"address": gateway, "answered": True} for gateway in ("10.1.0.1", "fd00:1::1")]
    assert (loop["gateways"], loop["error"]) == ([], None)
    predicted = played["verify, predicted"].ok().require_unchanged_node()
    assert predicted.msg == "networks: 2 skipped"
    assert played["verify, again"].ok().msg == done.msg


def test_a_failing_network_does_not_stop_the_others(node: EngineNode, project: Project) -> None:
    node.write(dual_stack())
    node.write(reference_networks.network({"type": "nowhere"}, name="without"))
    name = open_network(node, "broken", ADD=ScriptedAnswer(error={"code": 100, "msg": "out of order"}))
    done = require_nothing_left(verify(project, networks=["dual", name, "without", "unknown"]))
    done.require_failure("broken: plugin lab-broken failed (ADD): out of order", "plugin 'nowhere' is not installed")
    assert {network: trial["action"] for network, trial in by_network(done).items()} == {
        "dual": "verified",
        "broken": "failed",
        "without": "failed",
        "unknown": "failed",
    }


def test_a_network_with_unready_plugins_is_named_and_skipped(node: EngineNode, project: Project) -> None:
    node.write({**dual_stack(), "cniVersion": "1.0.0"})
    for code in (50, 51):
        node.plugins.write(f"lab-{code}", STATUS=ScriptedAnswer(error={"code": code, "msg": f"the agent says {code}"}))
        node.write(reference_networks.network({"type": f"lab-{code}"}, version="1.1.0", name=f"net{code}"))
    done = require_nothing_left(verify(project))
    done.require_failure(
        "net50: plugin lab-50 failed (STATUS): the agent says 50",
        "net51: plugin lab-51 failed (STATUS): the agent says 51",
    )
    trials = by_network(done)
    assert {name: (trial["action"], trial["status"]) for name, trial in trials.items()} == {
        "dual": ("verified", "unsupported"),
        "net50": ("failed", "unavailable"),
        "net51": ("failed", "limited"),
    }
    assert trials["net50"]["error"]["code"] == 50
    assert node.plugins.calls(command="ADD") == []


def test_check_mode_reports_missing_parts_without_failing(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network({"type": "nowhere"}, name="without"))
    played = project.play([task("verify", VERIFY, {"networks": ["without", "unknown"]}, check_mode=True)])
    trials = by_network(played["verify"].ok().require_unchanged_node())
    assert "plugin 'nowhere' is not installed" in trials["without"]["reason"]
    assert "no network 'unknown'" in trials["unknown"]["reason"]


def test_a_silent_gateway_fails_unless_pinging_is_disabled(node: EngineNode, project: Project) -> None:
    node.write(dual_stack(isGateway=False))
    done = require_nothing_left(verify(project, gateway_timeout=0.5))
    done.require_failure(
        "network dual: no answer from gateway 10.1.0.1, fd00:1::1 within 0.5 s", "set gateway_timeout to 0"
    )
    assert by_network(done)["dual"]["action"] == "failed"
    assert verify(project, gateway_timeout=0).ok().msg == "networks: 1 verified"


def test_a_gateway_behind_sbr_is_pinged_from_the_routed_address(node: EngineNode, project: Project) -> None:
    ranges = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES)
    plugins: list[JsonObject] = [reference_networks.bridge(ipam=ranges), {"type": "sbr"}]
    node.write(reference_networks.network(*plugins, name="source"))
    done = require_nothing_left(verify(project).ok())
    gateways = [{"address": gateway, "answered": True} for gateway in ("10.1.0.1", "fd00:1::1")]
    assert by_network(done)["source"]["gateways"] == gateways


def test_a_device_stays_on_the_node_unless_its_network_is_named(node: EngineNode, project: Project) -> None:
    reference_networks.make_uplink()
    node.write(reference_networks.network(reference_networks.HOST_DEVICE, name="device"))
    done = verify(project).ok().require_unchanged_node()
    assert by_network(done)["device"]["reason"] == "host-device would take a device away from the node"
    assert require_nothing_left(verify(project, networks=["device"]).ok()).msg == "networks: 1 verified"


def kill_verification(node: EngineNode, command: str, **options: str) -> None:
    """Kill a run of the module while the plugin stall runs a command; the plugin works from then on."""
    with node.plugins.gate() as gate:
        held: JsonObject = {command: ScriptedAnswer(hold=gate)}
        node.plugins.write("stall", **held)
        running = node.start("verify", **options)
        node.plugins.wait_for_held(1)
        running.kill()
        running.communicate()
    node.plugins.write("stall")


def test_a_run_removes_what_a_killed_run_left(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "stall"}))
    node.plugins.write("stall")
    before = verify(project).ok().after
    node.plugins.forget()
    kill_verification(node, "CHECK")
    assert os.listdir("/run/netns") != []
    after = verify(project).ok().after
    assert before.without(STAYS).difference(after.without(STAYS)) == ""


@pytest.mark.parametrize("command", ["ADD", "CHECK"])
@pytest.mark.parametrize("collects_first", [False, True], ids=["verify", "gc and verify"])
def test_a_run_removes_what_a_killed_run_left_of_a_network_that_was_removed(
    node: EngineNode, project: Project, command: str, collects_first: bool
) -> None:
    before = network_state()
    node.write(reference_networks.network(reference_networks.LOOPBACK, {"type": "stall"}, name="gone"))
    kill_verification(node, command)
    (node.conf_dir / "10-gone.conflist").unlink()
    assert len(os.listdir("/run/netns")) == 1
    if collects_first:
        node.run("gc", min_age=0).succeeded()
    assert verify(project).ok().msg == "networks: none"
    assert os.listdir("/run/netns") == []
    assert not list(node.cache_dir.glob("results/*"))
    assert network_state().difference(before) == ""


def test_what_a_run_with_another_cache_directory_left_is_kept_for_a_run_with_that_one(
    node: EngineNode, project: Project
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "stall"}, name="gone"))
    kill_verification(node, "CHECK", cache_dir="/var/lib/other")
    (node.conf_dir / "10-gone.conflist").unlink()
    (name,) = os.listdir("/run/netns")
    played = project.play([task("verify", "cni.node.verify", {})]).succeeded()
    assert f"{name} is attached, and no readable record says to which network; it is kept" in played.output
    assert os.listdir("/run/netns") == [name]
    assert verify(project, cache_dir="/var/lib/other").ok().msg == "networks: none"
    assert os.listdir("/run/netns") == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [("ADD", "an earlier run was interrupted at ADD"), ("CHECK", "an earlier run was interrupted before DEL")],
)
def test_an_attachment_of_a_killed_run_is_not_reused(
    node: EngineNode, project: Project, command: str, reason: str
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "stall"}))
    kill_verification(node, command)
    until_then = len(node.plugins.calls("stall"))
    (trial,) = verify(project).ok().result["networks"]
    assert (trial["action"], trial["reason"]) == ("verified", reason)
    assert [call.command for call in node.plugins.calls("stall")[until_then:]] == ["DEL", "ADD", "CHECK", "DEL"]


def test_a_network_that_cannot_be_detached_is_not_tried_again(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.LOOPBACK, {"type": "stall"}, name="stuck"))
    node.plugins.write("stall", DEL=ScriptedAnswer(error={"code": 100, "msg": "out of order"}))
    verify(project).require_failure("plugin stall failed (DEL): out of order")
    node.plugins.forget()
    verify(project).require_failure("plugin stall failed (DEL): out of order")
    assert {call.command for call in node.plugins.calls("stall")} == {"DEL"}
    node.plugins.write("stall")
    assert verify(project).ok().msg == "networks: 1 verified"


@pytest.mark.parametrize("value", [-1, "nan"])
def test_an_invalid_timeout_is_refused(project: Project, value: object) -> None:
    verify(project, gateway_timeout=value).require_unchanged_node().require_failure(
        "gateway_timeout: ", "expected: a number above 0"
    )
