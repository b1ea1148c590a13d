# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins with a full disk, a killed run, and two simultaneous runs."""

from __future__ import annotations

import itertools
import pathlib
import shutil
import threading

import pytest

from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.releases import BIN_DIR, SMALL, STORE, contents, installed
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, ModuleRun, wait_for_result
from ansible_collections.cni.node.tests.integration.engine.faults import Fault
from ansible_collections.cni.node.tests.integration.engine.forks import Forks
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.support.state import tree_lines


def install(node: EngineNode, archive: pathlib.Path, version: str = "1", **options: object) -> ModuleRun:
    return node.run("plugins", source=str(archive), remote_src=True, version=version, **options)


def test_a_full_disk_changes_nothing(node: EngineNode, tmp_path: pathlib.Path) -> None:
    old, new = (releases.release(tmp_path / f"{number}.tgz", revision=number) for number in "12")
    needed = sum(map(len, contents(*SMALL).values())) // 1024
    # Space for two releases where three are needed, and for none.
    for directory, size in ((BIN_DIR, needed * 3 // 2), (node.cache_dir, needed * 3 // 2)):
        with tmpfs(directory, f"size={size}k,mode=755"):
            install(node, old).succeeded()
            before = tree_lines("/opt/cni", identity=True), tree_lines(STORE)
            install(node, new, "2").require_failure("cannot write ", "No space left on device")
            assert (tree_lines("/opt/cni", identity=True), tree_lines(STORE)) == _without_times(before)
            assert not install(node, old).succeeded().result["changed"]
            node.run("plugins", state="absent").succeeded()
        with tmpfs(directory, "size=64k,mode=755"):
            install(node, old).require_failure("cannot write ", "No space left on device")
            assert list(BIN_DIR.iterdir()) == []
            assert list(node.cache_dir.iterdir()) == []


def _without_times(before: tuple[list[str], list[str]]) -> tuple[list[str], list[str]]:
    """Return the state without the directory's own times, which temporary files change."""
    directory = next(line for line in tree_lines("/opt/cni", identity=True) if line.startswith("bin "))
    return [directory if line.startswith("bin ") else line for line in before[0]], before[1]


@pytest.mark.usefixtures("node")
def test_a_run_killed_in_the_middle_is_finished_by_the_next_one(tmp_path: pathlib.Path) -> None:
    arguments, expected = {}, {}
    for version in "12":
        source = releases.release(tmp_path / f"{version}.tgz", revision=version)
        arguments[version] = {"source": str(source), "remote_src": True, "version": version}
        expected[version] = contents(*SMALL, revision=version)
    killed: list[str] = []
    with Forks() as forks:
        while True:
            # Otherwise files of an earlier run would be restored in fewer steps.
            for before in ({"state": "absent"}, arguments["1"]):
                forks.run("plugins", before).require_result().succeeded()
            run = forks.run("plugins", arguments["2"], Fault("SIGKILL", len(killed), among=("rename",)))
            if not run.hit:
                break
            killed += run.hit
            for name, content in ((path.name, path.read_bytes()) for path in BIN_DIR.glob("[!.]*")):
                assert content in (expected["1"][name], expected["2"][name])
            assert forks.run("plugins", arguments["1"]).require_result().succeeded().result["version"] == "1"
            assert installed() == expected["1"]
            assert {path.suffix for path in BIN_DIR.iterdir()} == {""}, "a temporary file is left"
    run.require_result().succeeded()
    assert installed() == expected["2"]
    assert all(any(f" {place}/" in where for where in killed) for place in (STORE, BIN_DIR))


def test_simultaneous_runs_are_serialised(node: EngineNode, tmp_path: pathlib.Path) -> None:
    archive = releases.release(tmp_path / "plugins.tgz")
    arguments = {"source": str(archive), "remote_src": True, "version": "1"}
    processes = [node.start("plugins", **arguments) for dummy in range(3)]
    done = [wait_for_result(process).succeeded().result for process in processes]
    assert sorted(result["changed"] for result in done) == [False, False, True]
    assert installed() == contents(*SMALL)


def test_an_archive_that_is_swapped_all_the_time_is_installed_whole_or_not_at_all(
    node: EngineNode, tmp_path: pathlib.Path
) -> None:
    good = releases.release(tmp_path / "good.tgz", "static")
    evil = releases.release(tmp_path / "evil.tgz", "static", revision="evil")
    source, ended = tmp_path / "plugins.tgz", threading.Event()
    shutil.copy(good, source)

    def swap() -> None:
        for kept in itertools.cycle((evil, good)):
            if ended.wait(0.002):
                return
            shutil.copy(kept, tmp_path / "next.tgz")
            (tmp_path / "next.tgz").replace(source)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for dummy in range(12):
            done = install(node, source, checksum=releases.checksum(good))
            if done.status == 0:
                assert installed() == contents("static")
            else:
                done.require_failure("has the wrong digest")
                assert not BIN_DIR.exists() or installed() == {}
            node.run("plugins", state="absent").succeeded()
    finally:
        ended.set()
        swapper.join()


@pytest.mark.parametrize("damage", ["cut off", "wrong type", "link"])
def test_a_damaged_manifest_stops_a_run_before_it_changes_anything(
    node: EngineNode, tmp_path: pathlib.Path, damage: str
) -> None:
    old, new = (releases.release(tmp_path / f"{number}.tgz", revision=number) for number in "12")
    install(node, old).succeeded()
    (manifest,) = STORE.rglob("manifest.json")
    content = manifest.read_bytes()
    if damage == "link":
        manifest.rename(manifest.with_name("elsewhere"))
        manifest.symlink_to("/nonexistent/manifest.json")
    else:
        manifest.write_bytes(
            content[:50] if damage == "cut off" else content.replace(b'"installed":{', b'"installed":[],"x":{')
        )
    before = tree_lines("/opt/cni", identity=True), tree_lines(STORE)
    for options in ({"version": "2"}, {"version": "2", "_ansible_check_mode": True}):
        install(node, new, **options).require_failure(
            f"{manifest} is damaged (", "restore it from a backup, or remove "
        )
    node.run("plugins", state="absent").require_failure(f"{manifest} is damaged (")
    assert (tree_lines("/opt/cni", identity=True), tree_lines(STORE)) == before
    manifest.unlink()
    manifest.write_bytes(content)
    assert node.run("plugins", state="absent").succeeded().result["changed"]
