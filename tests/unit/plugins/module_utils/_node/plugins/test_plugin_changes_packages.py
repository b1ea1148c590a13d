# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the distribution's packages are recognized, and not replaced silently."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.plugins import plugin_changes
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.bin_dir import BinDir, actions, release

RELEASE = release("1", "bridge", "ptp")
OUTPUTS: dict[str, tuple[str, dict[str, str]]] = {
    "dpkg-query": (
        "diversion by dash from: /bin/sh\\nkubernetes-cni: $2\\n",
        {"bridge": "kubernetes-cni", "ptp": "kubernetes-cni"},
    ),
    "rpm": (
        "file $4 is not owned by any package\\ncontainernetworking-plugins\\n",
        {"bridge": "containernetworking-plugins"},
    ),
    "apk": ("$3 is owned by cni-plugins-1.3.0-r5\\n", {"bridge": "cni-plugins"}),
}


def put_manager(directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Let this program be the only package manager of the node."""
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr(program, "find", lambda searched: str(path) if searched == name else None)


@pytest.mark.parametrize("name", OUTPUTS)
def test_each_package_manager_names_the_package_of_a_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, expected = OUTPUTS[name]
    put_manager(tmp_path, monkeypatch, name, f'printf "{text}"; exit 1')
    found = plugin_changes.find_packages("/opt/cni/bin", ["bridge", "ptp"])
    assert expected.items() <= found.items()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("dpkg-query", "dpkg-query: no path found matching pattern /opt/cni/bin/bridge"),
        ("rpm", "file /opt/cni/bin/bridge is not owned by any package"),
        ("rpm", "error: file /opt/cni/bin/bridge: No such file or directory"),
        ("apk", "ERROR: /opt/cni/bin/bridge: Could not find owner package"),
        ("dpkg-query", ""),
    ],
)
def test_a_file_outside_every_package_has_no_package(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    put_manager(tmp_path, monkeypatch, name, f"echo '{line}'; exit 1")
    assert plugin_changes.find_packages("/opt/cni/bin", ["bridge"]) == {}


def test_a_file_behind_links_is_looked_up_by_its_own_path(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_manager(
        tmp_path, monkeypatch, "dpkg-query", f'shift; for p; do [ "$p" = {tmp_path}/real ] && echo "cni: $p"; done'
    )
    (tmp_path / "real").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bridge").symlink_to(tmp_path / "real")
    assert plugin_changes.find_packages(str(tmp_path / "bin"), ["bridge", "ptp"]) == {"bridge": "cni"}


@pytest.fixture
def bin_dir(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> BinDir:
    """Return a bin dir whose file bridge belongs to a package."""

    def find_packages(directory: str, names: t.Iterable[str]) -> dict[str, str]:
        return {name: "kubernetes-cni" for name in names if name == "bridge"}

    monkeypatch.setattr(plugin_changes, "find_packages", find_packages)
    return BinDir(tmp_path)


@pytest.mark.parametrize("content", [b"of a package", RELEASE.files["bridge"]], ids=["another file", "the same file"])
def test_a_file_of_a_package_is_refused_by_the_packages_name(bin_dir: BinDir, content: bytes) -> None:
    path = bin_dir.put("bridge", content)
    for dry_run in (True, False):
        error = str(error_of(bin_dir.present, RELEASE, dry_run=dry_run))
        assert "that this collection has not installed: bridge (package kubernetes-cni); exclude these" in error
        assert "or remove kubernetes-cni, whose updates would replace the plugins, or set another 'bin_dir'" in error
    assert bin_dir.files() == {"bridge": content}
    forced = bin_dir.present(RELEASE, force=True)
    assert [(change.name, change.package) for change in forced.changes] == [("bridge", "kubernetes-cni"), ("ptp", "")]
    assert not bin_dir.present(RELEASE, has_source=False).changed
    bin_dir.present(release("2", "bridge", "ptp"))
    bin_dir.absent()
    assert path.read_bytes() == content


def test_a_package_that_has_replaced_an_installed_plugin_keeps_its_file(bin_dir: BinDir) -> None:
    bin_dir.present(RELEASE)
    bin_dir.put("bridge", b"of a package")
    bin_dir.put("ptp", b"altered")
    assert ": bridge (package kubernetes-cni); " in str(error_of(bin_dir.present, RELEASE))
    assert bin_dir.files() == {"bridge": b"of a package", "ptp": b"altered"}
    assert actions(bin_dir.present(RELEASE, force=True)) == {"bridge": "updated", "ptp": "repaired"}
    assert actions(bin_dir.absent()) == {"bridge": "restored", "ptp": "removed"}


def test_packages_are_not_looked_up_for_a_directory_without_foreign_files(
    bin_dir: BinDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_dir.present(RELEASE)
    monkeypatch.delattr(plugin_changes, "find_packages")
    assert not bin_dir.present(RELEASE, has_source=False).changed
    bin_dir.present(release("2", "bridge", "ptp"))
    bin_dir.roll_back()
