# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins: installed, kept, repaired, rolled back and removed files, and files that stay unchanged."""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import subprocess

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.releases import BIN_DIR, SMALL, contents, installed
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import mount, tmpfs
from ansible_collections.cni.node.tests.support.state import tree_lines

PLUGINS = "cni.node.plugins"
NEXT = ("loopback", "static", "vlan")


def actions(done: TaskRun) -> dict[str, str]:
    return {plugin["name"]: plugin["action"] for plugin in done.result["plugins"]}


def test_an_archive_of_the_controller_is_found_like_any_file_and_installed_once(
    node: EngineNode, project: Project
) -> None:
    archive = releases.release(project.path / "files" / "plugins.tgz")
    BIN_DIR.rmdir()
    arguments = {"source": "plugins.tgz", "version": "v1.1.1", "checksum": releases.checksum(archive, "sha512")}
    played = project.play(thrice("install", PLUGINS, arguments), "--diff").succeeded()
    done = played.require_converged("install")
    assert actions(done) == dict.fromkeys(SMALL, "installed")
    assert (done.result["version"], done.result["previous"], done.result["kept"]) == ("1.1.1", None, [])
    assert done.msg == "plugins 1.1.1: 3 installed"
    assert installed() == contents(*SMALL)
    assert {(stat.filemode(path.stat().st_mode), path.owner()) for path in BIN_DIR.iterdir()} == {
        ("-rwxr-xr-x", "root")
    }
    assert done.result["diff"]["before"]["plugins"] == dict.fromkeys(SMALL, "absent")
    assert '+        "loopback": "' in played.output
    assert played["install, again"].msg == "plugins 1.1.1: 3 unchanged"
    files = [path for path in (project.path / ".ansible" / "remote").rglob("*") if path.is_file()]
    assert files == [], "what was sent is still there"


def test_upgrade_prune_rollback_and_removal_keep_foreign_files(node: EngineNode, project: Project) -> None:
    foreign = BIN_DIR / "calico"
    foreign.write_bytes(b"calico")
    foreign.chmod(0o4711)
    os.chown(foreign, 12, 34)
    (BIN_DIR / "calico-ipam").symlink_to("calico")
    before = [line for line in tree_lines("/opt/cni", identity=True) if "calico" in line]
    old = releases.release(project.path / "files" / "old.tgz")
    new = releases.release(project.path / "files" / "new.tgz", *NEXT, revision="2")
    played = project.play(
        [
            task("install", PLUGINS, {"source": old.name, "version": "1"}),
            *thrice("upgrade", PLUGINS, {"source": new.name, "version": "2"}),
            *thrice("roll back", PLUGINS, {"state": "rolled_back"}),
            *thrice("upgrade later", PLUGINS, {"source": new.name, "version": "2"}),
            *thrice("remove", PLUGINS, {"state": "absent"}),
        ],
        "--diff",
    ).succeeded()
    upgrade, back, remove = (played.require_converged(name) for name in ("upgrade", "roll back", "remove"))
    assert played.require_converged("upgrade later").result["kept"] == ["1"]
    assert actions(upgrade) == {"loopback": "updated", "static": "updated", "tuning": "removed", "vlan": "installed"}
    assert upgrade.msg == "plugins 2: 1 installed, 1 removed, 2 updated"
    assert [upgrade.result[key] for key in ("version", "previous", "kept")] == ["2", "1", ["1"]]
    assert actions(back) == {"loopback": "updated", "static": "updated", "tuning": "installed", "vlan": "removed"}
    assert [back.result[key] for key in ("version", "previous", "kept")] == ["1", "2", ["2"]]
    assert back.msg == "plugins, rolled back 1: 1 installed, 1 removed, 2 updated"
    assert actions(remove) == dict.fromkeys(NEXT, "removed")
    assert [line for line in tree_lines("/opt/cni", identity=True) if " drwx" not in line] == before
    assert list(node.cache_dir.iterdir()) == []


