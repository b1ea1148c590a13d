# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module attachments: arguments become attachments, and outcomes become its result."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY, FOLLOWING_KEY
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files
from ansible_collections.cni.node.plugins.modules import attachments
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

Ensure = t.Callable[..., ModuleExit]
RESULT: JsonObject = {"ips": [{"address": "10.1.0.2/16"}]}


@pytest.fixture
def plugins(tmp_path: pathlib.Path) -> ScriptedPlugins:
    plugins = ScriptedPlugins(tmp_path / "bin")
    plugins.write("lab", ADD=ScriptedAnswer(result=RESULT))
    return plugins


@pytest.fixture
def ensure(run: ModuleRunner, plugins: ScriptedPlugins, tmp_path: pathlib.Path) -> Ensure:
    for path in (tmp_path / "net.d", pathlib.Path(run.paths.netns_dir)):
        path.mkdir(parents=True)
    for name in ("blue", "red"):
        pathlib.Path(run.paths.netns_dir, name).touch()
    plugin = {"type": "lab", "capabilities": {"mac": True}}
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
    (tmp_path / "net.d" / "10-net.conflist").write_text(json.dumps(network), encoding="utf-8")
    places = {"conf_dir": "net.d", "cache_dir": "cache"}
    fixed = {**{key: str(tmp_path / name) for key, name in places.items()}, "plugin_dirs": [str(plugins.path)]}
    return lambda *items, **options: run("attachments", **{"attachments": list(items), **fixed, **options})


