# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins does not label a release with a version that its plugins contradict."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import tarfile
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.plugins import label as plugin_label
from ansible_collections.cni.node.plugins.module_utils._node.plugins.published import PINNED
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

OLD = "0.1.0, 0.4.0, 1.0.0"
NEW = f"{OLD}, 1.1.0"
UNKNOWN = "version unknown"


def plugin(name: str, version: str, protocols: str) -> bytes:
    """Return a program that prints the text of a reference plugin that is run without a command."""
    about = f"CNI {name} plugin {version}\nCNI protocol versions supported: {protocols}\n"
    return f'#!/bin/sh\n[ -z "$CNI_COMMAND" ] || exit 1\ncat >&2 <<END\n{about}END\n'.encode()


class PluginSource:
    def __init__(self, run: ModuleRunner, directory: pathlib.Path) -> None:
        self._run = run
        self.directory = directory
        self.source = directory / "source"
        self._runs = directory / "runs"
        self.bin_dir, self.cache_dir = directory / "bin", directory / "cache"

    def put(self, name: str, content: bytes) -> None:
        self.source.mkdir(exist_ok=True)
        (self.source / name).write_bytes(content)
        (self.source / name).chmod(0o755)

    def note_runs(self, content: bytes) -> bytes:
        """Return a script that adds a line to a file of the test before it does what this one does."""
        interpreter, dummy, body = content.partition(b"\n")
        return b"%b\necho run >> %b\n%b" % (interpreter, os.fsencode(self._runs), body)

    def count_runs(self) -> int:
        return len(self._runs.read_bytes().splitlines()) if self._runs.exists() else 0

    def pack(self, name: str = "source.tar") -> str:
        with tarfile.open(self.directory / name, "w") as archive:
            for path in sorted(self.source.iterdir()):
                member = tarfile.TarInfo(path.name)
                member.size, member.mode = path.stat().st_size, 0o755
                archive.addfile(member, io.BytesIO(path.read_bytes()))
        return str(self.directory / name)

    def ensure(self, version: str, **options: t.Any) -> ModuleExit:
        given: JsonObject = {"source": str(self.source), "remote_src": True, "version": version, **options}
        return self._run(
            "plugins",
            bin_dir=str(self.bin_dir),
            cache_dir=str(self.cache_dir),
            conf_dir="/proc/none",
            **given,
        )


@pytest.fixture
def place(run: ModuleRunner, tmp_path: pathlib.Path) -> PluginSource:
    return PluginSource(run, tmp_path)


CONTRADICTED = {
    "another version": ("1.9.1", "v1.8.0", NEW, "its plugin bridge reports version 1.8.0"),
    "too old": ("1.9.1", UNKNOWN, OLD, "its plugin bridge does not support version 1.1.0 of the specification"),
    "just too old": ("1.6.0", UNKNOWN, OLD, "its plugin bridge does not support version 1.1.0 of the specification"),
    "too new": ("1.5.1", UNKNOWN, NEW, "its plugin bridge supports version 1.1.0 of the specification"),
    "with a v": ("v1.9.1", "v1.1.1", OLD, "its plugin bridge reports version 1.1.1"),
}


@pytest.mark.parametrize("kind", ["directory", "archive"])
@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize(("version", "own", "protocols", "reason"), CONTRADICTED.values(), ids=CONTRADICTED)
def test_a_contradicted_version_is_refused(
    place: PluginSource, version: str, own: str, protocols: str, reason: str, check_mode: bool, kind: str
) -> None:
    place.put("bridge", plugin("bridge", own, protocols))
    source = place.pack() if kind == "archive" else str(place.source)
    before = sorted(os.listdir(place.directory))
    message = place.ensure(version, source=source, check_mode=check_mode).require_refusal()
    assert message.startswith(f"version: the release is not {version.strip('v')}: {reason}")
    assert "correct version or source" in message
    assert sorted(os.listdir(place.directory)) == before