def test_a_running_plugin_can_be_replaced_and_continues(node: EngineNode, project: Project) -> None:
    sleep = pathlib.Path(shutil.which("sleep") or "/bin/sleep").resolve().read_bytes()
    old = releases.pack(project.path / "files" / "old.tgz", {"dhcp": sleep})
    new = releases.pack(project.path / "files" / "new.tgz", {"dhcp": sleep + b"2"})
    project.play([task("install", PLUGINS, {"source": old.name, "version": "1"})]).succeeded()
    with subprocess.Popen([BIN_DIR / "dhcp", "60"]) as daemon:
        try:
            with open(f"/proc/{daemon.pid}/exe", "rb") as running:
                played = project.play(thrice("upgrade", PLUGINS, {"source": new.name, "version": "2"})).succeeded()
                assert actions(played.require_converged("upgrade")) == {"dhcp": "updated"}
                assert daemon.poll() is None
                assert running.read() == sleep
        finally:
            daemon.kill()
    assert installed() == {"dhcp": sleep + b"2"}


def test_drift_is_found_and_repaired_without_the_source(node: EngineNode, project: Project) -> None:
    names = ("bandwidth", *SMALL)
    archive = releases.release(project.path / "plugins.tgz", *names)
    arguments: JsonObject = {
        "source": str(archive),
        "remote_src": True,
        "checksum": releases.checksum(archive),
        "version": "1",
    }
    project.play([task("install", PLUGINS, arguments)]).succeeded()
    archive.unlink()
    (BIN_DIR / "bandwidth").write_bytes(b"altered")
    (BIN_DIR / "loopback").unlink()
    (BIN_DIR / "static").chmod(0o4777)
    os.chown(BIN_DIR / "tuning", 12, 34)
    played = project.play(thrice("repair", PLUGINS, arguments), "--diff").succeeded()
    repaired = played.require_converged("repair")
    assert actions(repaired) == dict.fromkeys(names, "repaired")
    assert ", mode 4777, owner 0:0" in repaired.result["diff"]["before"]["plugins"]["static"]
    assert installed() == contents(*names)
    assert {(path.stat().st_mode & 0o7777, path.owner()) for path in BIN_DIR.iterdir()} == {(0o755, "root")}


def test_a_foreign_plugin_is_refused_adopted_or_backed_up(node: EngineNode, project: Project) -> None:
    archive = releases.release(project.path / "files" / "plugins.tgz")
    shutil.copy2(releases.REFERENCE / "loopback", BIN_DIR / "loopback")
    (BIN_DIR / "static").write_bytes(b"of a package")
    os.utime(BIN_DIR / "static", ns=(10**18, 10**18))
    before = tree_lines("/opt/cni")
    arguments = {"source": archive.name, "version": "1"}
    played = project.play(
        [
            task("refuse", PLUGINS, arguments),
            task("refuse, predicted", PLUGINS, arguments, check_mode=True),
            *thrice("force", PLUGINS, {**arguments, "force": True}),
            *thrice("remove", PLUGINS, {"state": "absent"}),
        ]
    )
    for name in ("refuse", "refuse, predicted"):
        played[name].require_no_change().require_failure(
            f"{BIN_DIR} has files with names of plugins", "has not installed: static; ", "force"
        )
    assert actions(played.require_converged("force")) == {
        "loopback": "adopted",
        "static": "updated",
        "tuning": "installed",
    }
    removed = played.require_converged("remove")
    assert actions(removed) == {"loopback": "restored", "static": "restored", "tuning": "removed"}
    assert tree_lines("/opt/cni") == before
    assert (BIN_DIR / "static").stat().st_mtime_ns == 10**18


def test_directories_of_the_node_and_of_the_controller_are_sources(node: EngineNode, project: Project) -> None:
    mine = project.path / "files" / "mine"
    mine.mkdir(parents=True)
    for name in SMALL:
        shutil.copy(releases.REFERENCE / name, mine / name)
    (mine / "README.md").write_text("no plugin", encoding="utf-8")
    (mine / "link").symlink_to("static")
    remote = {"source": str(releases.REFERENCE), "remote_src": True, "only": ["loopback", "static"]}
    played = project.play(
        [
            *thrice("node", PLUGINS, {**remote, "version": "debian"}),
            *thrice("controller", PLUGINS, {"source": "mine", "keep": 0}),
        ]
    ).succeeded()
    assert actions(played.require_converged("node")) == dict.fromkeys(("loopback", "static"), "installed")
    taken = played.require_converged("controller")
    assert actions(taken) == {"loopback": "unchanged", "static": "unchanged", "tuning": "installed"}
    assert installed() == contents(*SMALL)
    assert taken.result["version"].startswith("files:")
    assert taken.result["kept"] == []


