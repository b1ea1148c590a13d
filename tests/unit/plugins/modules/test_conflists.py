# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module conflists: its arguments, what it returns, and what it refuses."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._module import conflists
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files
from ansible_collections.cni.node.plugins.module_utils._node.conflists import plan
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner, outcome

CONFIG: JsonObject = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "lab"}]}
Ensure = t.Callable[..., ModuleExit]


@pytest.fixture
def ensure(run: ModuleRunner, tmp_path: pathlib.Path) -> Ensure:
    ScriptedPlugins(tmp_path / "bin").write("lab")
    places = {"conf_dir": str(tmp_path / "net.d"), "plugin_dirs": [str(tmp_path / "bin")]}
    return lambda *items, **options: run("conflists", conflists=list(items), **{**places, **options})


def test_a_second_run_reports_no_change(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "net.d" / "10-net.conflist")
    predicted = ensure({"config": CONFIG}, check_mode=True).ok()
    assert predicted["msg"] == "1 of 1 network configurations would be changed"
    assert not (tmp_path / "net.d").exists()
    done = ensure({"config": CONFIG}).ok()
    assert outcome(predicted) == outcome(done)
    (entry,) = done["conflists"]
    assert json.loads(entry.pop("content")) == CONFIG
    assert entry == {"network": "net", "path": path, "action": "created"}
    assert (done["changed"], done["msg"]) == (True, "1 of 1 network configurations changed")
    (diff,) = done["diff"]
    assert (diff["before"], json.loads(diff["after"])) == ("", CONFIG)
    assert diff["before_header"] == diff["after_header"] == path
    again = ensure({"config": CONFIG}).ok()
    assert again["conflists"] == [{**entry, "action": "unchanged"}]
    assert (again["changed"], again["diff"], again["msg"]) == (False, [], "0 of 1 network configurations changed")
    removed = ensure({"name": "net", "state": "absent"}).ok()
    assert (removed["conflists"][0]["action"], removed["diff"][0]["after"]) == ("removed", "")
    assert json.loads(removed["conflists"][0]["content"]) == CONFIG


def test_the_diff_shows_a_changed_mode(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"config": CONFIG}).ok()
    path = tmp_path / "net.d" / "10-net.conflist"
    (diff,) = ensure({"config": CONFIG}, mode="0600").ok()["diff"]
    assert diff == {"before": {"path": str(path), "mode": "0644"}, "after": {"path": str(path), "mode": "0600"}}


def test_the_diff_shows_a_changed_mode_beside_changed_content(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"config": CONFIG}).ok()
    path = tmp_path / "net.d" / "10-net.conflist"
    (diff,) = ensure({"config": {**CONFIG, "disableCheck": True}}, mode="0600").ok()["diff"]
    assert (diff["before_header"], diff["after_header"]) == (f"{path} (mode 0644)", f"{path} (mode 0600)")
    assert diff["before"] != diff["after"]


@pytest.mark.parametrize("is_link", [True, False])
def test_the_diff_shows_the_removal_of_an_empty_file(ensure: Ensure, tmp_path: pathlib.Path, is_link: bool) -> None:
    path = tmp_path / "net.d" / "10-net.conflist"
    path.parent.mkdir()
    path.symlink_to("nowhere") if is_link else path.touch()
    (diff,) = ensure({"filename": path.name, "state": "absent"}).ok()["diff"]
    assert diff == {"before": {"path": str(path), "state": "file"}, "after": {"path": str(path), "state": "absent"}}


