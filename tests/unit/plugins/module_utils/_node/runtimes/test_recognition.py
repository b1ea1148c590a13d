# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The runtimes of a node are recognised by their programs and services."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import program, service
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime, find_runtimes
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES, RUNTIMES

# What the programs print, with the version in it.
PRINTED = {
    "apptainer": ("apptainer version 1.5.3\n", "1.5.3"),
    "containerd": ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", "1.6.20~ds1"),
    "crio": ("crio version 1.36.3\nVersion:        1.36.3\nGitCommit:      unknown\n", "1.36.3"),
    "k3s": ("k3s version v1.31.2+k3s1 (6da20424)\ngo version go1.22.8\n", "1.31.2+k3s1"),
    "kubelet": ("Kubernetes v1.31.0\n", "1.31.0"),
    "nerdctl": ("nerdctl version 2.3.5\n", "2.3.5"),
    "nomad": ("Nomad v2.0.5\nBuildDate 2026-08-01T00:00:00Z\nRevision abc\n", "2.0.5"),
    "podman": ("podman version 4.3.1\n", "4.3.1"),
    "rke2": ("rke2 version v1.35.7+rke2r1 (abc)\ngo version go1.24.1\n", "1.35.7+rke2r1"),
}

Node = t.Callable[..., list[FoundRuntime]]


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a function that looks for runtimes on a node with some programs and units."""

    def find(
        programs: t.Mapping[str, str] | None = None, units: t.Mapping[str, bool] | None = None
    ) -> list[FoundRuntime]:
        programs, units = programs or {}, units or {}
        for name, printed in programs.items():
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\n", encoding="utf-8")
            path.chmod(0o755)
        paths = {name: str(tmp_path / name) for name in programs}
        monkeypatch.setattr(program, "find", paths.get)
        monkeypatch.setattr(
            service, "unit_states", lambda wanted: {unit: units[unit] for unit in wanted if unit in units}
        )
        return find_runtimes(str(tmp_path / "root"))

    return find


def test_no_runtime_is_found_on_an_empty_node(node: Node) -> None:
    assert node() == []


@pytest.mark.parametrize("name", NAMES)
def test_a_runtime_is_found_by_its_program_which_tells_its_version(node: Node, name: str) -> None:
    printed, version = PRINTED[name]
    (row,) = (runtime for runtime in RUNTIMES if runtime.name == name)
    (found,) = node({os.path.basename(row.setup.version[0]): printed})
    assert (found.runtime.name, found.version) == (name, version)


def test_a_service_is_found_without_its_program(node: Node) -> None:
    (found,) = node(units={"k3s-agent.service": True})
    facts = found.as_dict()
    assert (facts["name"], facts["version"], facts["program"]) == ("k3s", "", "")
    assert facts["units"] == [{"name": "k3s-agent.service", "active": True}]


def test_a_program_that_fails_has_no_version(node: Node, tmp_path: pathlib.Path) -> None:
    (found,) = node({"podman": ""})
    (tmp_path / "podman").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert found.version == ""


def test_a_configuration_that_cannot_be_read_is_reported_and_the_usual_directories_are_assumed(
    node: Node, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "root/etc/crio/crio.conf"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(5 * 1024 * 1024))
    (found,) = node({"crio": PRINTED["crio"][0]})
    assert found.error is not None
    assert str(file) in found.error.msg
    assert (found.conf_path, found.searched_dirs) == ("/etc/cni/net.d", ("/opt/cni/bin",))


def test_a_runtime_that_searches_one_directory_searches_the_first_that_exists(
    node: Node, tmp_path: pathlib.Path
) -> None:
    root = tmp_path / "root"
    (root / "usr/lib/cni").mkdir(parents=True)
    (found,) = node({"nerdctl": PRINTED["nerdctl"][0]})
    assert found.searched_dirs == (f"{root}/usr/lib/cni",)
    (root / "opt/cni/bin").mkdir(parents=True)
    assert found.searched_dirs == (f"{root}/opt/cni/bin",)
