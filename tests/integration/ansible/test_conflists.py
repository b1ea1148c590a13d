# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module conflists: the files that it writes, their place and form."""

from __future__ import annotations

import json
import pathlib
import stat

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.state import tree_lines

CONFLISTS = "cni.node.conflists"
LOOPBACK: JsonObject = {"type": "loopback"}


def network_named(name: str, *plugins: JsonObject, **keys: object) -> JsonObject:
    return {**reference_networks.network(*(plugins or (LOOPBACK,)), name=name), **keys}


def test_a_network_may_be_data_text_or_a_single_plugin(node: EngineNode, project: Project) -> None:
    text = '{"cniVersion": "1.0.0",   "name": "raw", "plugins": [{"type": "loopback", "big": 9007199254740993}]}'
    items: list[JsonObject] = [
        {"config": reference_networks.full() | {"name": "db"}},
        {"config": network_named("list"), "filename": "my-own.conflist", "priority": 99},
        {"content": text, "name": "raw", "priority": 5, "state": "present"},
        {"config": reference_networks.single(LOOPBACK, "0.4.0", "old")},
        {"config": reference_networks.single(LOOPBACK, "", "older"), "filename": "older.json"},
    ]
    played = project.play(thrice("write", CONFLISTS, {"conflists": items}), "--diff").succeeded()
    done = played.require_converged("write")
    expected = ["10-db.conflist", "my-own.conflist", "05-raw.conflist", "10-old.conf", "older.json"]
    assert done.files == dict.fromkeys(expected, "created")
    assert [conflist["network"] for conflist in done.result["conflists"]] == ["db", "list", "raw", "old", "older"]
    assert done.msg == "5 of 5 network configurations changed"
    assert (node.conf_dir / "05-raw.conflist").read_text(encoding="utf-8") == text
    for item, name in zip(items, expected):
        path = node.conf_dir / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        if "config" in item:
            assert json.loads(path.read_text(encoding="utf-8")) == item["config"]
    lines = played.output.splitlines()
    assert lines.count(f"+++ after: {node.conf_dir}/10-db.conflist") == 2
    assert lines.count('+  "name": "db",') == 2
    assert set(played["write" + ", again"].files.values()) == {"unchanged"}


def test_priority_moves_a_file_and_content_is_replaced_in_place(node: EngineNode, project: Project) -> None:
    changed = network_named("a", {"type": "loopback", "mtu": 1400})
    steps: dict[str, JsonObject] = {
        "write": {"config": network_named("a")},
        "change": {"config": changed},
        "move": {"config": changed, "priority": 7},
        "rename": {"config": changed, "filename": "zz.conflist"},
    }
    tasks = [task(name, CONFLISTS, {"conflists": [item]}) for name, item in steps.items() if name != "move"]
    tasks[2:2] = thrice("move", CONFLISTS, {"conflists": [steps["move"]]})
    played = project.play(tasks, "--diff").succeeded()
    assert played["write"].files == {"10-a.conflist": "created"}
    assert played["change"].files == {"10-a.conflist": "changed"}
    assert '+      "mtu": 1400' in played.output
    assert played.require_converged("move").files == {"07-a.conflist": "created", "10-a.conflist": "removed"}
    assert played["rename"].files == {"zz.conflist": "created", "07-a.conflist": "removed"}
    assert [path.name for path in node.conf_dir.iterdir() if path.name[0] != "."] == ["zz.conflist"]