@pytest.fixture
def on_systemd(run: ModuleRunner, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let systemd run on the node, and return the calls of systemctl."""
    calls: list[str] = []
    monkeypatch.setattr(unit_files, "systemctl", lambda dummy, *arguments: calls.append(arguments[0]))
    pathlib.Path(run.paths.systemd_dir).mkdir(parents=True)
    return calls


def test_the_units_of_the_daemon_are_a_part_of_the_result(
    ensure: Ensure, tmp_path: pathlib.Path, on_systemd: list[str]
) -> None:
    ScriptedPlugins(tmp_path / "bin").write("dhcp")
    item = {"config": {**CONFIG, "plugins": [{"type": "lab", "ipam": {"type": "dhcp"}}]}}
    predicted = ensure(item, dhcp_daemon=True, check_mode=True).ok()
    assert on_systemd == []
    done = ensure(item, dhcp_daemon=True, validate={"strict": True}).ok()
    assert outcome(predicted) == outcome(done)
    assert [file["action"] for file in done["files"]] == ["created", "created", "created", "started"]
    assert done["msg"] == "1 of 1 network configurations changed; files: 3 created, 1 started"
    assert len(done["diff"]) == 5
    assert f"ExecStart={tmp_path}/bin/dhcp daemon\n" in done["diff"][1]["after"]
    kept = ensure(item, dhcp_daemon=False).ok()
    assert (kept["changed"], kept["files"]) == (False, [])
    removed = ensure(purge=True).ok()
    assert [file["action"] for file in removed["files"]] == ["removed"] * 3
    assert on_systemd == ["daemon-reload", "start", "stop", "daemon-reload"]


def test_the_daemon_needs_an_executable_that_check_mode_may_miss(
    ensure: Ensure, tmp_path: pathlib.Path, on_systemd: list[str]
) -> None:
    problem = f"dhcp_daemon: plugin 'dhcp' is not installed; looked in {tmp_path}/bin; install it"
    done = ensure({"config": CONFIG}, dhcp_daemon=True)
    assert done.require_refusal().startswith(problem)
    assert not (tmp_path / "net.d").exists()
    predicted = ensure({"config": CONFIG}, dhcp_daemon=True, check_mode=True)
    assert predicted.ok()["changed"] is True
    (warning,) = predicted.warnings
    assert warning.startswith(problem)
    assert on_systemd == []


@pytest.mark.parametrize("mode", [0o640, "0640", "640"], ids=repr)
def test_an_unquoted_mode_is_read_as_octal(ensure: Ensure, tmp_path: pathlib.Path, mode: object) -> None:
    """YAML reads 0640 as the number 416."""
    ensure({"config": CONFIG}, mode=mode).ok()
    assert (tmp_path / "net.d" / "10-net.conflist").stat().st_mode & 0o7777 == 0o640


def test_undecodable_text_is_written_unchanged_and_shown_escaped(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "10-net.conflist").write_bytes(b"\xff old")
    done = ensure({"content": json.dumps(CONFIG) + "\n\n"}).ok()
    assert done["diff"][0]["before"] == "\N{REPLACEMENT CHARACTER} old"
    assert (tmp_path / "net.d" / "10-net.conflist").read_text(encoding="utf-8") == json.dumps(CONFIG) + "\n\n"


def test_files_that_define_the_same_network_cause_a_warning(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "00-net.conflist").write_text(json.dumps(CONFIG), encoding="utf-8")
    ran = ensure({"config": CONFIG})
    assert ran.ok()["changed"]
    (warning,) = ran.warnings
    assert "define network net; runtimes use the first file" in warning
    (finding,) = ran.ok()["findings"]
    assert (finding["level"], finding["code"], finding["path"]) == ("node", "shadowed-network", "/name")


def test_errors_are_returned_together_with_warnings(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "00-net.conflist").write_text(json.dumps(CONFIG), encoding="utf-8")
    two = {**CONFIG, "plugins": [{"type": "none"}, {"type": "lab"}, {"type": "neither"}]}
    ran = ensure({"config": two})
    assert ran.require_refusal().startswith("2 errors in network configurations; ")
    codes = [finding["code"] for finding in ran.result["findings"]]
    assert codes == ["missing-plugin", "missing-plugin", "shadowed-network"]
    assert len(ran.warnings) == 1


def test_strictness_and_levels_apply_on_the_node(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "00-net.conflist").write_text(json.dumps(CONFIG), encoding="utf-8")
    assert "(shadowed-network)" in ensure({"config": CONFIG}, validate={"strict": True}).require_refusal()
    assert ensure({"config": CONFIG}, validate={"levels": ["schema"], "strict": True}).ok()["findings"] == []


@pytest.fixture
def overtake(monkeypatch: pytest.MonkeyPatch) -> t.Callable[[t.Callable[[], object]], None]:
    """Return a function that lets another run change something after the next run has decided."""
    make_plan = plan.make_plan

    def after_the_next_plan(happens: t.Callable[[], object]) -> None:
        def overtaken(*arguments: t.Any, **keywords: t.Any) -> t.Any:
            monkeypatch.setattr(conflists, "make_plan", make_plan)
            made = make_plan(*arguments, **keywords)
            happens()
            return made

        monkeypatch.setattr(conflists, "make_plan", overtaken)

    return after_the_next_plan


Overtake = t.Callable[[t.Callable[[], object]], None]


def test_files_of_two_simultaneous_runs_are_both_owned(
    ensure: Ensure, tmp_path: pathlib.Path, overtake: Overtake
) -> None:
    overtake(lambda: ensure({"config": {**CONFIG, "name": "other"}}).ok())
    assert ensure({"config": CONFIG}).ok()["changed"]
    assert len(ensure(purge=True).ok()["conflists"]) == 2
    assert os.listdir(tmp_path / "net.d") == []


def test_a_file_that_another_run_just_wrote_is_not_a_change(ensure: Ensure, overtake: Overtake) -> None:
    overtake(lambda: ensure({"config": CONFIG}).ok())
    done = ensure({"config": CONFIG}).ok()
    assert (done["changed"], done["conflists"][0]["action"]) == (False, "unchanged")


def test_a_change_by_another_run_is_checked_before_writing(
    ensure: Ensure, tmp_path: pathlib.Path, overtake: Overtake
) -> None:
    (tmp_path / "net.d").mkdir()
    other = tmp_path / "net.d" / "00-net.conflist"
    overtake(lambda: other.write_text(json.dumps(CONFIG), encoding="utf-8"))
    assert "(shadowed-network)" in ensure({"config": CONFIG}, validate={"strict": True}).require_refusal()
    assert os.listdir(tmp_path / "net.d") == [other.name]


def test_a_run_waits_for_the_lock_only_if_it_changes_something(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"config": CONFIG}).ok()
    with hold_lock(str(tmp_path / "net.d" / ".cni.node.lock"), exclusive=True, timeout=0, what="it"):
        assert not ensure({"config": CONFIG}).ok()["changed"]
        assert ensure({"config": CONFIG, "priority": 20}, check_mode=True).ok()["changed"]
        refused = ensure({"config": CONFIG, "priority": 20}, timeout=0.01, probe=False).require_refusal()
    assert refused.startswith(f"{tmp_path}/net.d is in use by another process; waited 0.01 s")
    assert sorted(os.listdir(tmp_path / "net.d")) == [".cni.node.owned", "10-net.conflist"]


REFUSED: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "two forms": (
        {"config": CONFIG, "content": "{}"},
        {},
        "parameters are mutually exclusive: config|template|content",
    ),
    "no form": (
        {"name": "net"},
        {},
        "state is present but any of the following are missing: config, template, content",
    ),
    "absent what?": ({"state": "absent"}, {}, "state is absent but any of the following are missing: name, filename"),
    "a template": ({"template": "x.j2"}, {}, "conflists[0]: the template was not rendered"),
    "an unknown key": ({"config": CONFIG, "prio": 1}, {}, "Unsupported parameters"),
    "a low priority": ({"config": CONFIG, "priority": -1}, {}, "conflists[0]: priority: -1; expected: 0 to 99"),
    "a high priority": ({"config": CONFIG, "priority": 100}, {}, "conflists[0]: priority: 100"),
    "a mode in words": ({"config": CONFIG}, {"mode": "u=rw"}, "mode: 'u=rw'; expected: octal digits such as \"0644\""),
    "a mode with a suid bit": ({"config": CONFIG}, {"mode": "4755"}, "mode: '4755'"),
    "a mode without its zero": (
        {"config": CONFIG},
        {"mode": 644},
        "mode: 644, which is 0o1204; expected: octal digits",
    ),
    "a mode that is not a number": ({"config": CONFIG}, {"mode": True}, "mode: True; expected: octal digits"),
    "a mode that is not octal": ({"config": CONFIG}, {"mode": "0888"}, "mode: '0888'"),
    "a relative directory": ({"config": CONFIG}, {"conf_dir": "net.d"}, "conf_dir: 'net.d' is not an absolute path"),
    "no time": ({"config": CONFIG}, {"timeout": 0}, "timeout: 0; expected: a number above 0"),
    "a plugin directory with a colon": (
        {"config": CONFIG},
        {"plugin_dirs": ["/a:b"]},
        "plugin_dirs: '/a:b' is not a plugin directory",
    ),
    "a long name": ({"config": {**CONFIG, "name": "n" * 255}}, {}, ".conflist: File name too long"),
    "a version the plugin does not speak": (
        {"config": {**CONFIG, "plugins": [{"type": "old"}]}},
        {},
        "10-net.conflist: /plugins/0/type: old supports 0.4.0, but not 1.0.0",
    ),
}


@pytest.mark.parametrize(("item", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_run_writes_nothing(
    ensure: Ensure, tmp_path: pathlib.Path, item: JsonObject, options: JsonObject, message: str
) -> None:
    ScriptedPlugins(tmp_path / "bin").write("old", versions=["0.4.0"])
    for check_mode in (True, False):
        assert message in ensure(item, **options, check_mode=check_mode).require_refusal()
    assert os.listdir(tmp_path) == ["bin"]


def test_a_missing_plugin_is_refused_except_in_check_mode(ensure: Ensure) -> None:
    message = "10-net.conflist: /plugins/0/type: plugin 'lab' is not installed"
    assert message in ensure({"config": CONFIG}, plugin_dirs=["/none"]).require_refusal()
    ran = ensure({"config": CONFIG}, plugin_dirs=["/none"], check_mode=True)
    assert ran.ok()["changed"]
    assert message in ran.warnings[0]


def test_without_a_probe_no_plugin_runs(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    assert ensure({"config": {**CONFIG, "plugins": [{"type": "nowhere"}]}}, probe=False).ok()["changed"]
    assert ensure({"config": CONFIG}, probe=False).ok()["changed"]
    assert ScriptedPlugins(tmp_path / "bin").calls() == []


def test_unchanged_networks_are_probed_too(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"config": CONFIG}).ok()
    (tmp_path / "bin" / "lab").unlink()
    assert "plugin 'lab' is not installed" in ensure({"config": CONFIG}).require_refusal()
    assert ensure({"name": "net", "state": "absent"}).ok()["changed"]


def test_an_unreadable_ownership_list_is_an_error(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure({"config": CONFIG}).ok()
    (tmp_path / "net.d" / ".cni.node.owned").write_bytes(b"")
    assert (
        ".cni.node.owned is damaged (the list of own configurations): it is not valid JSON: it is empty"
        in ensure(purge=True).require_refusal()
    )
    assert (tmp_path / "net.d" / "10-net.conflist").exists()
