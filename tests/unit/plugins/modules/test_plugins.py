# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins: arguments, result, and SELinux labels."""

from __future__ import annotations

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import typing as t

import pytest
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive as plugin_archive
from ansible_collections.cni.node.plugins.module_utils._node.plugins import sources as plugin_sources
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner, outcome

Ensure = t.Callable[..., ModuleExit]
# The attachments and networks of this machine are ignored.
NETWORKS: JsonObject = {"conf_dir": "/proc/none"}


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "source"
    directory.mkdir()
    for name in ("bridge", "ptp"):
        (directory / name).write_text(name, encoding="ascii")
        (directory / name).chmod(0o755)
    return directory


@pytest.fixture
def ensure(run: ModuleRunner, tmp_path: pathlib.Path, source: pathlib.Path) -> Ensure:
    places: JsonObject = {"bin_dir": str(tmp_path / "opt" / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    given = {"source": str(source), "remote_src": True, "version": "1"}
    return lambda check_mode=False, **options: run(
        "plugins", check_mode=check_mode, **places, **({} if options.get("state") else given), **options
    )


def test_a_second_run_reports_no_change_and_no_file_is_left(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    predicted = ensure(check_mode=True).ok()
    assert predicted["msg"] == "plugins 1: 2 would be installed"
    assert os.listdir(tmp_path) == ["source"]
    done = ensure().ok()
    assert outcome(predicted) == outcome(done)
    assert [(plugin["name"], plugin["action"]) for plugin in done["plugins"]] == [
        ("bridge", "installed"),
        ("ptp", "installed"),
    ]
    assert (done["msg"], done["version"], done["previous"], done["kept"]) == ("plugins 1: 2 installed", "1", None, [])
    assert done["diff"]["after"] == {
        "version": "1",
        "kept": [],
        "plugins": {plugin["name"]: plugin["sha256"][:12] for plugin in done["plugins"]},
    }
    again = ensure().ok()
    assert (again["changed"], again["diff"], again["msg"]) == (
        False,
        {"before": {}, "after": {}},
        "plugins 1: 2 unchanged",
    )
    assert ensure(state="absent").ok()["msg"] == "plugins: 2 removed"
    assert os.listdir(tmp_path) == ["source"]
    assert ensure(state="absent").ok()["changed"] is False
    assert os.listdir(tmp_path) == ["source"]


CONVERGED = """
import sys
from ansible_collections.cni.node.plugins.module_utils._module import plugins
loaded = {"tarfile", "zipfile", "gzip", "urllib.request"} & sys.modules.keys()
assert not loaded, loaded
"""


def test_code_that_reads_archives_is_loaded_only_with_an_archive() -> None:
    subprocess.run([sys.executable, "-c", CONVERGED], check=True)


def test_kept_files_are_reported(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure().ok()
    (tmp_path / "opt" / "bin" / "ptp").write_text("of a package", encoding="ascii")
    warnings = [f"{tmp_path}/opt/bin/ptp is not removed, because it is not the file that was installed"]
    assert ensure(check_mode=True, only=["bridge"]).warnings == warnings
    assert ensure(state="absent").warnings == warnings
    assert os.listdir(tmp_path / "opt" / "bin") == ["ptp"]


def test_kept_files_are_reported_with_their_backup(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "opt" / "bin" / "ptp"
    path.parent.mkdir(parents=True)
    path.write_text("my own", encoding="ascii")
    ensure(force=True).ok()
    path.write_text("of a package", encoding="ascii")
    for check_mode in (True, False):
        (warning,) = ensure(check_mode, state="absent").warnings
        assert warning.startswith(
            f"{path} is not removed, because it is not the file that was installed; the file set aside for it, "
        )
        assert warning.endswith(f", is restored by the next run once {path} is gone")
        (aside,) = (pathlib.Path(word.strip(",")) for word in warning.split() if "/set-aside/" in word)
        assert aside.read_text(encoding="ascii") == "my own"


def test_an_empty_list_of_plugins_is_refused(ensure: Ensure) -> None:
    assert len(ensure(only=[]).ok()["plugins"]) == 2


@pytest.mark.parametrize("checksum", [None, "sha256:" + "0" * 64])
def test_check_mode_accepts_a_source_that_an_earlier_task_would_create(
    run: ModuleRunner, tmp_path: pathlib.Path, checksum: str | None
) -> None:
    given: JsonObject = {"source": "/nowhere/x.tgz", "remote_src": True, "version": "1", "checksum": checksum}
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    ran = run("plugins", **given, **places, check_mode=True)
    assert (ran.ok()["changed"], ran.ok()["plugins"], ran.ok()["version"]) == (True, [], "1")
    assert ran.warnings == ["/nowhere/x.tgz is not on the node yet, so its plugins cannot be listed"]
    assert "cannot read /nowhere/x.tgz" in run("plugins", **given, **places).require_refusal()


@pytest.mark.parametrize("name", ["none", "empty"])
def test_an_unreadable_source_is_named_with_its_machine(run: ModuleRunner, tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    path = tmp_path / name
    problem = {"none": f"cannot read {path}: No such file or directory", "empty": f"{path} has no plugin; "}[name]
    message = run("plugins", source=str(path), remote_src=True, **places).require_refusal()
    assert message.startswith(f"source on the node: {problem}")
    assert "for a source on the controller, set remote_src to false (cni_plugins_remote_src or" in message


def test_a_failure_leaves_no_directory_behind(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    assert "the release has no plugin tap" in ensure(only=["tap"]).require_refusal()
    assert os.listdir(tmp_path) == ["source"]


def test_a_trailing_slash_names_the_same_directory(ensure: Ensure, run: ModuleRunner, tmp_path: pathlib.Path) -> None:
    ensure().ok()
    gone = run("plugins", state="absent", bin_dir=f"{tmp_path}/opt/bin/", cache_dir=str(tmp_path / "var"), **NETWORKS)
    assert gone.ok()["msg"] == "plugins: 2 removed"


def test_a_controller_source_is_not_read_from_the_node(run: ModuleRunner, tmp_path: pathlib.Path) -> None:
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    assert "the source was not sent to the node" in run("plugins", source="/x.tgz", **places).require_refusal()


def test_the_controllers_content_is_requested_only_if_needed(run: ModuleRunner, tmp_path: pathlib.Path) -> None:
    given: JsonObject = {
        "source": "x",
        "bin_dir": str(tmp_path / "bin"),
        "cache_dir": str(tmp_path / "var"),
        **NETWORKS,
    }
    digest = {"digest": "sha256:" + "0" * 64}
    assert run("plugins", **given, _controller={"reference": digest}).ok()["needed"] == {"reference": "content"}
    assert os.listdir(tmp_path) == []
    listing = {**digest, "listing": {"bridge": "1" * 64}}
    predicted = run("plugins", **given, _controller={"reference": listing}, check_mode=True).ok()
    assert predicted["plugins"] == [{"name": "bridge", "set": "reference", "action": "installed", "sha256": "1" * 64}]
    assert predicted["version"] == "sha256:000000000000"


def test_plugins_get_the_selinux_label_of_the_nodes_policy(
    ensure: Ensure, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: dict[int, list[str]] = {}
    fresh = ["system_u", "object_r", "usr_t", "s0"]

    def default(module: AnsibleModule, path: str) -> list[str]:
        return ["system_u", "object_r", f"{os.path.basename(path)}_exec_t", "s0"]

    def label(module: AnsibleModule, path: str, context: list[str], changed: bool) -> bool:
        labels[os.stat(path).st_ino] = context
        return True

    monkeypatch.setattr(AnsibleModule, "selinux_enabled", lambda module: True)
    monkeypatch.setattr(AnsibleModule, "selinux_default_context", default)
    monkeypatch.setattr(AnsibleModule, "selinux_context", lambda module, path: labels.get(os.stat(path).st_ino, fresh))
    monkeypatch.setattr(AnsibleModule, "set_context_if_different", label)
    ensure().ok()
    assert sorted(context[2] for context in labels.values()) == ["bridge_exec_t", "ptp_exec_t"]
    assert not ensure().ok()["changed"]
    labels.clear()
    predicted, mended = (ensure(check_mode=check).ok() for check in (True, False))
    assert (
        {plugin["action"] for plugin in predicted["plugins"]}
        == {plugin["action"] for plugin in mended["plugins"]}
        == {"repaired"}
    )
    assert "wrong label" in mended["diff"]["before"]["plugins"]["bridge"]
    assert not ensure().ok()["changed"]


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "a relative directory": ({"bin_dir": "bin"}, "bin_dir: 'bin' is not an absolute path"),
    "a relative cache": ({"cache_dir": "var"}, "cache_dir: 'var' is not an absolute path"),
    "a negative number": ({"keep": -1}, "keep: -1; expected: a number of versions, 0 or more"),
    "no time": ({"timeout": 0}, "timeout: 0; expected: a number above 0"),
    "a way back with a version": ({"state": "rolled_back", "version": "1"}, "takes neither version nor source"),
    "nothing": ({}, "state is present but any of the following are missing: version, source, sets"),
    "a broken release": ({"version": "1.6.1"}, "version 1.6.1 of the reference plugins is refused"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_run_changes_nothing(
    run: ModuleRunner, tmp_path: pathlib.Path, options: JsonObject, message: str
) -> None:
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    given = options if set(options) & {"state", "version"} or not options else {"version": "1.9.1", **options}
    for check_mode in (True, False):
        assert message in run("plugins", check_mode=check_mode, **{**places, **given}).require_refusal()
    assert os.listdir(tmp_path) == []


def pack(path: pathlib.Path, content: bytes) -> pathlib.Path:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("bridge")
        member.size, member.mode = len(content), 0o755
        archive.addfile(member, io.BytesIO(content))
    return path


def test_only_verified_bytes_are_unpacked(
    run: ModuleRunner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, evil = pack(tmp_path / "good.tar", b"good"), pack(tmp_path / "evil.tar", b"evil")
    unpack = plugin_archive.plugins

    def swap(*arguments: t.Any) -> t.Iterator[tuple[str, bytes]]:
        os.replace(evil, good)
        return unpack(*arguments)

    monkeypatch.setattr(plugin_archive, "plugins", swap)
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    run("plugins", source=str(good), remote_src=True, **places).ok()
    assert not evil.exists()
    assert (tmp_path / "bin" / "bridge").read_bytes() == b"good"


def test_a_directory_that_changes_during_reading_is_refused(
    ensure: Ensure, tmp_path: pathlib.Path, source: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = plugin_sources.identity_of

    def swap(listing: t.Mapping[str, str]) -> str:
        (source / "ptp").write_text("evil", encoding="ascii")
        return take(listing)

    monkeypatch.setattr(plugin_sources, "identity_of", swap)
    assert f"{source}/ptp was changed while it was read" in ensure().require_refusal()
    assert os.listdir(tmp_path) == ["source"]


def test_a_plugin_replaced_by_a_link_before_reading_is_refused(
    ensure: Ensure, tmp_path: pathlib.Path, source: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("ptp", encoding="ascii")
    take = plugin_sources.identity_of

    def swap(listing: t.Mapping[str, str]) -> str:
        (source / "ptp").unlink()
        (source / "ptp").symlink_to(tmp_path / "secret")
        return take(listing)

    monkeypatch.setattr(plugin_sources, "identity_of", swap)
    assert f"cannot read {source}/ptp" in ensure().require_refusal()


def test_a_controller_directory_that_changes_after_listing_is_refused(
    run: ModuleRunner, tmp_path: pathlib.Path
) -> None:
    archive = pack(tmp_path / "sent.tar", b"evil")
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    listed = "files:" + "0" * 64
    refused = run(
        "plugins", source="mine", _controller={"reference": {"digest": listed, "archive": str(archive)}}, **places
    ).require_refusal()
    assert f"the plugins have changed since they were listed: expected {listed}, found files:" in refused
    assert os.listdir(tmp_path) == ["sent.tar"]


@pytest.mark.parametrize("remote", ["/dev/zero", "pipe"])
def test_a_source_that_is_a_pipe_is_not_waited_for(run: ModuleRunner, tmp_path: pathlib.Path, remote: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    places: JsonObject = {"bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "var"), **NETWORKS}
    path = str(tmp_path / remote)
    assert (
        f"cannot read {path}: it is not a regular file"
        in run("plugins", source=path, remote_src=True, **places).require_refusal()
    )


def test_a_node_without_plugins_gets_executables_of_the_built_in_ones(
    run: ModuleRunner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = libraries.describe_checkout(tmp_path / "lib")
    monkeypatch.setenv(*libraries.request(library).popitem())
    options = {"source": "builtin", "bin_dir": str(tmp_path / "bin"), "cache_dir": str(tmp_path / "cache"), **NETWORKS}
    refusal = run("plugins", **options).require_refusal()
    assert f"requires the library of the collection, which is not in {library.path}" in refusal
    libraries.install(library)
    first = run("plugins", **options).ok()
    assert (first["changed"], first["version"]) == (True, "1.9.1-builtin")
    assert {path.name for path in (tmp_path / "bin").iterdir()} == registry.TYPES
    assert not run("plugins", **options).ok()["changed"]
    assert probe_version(tmp_path / "bin" / "host-local")["supportedVersions"][-1] == "1.1.0"
    shutil.rmtree(library.path)
    error = probe_version(tmp_path / "bin" / "host-local", status=1)
    assert error["msg"] == f"the library of cni.node is not in {library.path}"


def probe_version(executable: pathlib.Path, status: int = 0) -> JsonObject:
    environment = {"CNI_COMMAND": "VERSION"}
    done = subprocess.run([executable], env=environment, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (status, b"")
    answer: JsonObject = json.loads(done.stdout)
    return answer


def test_executables_of_built_in_plugins_have_no_checksum(run: ModuleRunner, tmp_path: pathlib.Path) -> None:
    options: JsonObject = {"source": "builtin", "checksum": f"sha256:{'0' * 64}", "bin_dir": str(tmp_path / "bin")}
    refusal = run("plugins", **options, cache_dir=str(tmp_path / "cache")).require_refusal()
    assert "leave out checksum" in refusal