def test_check_mode_reports_a_source_that_does_not_exist_yet(node: EngineNode, project: Project) -> None:
    arguments = {"source": "/srv/later.tgz", "remote_src": True, "version": "1"}
    played = project.play([task("predict", PLUGINS, arguments, check_mode=True), task("install", PLUGINS, arguments)])
    predicted = played["predict"].ok().require_unchanged_node()
    assert predicted.changed
    assert predicted.warnings == ["/srv/later.tgz is not on the node yet, so its plugins cannot be listed"]
    played["install"].require_no_change().require_failure("cannot read /srv/later.tgz: No such file or directory")


def test_two_directories_are_independent(node: EngineNode, project: Project) -> None:
    archive = releases.release(project.path / "files" / "plugins.tgz", "static")
    other = {"source": archive.name, "version": "1", "bin_dir": "/opt/cni/other"}
    played = project.play(
        [
            task("one", PLUGINS, {"source": archive.name, "version": "1"}),
            *thrice("other", PLUGINS, other),
            *thrice("remove", PLUGINS, {"state": "absent"}),
            task("other, still", PLUGINS, other),
        ]
    ).succeeded()
    assert actions(played.require_converged("other")) == {"static": "installed"}
    assert actions(played.require_converged("remove")) == {"static": "removed"}
    played["other, still"].require_no_change()
    assert not list(BIN_DIR.glob("*"))


def test_plugins_are_not_installed_where_nothing_can_run_them(node: EngineNode, project: Project) -> None:
    archive = str(releases.release(project.path / "plugins.tgz"))
    install = [{"name": name, **step} for name, step in _twice(archive).items()]
    with tmpfs("/opt", "mode=755,noexec"):
        played = project.play(install)
        for name in ("predict", "install"):
            played[name].require_no_change().require_failure(
                f"no plugin in {BIN_DIR} can be run: its file system is mounted with noexec", "cni_plugins_bin_dir"
            )


def test_check_mode_predicts_that_a_read_only_directory_cannot_be_written(node: EngineNode, project: Project) -> None:
    archive = str(releases.release(project.path / "plugins.tgz"))
    install = [{"name": name, **step} for name, step in _twice(archive).items()]
    with tmpfs("/opt", "mode=755,ro"):
        played = project.play(install)
        for name in ("predict", "install"):
            played[name].require_no_change().require_failure(
                f"cannot write to {BIN_DIR}: Read-only file system; set bin_dir to another directory",
                "cni_node_opt_dir",
            )
    project.play(install[1:]).succeeded()
    with mount("-o", "bind,ro", "/opt", "/opt"):
        project.play(install[1:]).succeeded()["install"].require_no_change()


def test_a_bin_dir_that_belongs_to_another_user_is_a_warning(node: EngineNode, project: Project) -> None:
    archive = str(releases.release(project.path / "plugins.tgz"))
    install = [{"name": name, **step} for name, step in _twice(archive).items()]
    assert project.play(install).succeeded()["install"].warnings == []
    os.chown(BIN_DIR, 1000, 0)
    (warning,) = project.play(install).succeeded()["install"].warnings
    assert f"{BIN_DIR}: its owner is not root" in warning
    assert f"run chown root {BIN_DIR}" in warning


def test_a_warning_names_its_host_in_a_play_of_several(node: EngineNode, project: Project) -> None:
    install = _twice(str(releases.release(project.path / "plugins.tgz")))["install"]
    os.chown(BIN_DIR, 1000, 0)
    project.inventory = "one,two,"
    shown = project.play([{"name": "install", **install}]).succeeded().tasks
    warnings = sorted(warning for step in shown for warning in step.warnings)
    assert [warning.partition(f": {BIN_DIR}: its owner is not root")[0] for warning in warnings] == ["one", "two"]


def _twice(archive: str) -> dict[str, JsonObject]:
    arguments: JsonObject = {
        "source": archive,
        "version": "1.1.1",
        "checksum": releases.checksum(pathlib.Path(archive)),
    }
    return {"predict": {PLUGINS: arguments, "check_mode": True}, "install": {PLUGINS: arguments}}