def test_the_mode_is_repaired_in_a_custom_directory(node: EngineNode, project: Project) -> None:
    directory = pathlib.Path("/etc/cni/mine/net.d")
    arguments: JsonObject = {"conflists": [{"config": network_named("a")}], "conf_dir": str(directory), "mode": "0600"}
    path = directory / "10-a.conflist"
    node.run("conflists", **arguments).succeeded()
    path.chmod(0o666)
    played = project.play(thrice("mend", CONFLISTS, arguments), "--diff").succeeded()
    assert played.require_converged("mend").files == {"10-a.conflist": "changed"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "0666" in played.output, "the diff does not show what has changed"


def test_a_network_is_removed_by_name_and_a_file_by_filename(node: EngineNode, project: Project) -> None:
    node.write(network_named("b"), "20-by-somebody-else.conflist")
    node.write(reference_networks.single(LOOPBACK, "0.4.0", "b"), "30-b.conf")
    node.write(network_named("c"))
    (node.conf_dir / "broken.conf").write_text("{", encoding="utf-8")
    node.run("conflists", conflists=[{"config": network_named(name)} for name in ("a", "b", "d")]).succeeded()
    remove = {
        "conflists": [
            {"config": network_named("a"), "state": "absent"},
            {"name": "b", "state": "absent"},
            {"filename": "broken.conf", "state": "absent"},
            {"filename": "none.conflist", "state": "absent"},
            {"name": "nobody", "state": "absent"},
            {"config": network_named("e")},
        ]
    }
    played = project.play(thrice("remove", CONFLISTS, remove), "--diff")
    removed = played.succeeded().require_converged("remove")
    gone = ["10-a.conflist", "10-b.conflist", "20-by-somebody-else.conflist", "30-b.conf", "broken.conf"]
    assert removed.files == {"10-e.conflist": "created", **dict.fromkeys(gone, "removed")}
    assert sorted(path.name for path in node.conf_dir.glob("[!.]*")) == [
        "10-c.conflist",
        "10-d.conflist",
        "10-e.conflist",
    ]
    assert '-  "name": "a",' in played.output


def test_purge_removes_only_unchanged_files_of_this_collection(node: EngineNode, project: Project) -> None:
    node.write(network_named("foreign"), "00-foreign.conflist")
    (node.conf_dir / "README").write_text("keep me\n", encoding="utf-8")
    same = node.write(network_named("same"), "10-same.conflist")
    items = {name: {"config": network_named(name)} for name in ("kept", "dropped", "edited")}
    adopted = {"content": same.read_text(encoding="utf-8")}
    written = node.run("conflists", conflists=[*items.values(), adopted]).succeeded().result
    assert [conflist["action"] for conflist in written["conflists"]] == ["created", "created", "created", "unchanged"]
    edited = node.conf_dir / "10-edited.conflist"
    edited.write_text(edited.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    (node.conf_dir / "10-dropped.conflist").chmod(0o640)
    foreign = [line for line in tree_lines(node.conf_dir, identity=True) if "kept" not in line]
    played = project.play(thrice("purge", CONFLISTS, {"conflists": [items["kept"]], "purge": True}), "--diff")
    purged = played.succeeded().require_converged("purge")
    assert purged.files == {"10-kept.conflist": "unchanged", "10-dropped.conflist": "removed"}
    listing = tree_lines(node.conf_dir, identity=True)
    assert [line for line in foreign if not line.startswith((".", "10-dropped"))] == [
        line for line in listing if not line.startswith((".", "10-kept"))
    ]
    again = [
        task("overwrite", CONFLISTS, {"conflists": [items["edited"]]}),
        task("purge", CONFLISTS, {"purge": True}),
    ]
    played = project.play(again).succeeded()
    assert played["overwrite"].files == {"10-edited.conflist": "changed"}
    assert played["purge"].files == {"10-edited.conflist": "removed", "10-kept.conflist": "removed"}
    assert sorted(path.name for path in node.conf_dir.iterdir()) == [
        "00-foreign.conflist",
        "10-same.conflist",
        "README",
    ]


def test_an_edited_file_stays_when_its_network_moves_and_causes_a_warning(node: EngineNode, project: Project) -> None:
    node.run("conflists", conflists=[{"config": network_named("a")}]).succeeded()
    old = node.conf_dir / "10-a.conflist"
    old.write_text(json.dumps(network_named("a", disableCheck=True)), encoding="utf-8")
    played = project.play(thrice("move", CONFLISTS, {"conflists": [{"config": network_named("a"), "priority": 20}]}))
    moved = played.succeeded().require_converged("move")
    assert moved.files == {"20-a.conflist": "created"}
    message = f"{old} and {node.conf_dir}/20-a.conflist define network a; runtimes use the first file"
    for suffix in (", predicted", "", ", again"):
        (warning,) = played["move" + suffix].warnings
        assert message in warning


def test_the_plugin_directory_beside_a_file_belongs_to_its_network(node: EngineNode, project: Project) -> None:
    beside = node.conf_dir / "a"
    beside.mkdir()
    (beside / "10-more.conf").write_text('{"type": "no-such-plugin"}', encoding="utf-8")
    empty = {"cniVersion": "1.1.0", "name": "b"}
    played = project.play(
        [
            task("probed", CONFLISTS, {"conflists": [{"config": network_named("a")}]}),
            task("without", CONFLISTS, {"conflists": [{"config": network_named("a", loadOnlyInlinedPlugins=True)}]}),
            task("no plugin anywhere", CONFLISTS, {"conflists": [{"config": empty}]}),
            task("only beside", CONFLISTS, {"conflists": [{"config": {**empty, "name": "a"}}], "probe": False}),
        ]
    )
    played["probed"].require_no_change().require_failure("plugin 'no-such-plugin' is not installed")
    assert played["without"].ok().changed
    played["no plugin anywhere"].require_no_change().require_failure("conflists[0]", "the network has no plugin")
    assert played["only beside"].ok().files == {"10-a.conflist": "changed"}