def test_an_entry_has_every_documented_key_and_defaults_from_the_netns(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    done = ensure({"network": "net", "netns": "blue"}).ok()
    (entry,) = done["attachments"]
    assert entry.pop("seconds") > entry.pop("plugin_seconds") > 0
    assert entry == {
        "network": "net",
        "container_id": "blue",
        "ifname": "eth0",
        "netns": str(tmp_path / "run" / "netns" / "blue"),
        "action": "added",
        "changed": True,
        "reason": "",
        "interrupts": None,
        "result": {"cniVersion": "1.0.0", **RESULT},
        "error": None,
        "false_alarms": [],
        "builtin_plugins": [],
    }
    assert (done["changed"], done["summary"]) == (True, {"added": 1})
    assert done["msg"].startswith("attachments: 1 added; ")
    name = "attachment of blue (eth0) to network net"
    assert done["diff"] == {"before": {name: "absent"}, "after": {name: "attached"}}


def test_arguments_reach_the_plugin(ensure: Ensure, plugins: ScriptedPlugins, tmp_path: pathlib.Path) -> None:
    item = {
        "network": "net",
        "netns": str(tmp_path / "run" / "netns" / "red"),
        "container_id": "pod_1",
        "ifname": "net1",
        "args": {"IgnoreUnknown": 1, "FLAG": True, "TEXT": "a b"},
        "capability_args": {"mac": "02:00:00:00:00:01", "unknown": [1]},
        "config_args": {"ips": '["10.1.0.9"]', "labels": [{"key": "a", "value": "b"}], "mac": None},
    }
    ensure(item, check="never").ok()
    (call,) = plugins.calls(command="ADD")
    assert call.request["runtimeConfig"] == {"mac": "02:00:00:00:00:01"}
    assert call.request["args"] == {"cni": {"ips": ["10.1.0.9"], "labels": [{"key": "a", "value": "b"}]}}
    expected = {
        "CNI_ARGS": "IgnoreUnknown=1;FLAG=True;TEXT=a b",
        "CNI_CONTAINERID": "pod_1",
        "CNI_IFNAME": "net1",
        "CNI_NETNS": item["netns"],
        "CNI_PATH": str(plugins.path),
    }
    assert {key: call.env[key] for key in expected} == expected
    assert plugins.calls(command="CHECK") == []
    assert ensure(item).ok()["summary"] == {"checked": 1}


@pytest.mark.parametrize("verbosity", [0, 2, 3, 4])
def test_stderr_of_a_successful_plugin_is_shown_at_higher_verbosity(
    ensure: Ensure, plugins: ScriptedPlugins, verbosity: int
) -> None:
    plugins.write("lab", ADD=ScriptedAnswer(result=RESULT, stderr="no IPv6\x1b[2J\n"), CHECK=ScriptedAnswer())
    (entry,) = ensure({"network": "net", "netns": "blue"}, _ansible_verbosity=verbosity).ok()["attachments"]
    shown = [{"type": "lab", "command": "ADD", "text": "no IPv6\\x1b[2J"}]
    assert entry.get("stderr") == (shown if verbosity >= 3 else None)


def test_omitted_stderr_causes_a_warning(ensure: Ensure, plugins: ScriptedPlugins) -> None:
    plugins.write(
        "lab",
        ADD=ScriptedAnswer(result=RESULT, stderr_bytes=1024 * 1024),
        CHECK=ScriptedAnswer(stderr_bytes=1024 * 1024),
    )
    items = [{"network": "net", "netns": "blue", "ifname": f"eth{number}"} for number in range(10)]
    done = ensure(*items, _ansible_verbosity=3)
    done.ok()
    (warning,) = done.warnings
    assert warning.endswith("more plugin calls is not shown, because the log is full")


def test_check_mode_predicts_actions_and_warns_of_missing_prerequisites(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    items = [
        {"network": "net", "netns": "blue"},
        {"network": "later", "netns": "red"},
        {"network": "net", "netns": "new"},
    ]
    ran = ensure(*items, check_mode=True)
    done = ran.ok()
    assert [entry["action"] for entry in done["attachments"]] == ["added"] * 3
    assert [entry["result"] for entry in done["attachments"]] == [{}] * 3
    later, new = ran.warnings
    assert "no network 'later'" in later
    assert "new does not exist" in new
    assert not (tmp_path / "cache").exists()
    (warning,) = ensure(*items, check_mode=True, planned_netns=["new", "red"]).warnings
    assert "no network 'later'" in warning
    assert "new does not exist" in ensure(items[2], planned_netns=["new"]).require_refusal()


def test_the_diff_has_the_reason_for_recreation(ensure: Ensure) -> None:
    ensure({"network": "net", "netns": "blue"}).ok()
    done = ensure({"network": "net", "netns": "blue", "args": {"A": "1"}}).ok()
    name = "attachment of blue (eth0) to network net"
    assert done["diff"] == {
        "before": {name: "attached, but its arguments have changed"},
        "after": {name: "attached anew"},
    }
    assert done["attachments"][0]["reason"] == "its arguments have changed"


PORT = {"hostPort": 8080, "containerPort": 80}
MAPPED = {"network": "net", "netns": "blue", "capability_args": {"portMappings": [PORT]}}
IN_USE = {"addresses": ["10.1.0.2"], "ports": ["8080->80/tcp"]}
REPLACED = "its network namespace has been replaced"


def replace_namespace(path: pathlib.Path) -> None:
    path.rename(path.with_name("old"))
    path.touch()


@pytest.mark.parametrize(
    ("change", "action", "reason", "interrupts"),
    [
        ({}, "checked", "", None),
        ({"ifname": "eth1"}, "added", "", None),
        ({"args": {"A": "1"}}, "recreated", "its arguments have changed", IN_USE),
        ({"capability_args": {}}, "recreated", "its capability arguments have changed", IN_USE),
        ({"state": "absent"}, "removed", "", IN_USE),
        (replace_namespace, "recreated", REPLACED, None),
    ],
    ids=["nothing", "another interface", "arguments", "no ports", "absent", "another network namespace"],
)
def test_check_mode_predicts_what_a_change_interrupts(
    ensure: Ensure,
    tmp_path: pathlib.Path,
    change: JsonObject | t.Callable[[pathlib.Path], None],
    action: str,
    reason: str,
    interrupts: JsonObject | None,
) -> None:
    network = {
        "cniVersion": "1.0.0",
        "name": "net",
        "plugins": [{"type": "lab", "capabilities": {"portMappings": True}}],
    }
    (tmp_path / "net.d" / "10-net.conflist").write_text(json.dumps(network), encoding="utf-8")
    ensure(MAPPED).ok()
    item = MAPPED
    if callable(change):
        change(tmp_path / "run" / "netns" / "blue")
    else:
        item = {**MAPPED, **change}
    for check_mode in (True, False):
        (entry,) = ensure(item, check_mode=check_mode).ok()["attachments"]
        assert (entry["action"], entry["reason"], entry["interrupts"]) == (action, reason, interrupts), check_mode


def test_ports_that_no_plugin_maps_are_not_interrupted(ensure: Ensure) -> None:
    ensure(MAPPED).ok()
    (entry,) = ensure({**MAPPED, "state": "absent"}).ok()["attachments"]
    assert entry["interrupts"] == {"addresses": ["10.1.0.2"], "ports": []}


def test_check_mode_predicts_the_reason_for_a_network_namespace_that_an_earlier_task_creates(
    ensure: Ensure, tmp_path: pathlib.Path
) -> None:
    ensure(MAPPED).ok()
    path = tmp_path / "run" / "netns" / "blue"
    path.rename(path.with_name("old"))
    predicted = ensure(MAPPED, check_mode=True).ok()["attachments"][0]
    path.touch()
    done = ensure(MAPPED).ok()["attachments"][0]
    for entry in (predicted, done):
        assert (entry["action"], entry["reason"], entry["interrupts"]) == ("recreated", REPLACED, None)


def test_a_failed_recreation_reports_what_it_has_interrupted(ensure: Ensure, plugins: ScriptedPlugins) -> None:
    ensure(MAPPED).ok()
    plugins.write("lab", ADD=ScriptedAnswer(error={"code": 123, "msg": "no"}))
    (entry,) = ensure({**MAPPED, "args": {"A": "1"}}).result["attachments"]
    assert (entry["action"], entry["interrupts"]) == ("failed", {"addresses": ["10.1.0.2"], "ports": []})


def test_an_undeclared_capability_causes_a_warning(ensure: Ensure) -> None:
    args = {"mac": "02:00:00:00:00:01", "portMappings": []}
    items = [{"network": "net", "netns": name, "capability_args": args} for name in ("blue", "red")]
    assert ensure(*items).warnings == [
        "network net has no plugin that declares the capability portMappings: the values are ignored"
    ]


def test_a_failed_item_is_reported_and_the_others_are_processed(ensure: Ensure) -> None:
    items = [
        {"network": "none", "netns": "blue"},
        {"network": "net", "netns": "a b"},
        {"network": "net", "netns": "red"},
    ]
    done = ensure(*items)
    assert (done.status, done.result["failed"], done.result["changed"]) == (1, True, True)
    assert done.result["summary"] == {"failed": 2, "added": 1}
    first, second, third = done.result["msg"].splitlines()[0:1] + [
        line for line in done.result["msg"].splitlines() if line.startswith("attachment of ")
    ]
    assert first.startswith("attachments: 1 added, 2 failed; ")
    assert second.startswith("attachment of blue (eth0) to network none: no network 'none' in ")
    assert third.startswith("attachment of a b (eth0) to network net: 'a b' is not a network namespace name; ")


def test_the_diff_of_a_half_failed_item_shows_the_actual_state(ensure: Ensure, plugins: ScriptedPlugins) -> None:
    name = "attachment of blue (eth0) to network net"
    plugins.write("lab", ADD=ScriptedAnswer(result=RESULT), CHECK=ScriptedAnswer(error={"code": 100, "msg": "no"}))
    attached = ensure({"network": "net", "netns": "blue"})
    assert (attached.status, attached.result["changed"]) == (1, True)
    assert attached.result["diff"] == {"before": {name: "absent"}, "after": {name: "attached"}}
    plugins.write("lab", ADD=ScriptedAnswer(error={"code": 100, "msg": "no"}))
    detached = ensure({"network": "net", "netns": "blue", "args": {"A": "1"}})
    assert (detached.status, detached.result["changed"]) == (1, True)
    before = {name: "attached, but its arguments have changed"}
    assert detached.result["diff"] == {"before": before, "after": {name: "absent"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: 0; expected: a number above 0"),
        ({"workers": -2}, "workers: -2"),
        ({"timeout": -1}, "timeout: -1"),
        ({"progress": -1}, "progress: -1; expected: a number above 0"),
        ({"timeout": "soon"}, "timeout"),
        ({"check": "sometimes"}, "value of check must be one of: always, drift, changed, never"),
        ({"on_drift": "ignore"}, "value of on_drift must be one of: repair, recreate, fail, report"),
        (
            {"plugin_dirs": ["bin"]},
            "plugin_dirs[0]: 'bin' is not an absolute path",
        ),
        ({"attachments": [{"network": "net"}]}, "missing required arguments: netns"),
        ({"attachments": [{"netns": "blue"}]}, "missing required arguments: network"),
        ({"attachments": [{"network": "net", "netns": "blue", "mac": 1}]}, "Unsupported parameters"),
        (
            {
                "attachments": [
                    {"network": "net", "netns": "blue"},
                    {"network": "net", "netns": "/x", "container_id": "blue"},
                ]
            },
            "attachments[0]: the attachment of blue (eth0) to network net is given twice",
        ),
        (
            {"attachments": [{"network": "net", "netns": "blue"}, {"network": "other", "netns": "blue"}]},
            "attachments[0]: the interface of the attachment of blue (eth0) to network net is used by another item as well",
        ),
        (
            {"attachments": [{"network": "net", "netns": "/proc/1/ns/net"}]},
            "attachments[0]: container_id is missing: /proc/1/ns/net does not identify a container",
        ),
    ],
)
def test_invalid_arguments_are_refused_before_any_change(
    ensure: Ensure, plugins: ScriptedPlugins, tmp_path: pathlib.Path, options: JsonObject, message: str
) -> None:
    done = ensure({"network": "net", "netns": "blue"}, **options)
    assert message in done.require_refusal()
    assert (plugins.calls(), (tmp_path / "cache").exists()) == ([], False)


def test_purge_reports_unreadable_records_that_it_keeps(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"network": "net", "netns": "blue"}, {"network": "net", "netns": "red"}).ok()
    (tmp_path / "cache" / "results" / "net-other-eth0").write_bytes(b"")
    ran = ensure({"network": "net", "netns": "red"}, purge=True)
    done = ran.ok()
    assert [(entry["container_id"], entry["action"]) for entry in done["attachments"]] == [
        ("red", "checked"),
        ("blue", "removed"),
    ]
    (warning,) = ran.warnings
    assert "attachment not purged, because its record cannot be read: " in warning
    assert (tmp_path / "cache" / "results" / "net-other-eth0").exists()


def test_a_long_call_leaves_the_remaining_items_to_the_next(ensure: Ensure, plugins: ScriptedPlugins) -> None:
    ensure({"network": "net", "netns": "red", "container_id": "old"}, check="never").ok()
    items = [{"network": "net", "netns": name} for name in ("blue", "red")]
    options = {"purge": True, "workers": 1, "progress": 0.0001}
    continuation: JsonObject = {}
    done = []
    for remaining in ([1, 2], [2], []):
        ran = ensure(*items, **options, _controller=continuation).ok()
        done += [(entry["container_id"], entry["action"]) for entry in ran["attachments"]]
        continuation = ran.get("_controller", {})
        assert continuation.get("remaining", []) == remaining
    assert done == [("blue", "added"), ("red", "added"), ("old", "removed")]
    assert len(plugins.calls(command="DEL")) == 1


@pytest.mark.parametrize("options", [{}, {"_controller": {}, "progress": 0}], ids=["nobody asks again", "no progress"])
def test_without_progress_one_call_processes_all_items(ensure: Ensure, options: JsonObject) -> None:
    items = [{"network": "net", "netns": name} for name in ("blue", "red")]
    done = ensure(*items, workers=1, **{"progress": 0.0001, **options}).ok()
    assert (done["summary"], "_controller" in done) == ({"added": 2}, False)


def test_timing_separates_plugins_from_the_engine(ensure: Ensure) -> None:
    timing = ensure({"network": "net", "netns": "blue"}, workers=3).ok()["timing"]
    assert (timing["workers"], timing["slowest"]["type"]) == (1, "lab")
    assert timing["total"] > timing["plugins"] > timing["slowest"]["seconds"] > 0
    again = ensure({"network": "net", "netns": "blue"}, check="never").ok()
    assert (again["timing"]["plugins"], again["timing"]["slowest"]) == (0, None)
    assert again["msg"] == "attachments: 1 unchanged"


def test_an_empty_list_changes_nothing(ensure: Ensure) -> None:
    done = ensure().ok()
    assert (done["msg"], done["changed"], done["summary"], done["attachments"]) == ("attachments: none", False, {}, [])


def test_the_architecture_says_where_each_option_takes_effect() -> None:
    spec = attachments.SPEC["argument_spec"]
    options = {*spec, *spec["attachments"]["options"]} - {"attachments", CONTROLLER_KEY, FOLLOWING_KEY}
    page = pathlib.Path(__file__).parents[4] / "docs" / "architecture.md"
    table = page.read_text(encoding="utf-8").partition("### Where its options take effect")[2].partition("## ")[0]
    assert [option for option in sorted(options) if f"`{option}`" not in table and f"[].{option}`" not in table] == []


def test_units_that_a_killed_run_removed_are_forgotten_by_systemd(
    ensure: Ensure, run: ModuleRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(unit_files, "systemctl", lambda dummy, *arguments: calls.append(" ".join(arguments)))
    pathlib.Path(run.paths.systemd_dir).mkdir(parents=True)
    pathlib.Path(run.paths.reload_mark).write_text("daemon-reload\n", encoding="ascii")
    reload = [{"path": run.paths.reload_mark, "action": "reloaded"}]
    predicted, done, settled = ensure(check_mode=True).ok(), ensure().ok(), ensure().ok()
    assert (predicted["changed"], predicted["files"], done["files"]) == (True, reload, reload)
    assert calls == ["daemon-reload"]
    assert settled["changed"] is False


def test_an_unexpected_error_of_the_files_for_boot_does_not_hide_what_was_attached(
    ensure: Ensure, run: ModuleRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(dummy: object, *_arguments: str) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(unit_files, "systemctl", fail)
    pathlib.Path(run.paths.systemd_dir).mkdir(parents=True)
    pathlib.Path(run.paths.reload_mark).write_text("daemon-reload\n", encoding="ascii")
    failed = ensure({"network": "net", "netns": "blue"}).result
    assert (failed["changed"], failed["attachments"][0]["action"]) == (True, "added")
    assert "the files for restoration at boot are incomplete: cannot access a file or socket: Too many" in failed["msg"]
