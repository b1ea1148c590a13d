# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import stat
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

Write = t.Callable[..., ModuleExit]


@pytest.fixture
def write(
    run: ModuleRunner, tmp_path: pathlib.Path, program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Write:
    monkeypatch.setattr(live_namespaces, "reachable_paths", dict)
    places = {"conf_dir": "net.d", "cache_dir": "cache", "path": "textfile/cni.prom"}
    fixed = {**{key: str(tmp_path / name) for key, name in places.items()}, "plugin_dirs": [str(tmp_path / "bin")]}
    return lambda **options: run("metrics", **{**fixed, **options})


def test_a_second_run_writes_the_time_and_reports_no_change(write: Write, tmp_path: pathlib.Path) -> None:
    assert write().ok()["changed"]
    file = tmp_path / "textfile" / "cni.prom"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    old = file.read_text(encoding="utf-8").rsplit(" ", 1)[0]
    file.write_text(f"{old} 1\n", encoding="utf-8")
    assert not write().ok()["changed"]
    assert not file.read_text(encoding="utf-8").endswith(" 1\n")


def test_another_number_is_a_change_with_a_difference(write: Write, tmp_path: pathlib.Path) -> None:
    write().ok()
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "10-x.conflist").write_text("{", encoding="utf-8")
    predicted, done = write(check_mode=True).ok(), write().ok()
    assert (predicted["changed"], done["changed"]) == (True, True)
    assert predicted["metrics"] == done["metrics"]
    assert 'cni_node_broken_files{kind="network"} 1' in done["diff"][0]["after"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_of_another_user_is_replaced_and_what_it_leads_to_is_not_shown(
    write: Write, tmp_path: pathlib.Path, link: t.Callable[[pathlib.Path, pathlib.Path], None]
) -> None:
    secret, file = tmp_path / "secret", tmp_path / "textfile" / "cni.prom"
    secret.write_text("root:hash", encoding="utf-8")
    file.parent.mkdir()
    link(secret, file)
    predicted, done = write(check_mode=True).ok(), write().ok()
    assert (predicted["changed"], done["changed"]) == (True, True)
    assert [result["diff"][0]["before"] for result in (predicted, done)] == ["", ""]
    assert (secret.read_text(encoding="utf-8"), file.is_symlink()) == ("root:hash", False)
    assert "cni_node" in file.read_text(encoding="utf-8")


def test_a_link_without_an_end_is_replaced(write: Write, tmp_path: pathlib.Path) -> None:
    (tmp_path / "textfile").mkdir()
    (tmp_path / "textfile" / "cni.prom").symlink_to("/dev/zero")
    assert write().ok()["changed"]
    assert not write().ok()["changed"]


def test_check_mode_writes_no_file(write: Write, tmp_path: pathlib.Path) -> None:
    assert write(check_mode=True).ok()["changed"]
    assert not (tmp_path / "textfile").exists()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/tmp/cni.txt", "; expected: an absolute path that ends in .prom"),
        ("relative.prom", " is not an absolute path"),
    ],
)
def test_a_name_that_node_exporter_does_not_read_is_refused(write: Write, path: str, why: str) -> None:
    assert f"path: {path!r}{why}" in write(path=path).require_refusal()