AGREEING = {
    "its own": ("1.9.1", "v1.9.1", NEW),
    "of a distribution": ("1.1.1", UNKNOWN, OLD),
    "a later one of the same kind": ("1.1.99", UNKNOWN, OLD),
    "the last before": ("1.5.1", UNKNOWN, OLD),
    "the first of the next": ("1.6.0", UNKNOWN, NEW),
    "between releases": ("1.9.1", "v1.8.0-17-g0a1b2c3", NEW),
    "a name of one's own": ("1.9.1-mine", "v1.1.1", OLD),
    "a number of one's own": ("1", "v1.1.1", OLD),
    "none": ("", "v1.1.1", OLD),
}


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize(("version", "own", "protocols"), AGREEING.values(), ids=AGREEING)
def test_a_label_that_is_not_a_version_is_accepted(
    place: PluginSource, version: str, own: str, protocols: str, check_mode: bool
) -> None:
    place.put("bridge", plugin("bridge", own, protocols))
    done = place.ensure(version, check_mode=check_mode).ok()
    assert done["version"].startswith(version)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bridge", b"no program"),
        ("bridge", b"#!/bin/sh\nexit 7\n"),
        ("bridge", b"#!/bin/sh\nkill -9 $$\n"),
        ("bridge", b"#!/nowhere\n"),
        ("bridge", plugin("ptp", "v1.1.1", OLD)),
        ("mine", plugin("mine", "v0.1.0", OLD)),
    ],
    ids=["no program", "failing", "killed", "no interpreter", "of another name", "no reference plugin"],
)
def test_a_plugin_without_a_release_string_contradicts_no_label(place: PluginSource, name: str, content: bytes) -> None:
    place.put(name, content)
    assert place.ensure("1.9.1").ok()["version"] == "1.9.1"


def test_a_hanging_plugin_is_not_waited_for() -> None:
    contradicts_late = b"#!/bin/sh\nsleep 20\necho CNI bridge plugin v1.8.0\n"
    plugin_label.require_version_of_plugin("1.9.1", "bridge", contradicts_late, timeout=0.2)


def test_one_contradicting_plugin_suffices_and_excluded_ones_do_not_count(place: PluginSource) -> None:
    place.put("bridge", plugin("bridge", "v1.9.1", NEW))
    place.put("ptp", plugin("ptp", "v1.8.0", NEW))
    assert "its plugin ptp reports version 1.8.0" in place.ensure("1.9.1").require_refusal()
    place.ensure("1.9.1", only=["bridge"]).ok()


@pytest.mark.parametrize("check_mode", [True, False])
def test_the_name_of_an_installed_release_does_not_become_a_contradicted_one(
    place: PluginSource, check_mode: bool
) -> None:
    place.put("bridge", plugin("bridge", "v1.8.0", NEW))
    place.ensure("1.8.0").ok()
    assert "its plugin bridge reports version 1.8.0" in place.ensure("1.9.1", check_mode=check_mode).require_refusal()
    assert place.ensure("1.8.0").ok()["changed"] is False
    assert place.ensure("mine", check_mode=check_mode).ok()["version"] == "mine"


def test_a_converged_run_runs_no_plugin(place: PluginSource) -> None:
    place.put("bridge", place.note_runs(plugin("bridge", "v1.9.1", NEW)))
    place.ensure("1.9.1").ok()
    assert place.count_runs() == 1
    assert place.ensure("1.9.1").ok()["changed"] is False
    assert place.count_runs() == 1


@pytest.mark.parametrize("check_mode", [True, False])
def test_an_archive_with_a_known_digest_has_one_version(
    place: PluginSource, check_mode: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put("bridge", place.note_runs(plugin("bridge", UNKNOWN, NEW)))
    archive = place.pack()
    digest = hashlib.sha256(pathlib.Path(archive).read_bytes()).hexdigest()
    monkeypatch.setitem(PINNED, "1.8.0", {"amd64": digest})
    message = place.ensure("1.9.1", source=archive, check_mode=check_mode).require_refusal()
    assert message.startswith("version: the release is not 1.9.1: its archive has the digest of 1.8.0")
    place.ensure("1.8.0", source=archive, check_mode=check_mode).ok()
    assert place.count_runs() == 0


def test_check_mode_requests_the_controllers_content_only_for_its_version(place: PluginSource) -> None:
    sent: JsonObject = {
        "source": "x",
        "remote_src": False,
        "check_mode": True,
        "_controller": {"reference": {"digest": "files:" + "0" * 64}},
    }
    assert place.ensure("1.9.1", **sent).ok()["needed"] == {"reference": "content"}
    for version in ("", "mine"):
        assert place.ensure(version, **sent).ok()["needed"] == {"reference": "listing"}
