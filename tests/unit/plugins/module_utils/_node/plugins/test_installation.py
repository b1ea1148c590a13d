# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plugins of a bin dir are installed, upgraded, repaired, rolled back and removed; other files are left alone."""

from __future__ import annotations

import errno
import os
import pathlib
import stat
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.bin_dir import (
    BinDir,
    NotKept,
    Release,
    actions,
    release,
)

OLD, NEW = release("1", "bridge", "flannel", "ptp"), release("2", "bridge", "ptp", "tap")


@pytest.fixture
def bin_dir(tmp_path: pathlib.Path) -> BinDir:
    return BinDir(tmp_path)


def test_a_release_is_installed_once(bin_dir: BinDir) -> None:
    predicted = bin_dir.present(OLD, dry_run=True)
    assert not bin_dir.path.exists()
    assert not bin_dir.cache.exists()
    done = bin_dir.present(OLD)
    assert predicted == done
    assert actions(done) == dict.fromkeys(OLD.files, "installed")
    assert (done.version, done.previous, done.kept, done.changed) == ("1", None, [], True)
    assert bin_dir.files() == OLD.files
    assert {stat.S_IMODE(path.stat().st_mode) for path in bin_dir.path.iterdir()} == {0o755}
    inodes = {path.name: path.stat().st_ino for path in bin_dir.path.iterdir()}
    again = bin_dir.present(OLD, has_source=False)
    assert (set(actions(again).values()), again.changed, again.previous) == ({"unchanged"}, False, "1")
    assert inodes == {path.name: path.stat().st_ino for path in bin_dir.path.iterdir()}


def test_another_version_for_the_same_release_is_a_change(bin_dir: BinDir) -> None:
    bin_dir.present(OLD)
    renamed = Release("1-lts", OLD.files)
    predicted, done = (bin_dir.present(renamed, has_source=False, dry_run=dry) for dry in (True, False))
    assert predicted == done
    assert (done.changed, done.version, done.previous) == (True, "1-lts", "1")
    assert set(actions(done).values()) == {"unchanged"}
    assert not bin_dir.present(renamed, has_source=False).changed


def test_a_release_keeps_its_version_if_none_is_given(bin_dir: BinDir) -> None:
    unnamed = Release("", OLD.files)
    bin_dir.present(OLD, ["ptp"])
    for plugins in (["ptp"], ["ptp", "bridge"]):
        done = bin_dir.present(unnamed, plugins)
        assert (done.version, done.changed) == ("1", len(plugins) > 1)


def test_an_upgrade_prunes_dropped_plugins_and_can_be_rolled_back_once(bin_dir: BinDir) -> None:
    bin_dir.present(OLD)
    upgraded = bin_dir.present(NEW)
    assert actions(upgraded) == {"bridge": "updated", "ptp": "updated", "tap": "installed", "flannel": "removed"}
    assert (upgraded.version, upgraded.previous, upgraded.kept) == ("2", "1", ["1"])
    assert bin_dir.files() == NEW.files
    predicted, back, again = bin_dir.roll_back(dry_run=True), bin_dir.roll_back(), bin_dir.roll_back()
    assert predicted == back
    assert (back.version, back.previous, back.kept, back.changed) == ("1", "2", ["2"], True)
    assert (again.version, again.previous, again.kept, again.changed) == ("1", "1", ["2"], False)
    assert bin_dir.files() == OLD.files
    assert bin_dir.present(NEW, has_source=False).version == "2", "what was rolled back from is kept too"
    assert bin_dir.roll_back().version == "1"


def test_as_many_releases_are_kept_as_requested(bin_dir: BinDir) -> None:
    for number in "1234":
        bin_dir.present(release(number, "bridge"), keep=2)
    assert bin_dir.present(release("4", "bridge"), keep=2).kept == ["3", "2"]
    with pytest.raises(NotKept):
        bin_dir.present(release("1", "bridge"), has_source=False)
    fewer = bin_dir.present(release("4", "bridge"), keep=0, has_source=False)
    assert (fewer.kept, fewer.changed) == ([], True)
    assert bin_dir.list_unlisted() == []
    assert "no version before 4 is kept" in str(error_of(bin_dir.roll_back))


def test_a_repeated_rollback_goes_back_one_release_only(bin_dir: BinDir) -> None:
    for number in "123":
        bin_dir.present(release(number, "bridge"), keep=5)
    assert bin_dir.present(release("3", "bridge"), keep=5).earlier == "2"
    backs = [bin_dir.roll_back(keep=5) for dummy in range(3)]
    assert [(back.version, back.earlier) for back in backs] == [("2", None)] * 3
    assert bin_dir.present(release("4", "bridge"), keep=5).kept == ["2", "3", "1"]
    assert bin_dir.roll_back(keep=5).version == "2"


def test_a_rollback_without_an_earlier_release_is_refused(bin_dir: BinDir) -> None:
    assert f"no plugins are installed in {bin_dir.path}" in str(error_of(bin_dir.roll_back))
    bin_dir.present(OLD)
    assert "no version before 1 is kept" in str(error_of(bin_dir.roll_back))


def test_a_rollback_to_a_damaged_release_is_refused(bin_dir: BinDir) -> None:
    bin_dir.present(OLD)
    bin_dir.present(NEW)
    kept = pathlib.Path(bin_dir.store.file(bin_dir.manifest.releases[0], "bridge"))
    kept.write_bytes(b"damaged")
    assert "missing or damaged" in str(error_of(bin_dir.roll_back))
    assert bin_dir.files() == NEW.files
    assert bin_dir.present(OLD).version == "1"


def test_drift_is_repaired_from_kept_releases(bin_dir: BinDir) -> None:
    names = ("altered", "removed", "open", "linked", "fine")
    installed = release("1", *names)
    bin_dir.present(installed)
    (bin_dir.path / "altered").write_bytes(b"altered of 0")
    (bin_dir.path / "removed").unlink()
    (bin_dir.path / "open").chmod(0o777)
    (bin_dir.path / "linked").unlink()
    (bin_dir.path / "linked").symlink_to("/bin/true")
    predicted, mended = (bin_dir.present(installed, has_source=False, dry_run=dry) for dry in (True, False))
    assert predicted == mended
    assert actions(mended) == {**dict.fromkeys(names, "repaired"), "fine": "unchanged"}
    assert bin_dir.files() == installed.files
    assert {stat.S_IMODE(path.lstat().st_mode) for path in bin_dir.path.iterdir()} == {0o755}
    assert not bin_dir.present(installed, has_source=False).changed


def test_the_option_only_selects_plugins_and_removes_the_others(bin_dir: BinDir) -> None:
    assert actions(bin_dir.present(OLD, ["bridge", "ptp"])) == {"bridge": "installed", "ptp": "installed"}
    assert actions(bin_dir.present(OLD, ["ptp"], has_source=False)) == {"ptp": "unchanged", "bridge": "removed"}
    assert bin_dir.list_unlisted() == []
    assert actions(bin_dir.present(OLD)) == {"bridge": "installed", "flannel": "installed", "ptp": "unchanged"}
    unknown = error_of(bin_dir.present, OLD, ["bridge", "brigde"])
    assert str(unknown) == "only: the release has no plugin brigde; it has bridge, flannel, ptp"


def identities(bin_dir: BinDir) -> dict[str, tuple[int, int, int]]:
    """Return the inode, mode and change time of each file."""
    statuses = {path.name: path.stat() for path in bin_dir.path.iterdir()}
    return {name: (status.st_ino, status.st_mode, status.st_mtime_ns) for name, status in statuses.items()}


def test_a_foreign_file_is_an_error(bin_dir: BinDir) -> None:
    bin_dir.put("calico", b"calico")
    bin_dir.put("bridge", b"foreign")
    before = identities(bin_dir)
    for dry_run in (True, False):
        error = str(error_of(bin_dir.present, OLD, dry_run=dry_run))
        assert error.startswith(
            f"{bin_dir.path} has files with names of plugins that this collection has not installed"
        )
        assert ": bridge; exclude these plugins with 'only', or set 'force'" in error
    assert identities(bin_dir) == before
    assert actions(bin_dir.present(OLD, ["ptp"])) == {"ptp": "installed"}


def test_a_file_that_was_set_aside_is_restored(bin_dir: BinDir) -> None:
    foreign = bin_dir.put("bridge", b"foreign", 0o750)
    os.utime(foreign, ns=(10**18, 10**18))
    (bin_dir.path / "ptp").symlink_to("bridge")
    predicted, taken = (bin_dir.present(OLD, force=True, dry_run=dry) for dry in (True, False))
    assert predicted == taken
    assert actions(taken) == {"bridge": "updated", "flannel": "installed", "ptp": "updated"}
    assert bin_dir.files() == OLD.files
    assert actions(bin_dir.present(OLD, ["flannel", "ptp"])) == {
        "flannel": "unchanged",
        "ptp": "unchanged",
        "bridge": "restored",
    }
    assert (foreign.read_bytes(), foreign.stat().st_mtime_ns) == (b"foreign", 10**18)
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o750
    assert actions(bin_dir.absent()) == {"flannel": "removed", "ptp": "restored"}
    assert os.readlink(bin_dir.path / "ptp") == "bridge"
    assert sorted(os.listdir(bin_dir.path)) == ["bridge", "ptp"]


def test_an_identical_file_is_adopted_and_remains_after_removal(bin_dir: BinDir) -> None:
    path = bin_dir.put("bridge", OLD.files["bridge"])
    inode = path.stat().st_ino
    adopted = bin_dir.present(OLD, ["bridge"])
    assert (actions(adopted), adopted.changed) == ({"bridge": "adopted"}, True)
    assert not bin_dir.present(OLD, ["bridge"], has_source=False).changed
    bin_dir.absent()
    assert (path.stat().st_ino, path.read_bytes()) == (inode, OLD.files["bridge"])
    bin_dir.present(OLD, ["bridge"])
    bin_dir.present(NEW, ["bridge"])
    bin_dir.absent()
    assert path.read_bytes() == OLD.files["bridge"]


def test_absent_restores_the_directory(bin_dir: BinDir) -> None:
    assert not bin_dir.absent().changed
    bin_dir.present(OLD)
    assert bin_dir.absent(dry_run=True) == bin_dir.absent()
    assert not bin_dir.path.exists(), "the directory was not there before"
    bin_dir.put("calico", b"calico")
    bin_dir.present(OLD)
    bin_dir.absent()
    assert bin_dir.files() == {"calico": b"calico"}
    assert not os.path.exists(bin_dir.store.path)


def test_a_foreign_file_in_place_of_a_plugin_is_not_removed(bin_dir: BinDir) -> None:
    bin_dir.present(OLD)
    bin_dir.put("bridge", b"from a package")
    bin_dir.put("flannel", b"from another one")
    upgraded = bin_dir.present(Release("2", {"ptp": b"ptp of 1"}))
    assert (actions(upgraded), upgraded.not_removed) == ({"ptp": "unchanged"}, {"bridge": "", "flannel": ""})
    assert actions(bin_dir.absent()) == {"ptp": "removed"}
    assert bin_dir.files() == {"bridge": b"from a package", "flannel": b"from another one"}


WITHOUT_BRIDGE: dict[str, t.Callable[..., InstallResult]] = {
    "absent": BinDir.absent,
    "only": lambda bin_dir, **options: bin_dir.present(OLD, ["ptp"], **options),
    "upgrade": lambda bin_dir, **options: bin_dir.present(release("3", "ptp"), **options),
}


@pytest.mark.parametrize("leave", WITHOUT_BRIDGE.values(), ids=WITHOUT_BRIDGE)
def test_a_file_that_was_set_aside_is_kept_while_another_file_has_its_path(
    bin_dir: BinDir, leave: t.Callable[..., InstallResult]
) -> None:
    foreign = bin_dir.put("bridge", b"foreign", 0o750)
    bin_dir.present(OLD, force=True)
    bin_dir.put("bridge", b"from a package")
    aside = pathlib.Path(bin_dir.store.set_aside("bridge"))
    for changed in (True, False):
        predicted, removal = (leave(bin_dir, dry_run=dry) for dry in (True, False))
        assert predicted == removal
        assert (removal.not_removed, removal.changed) == ({"bridge": str(aside)}, changed)
        assert (foreign.read_bytes(), aside.read_bytes()) == (b"from a package", b"foreign")
    assert bin_dir.list_unlisted() == []
    foreign.unlink()
    assert actions(leave(bin_dir))["bridge"] == "restored"
    assert (foreign.read_bytes(), stat.S_IMODE(foreign.stat().st_mode)) == (b"foreign", 0o750)
    bin_dir.absent()
    assert (bin_dir.files(), os.path.exists(bin_dir.store.path)) == ({"bridge": b"foreign"}, False)


def test_a_restored_file_keeps_its_setuid_bit(bin_dir: BinDir) -> None:
    path = bin_dir.put("bridge", b"foreign", 0o4750)
    bin_dir.present(OLD, force=True)
    bin_dir.absent()
    assert stat.S_IMODE(path.stat().st_mode) == 0o4750


def test_a_link_that_was_set_aside_is_kept(bin_dir: BinDir) -> None:
    bin_dir.path.mkdir()
    (bin_dir.path / "bridge").symlink_to("/bin/true")
    bin_dir.present(OLD, force=True)
    bin_dir.put("bridge", b"from a package")
    assert bin_dir.absent().not_removed == {"bridge": "a link to /bin/true"}
    (bin_dir.path / "bridge").unlink()
    bin_dir.absent()
    assert os.readlink(bin_dir.path / "bridge") == "/bin/true"


def test_a_second_file_does_not_replace_the_one_set_aside(bin_dir: BinDir) -> None:
    path = bin_dir.put("bridge", b"foreign")
    bin_dir.present(OLD, force=True)
    bin_dir.put("bridge", b"from a package")
    bin_dir.absent()
    for dry_run in (True, False):
        error = str(error_of(bin_dir.present, OLD, force=True, dry_run=dry_run))
        assert (
            "cannot be set aside, because others with these names already are: bridge; exclude these plugins with 'only', or move"
            in error
        )
    bin_dir.put("bridge", OLD.files["bridge"])
    assert actions(bin_dir.present(OLD))["bridge"] == "adopted"
    bin_dir.absent()
    assert path.read_bytes() == b"foreign"


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_a_path_that_is_not_a_file_is_not_touched(bin_dir: BinDir, kind: str) -> None:
    bin_dir.path.mkdir()
    (os.mkdir if kind == "directory" else os.mkfifo)(bin_dir.path / "bridge")
    assert "bin/bridge is not a regular file" in str(error_of(bin_dir.present, OLD, force=True))


class Labels:
    """Labels by inode, as files get them."""

    def __init__(self) -> None:
        self.given: dict[tuple[int, int], str] = {}

    def has_expected_label(self, path: str) -> bool:
        return self.given.get(_inode(path)) == os.path.basename(path)

    def apply(self, path: str, name: str) -> None:
        self.given[_inode(path)] = os.path.basename(name)


def _inode(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def test_a_plugin_gets_its_label_and_a_wrong_one_is_repaired(tmp_path: pathlib.Path) -> None:
    labels = Labels()
    bin_dir = BinDir(tmp_path, labels)
    bin_dir.present(OLD)
    assert sorted(labels.given.values()) == sorted(OLD.files)
    assert not bin_dir.present(OLD).changed
    del labels.given[_inode(str(bin_dir.path / "ptp"))]
    assert actions(bin_dir.present(OLD))["ptp"] == "repaired"
    assert not bin_dir.present(OLD).changed


def test_a_plugin_without_its_label_is_not_left_behind(tmp_path: pathlib.Path) -> None:
    class NoLabels(Labels):
        def apply(self, path: str, name: str) -> None:
            raise SystemExit(1)  # as a module that fails

    bin_dir = BinDir(tmp_path, NoLabels())
    with pytest.raises(SystemExit):
        bin_dir.present(OLD)
    assert os.listdir(bin_dir.path) == []


def test_a_copy_damaged_after_its_check_is_not_installed(bin_dir: BinDir, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_dir.present(OLD)
    bin_dir.present(NEW)
    before = bin_dir.files()
    old = bin_dir.manifest.releases[0]
    monkeypatch.setattr(PluginStore, "has", lambda *dummy: True)
    pathlib.Path(bin_dir.store.file(old, "bridge")).write_bytes(b"evil")
    assert "bridge was changed after it was kept: expected sha256:" in str(error_of(bin_dir.roll_back))
    assert bin_dir.files() == before


def test_a_damaged_file_that_was_set_aside_is_not_restored(bin_dir: BinDir) -> None:
    bin_dir.put("bridge", b"foreign")
    bin_dir.present(OLD, force=True)
    aside = pathlib.Path(bin_dir.store.set_aside("bridge"))
    aside.write_bytes(b"evil")
    before = bin_dir.files()
    for dry_run in (True, False):
        message = str(error_of(bin_dir.absent, dry_run=dry_run))
        assert f"{aside} was changed after it was kept: expected sha256:" in message
        assert f"restore its content, or remove {bin_dir.store.path}" in message
    assert bin_dir.files() == before
    aside.write_bytes(b"foreign")
    bin_dir.absent()
    assert bin_dir.files() == {"bridge": b"foreign"}


def test_a_file_that_replaces_a_plugin_meanwhile_is_not_mistaken_for_it(
    bin_dir: BinDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = BinDirectory.sync

    def swap(directory: BinDirectory) -> None:
        put(directory)
        bin_dir.put("bridge", b"evil")

    monkeypatch.setattr(BinDirectory, "sync", swap)
    bin_dir.present(OLD)
    monkeypatch.undo()
    assert actions(bin_dir.present(OLD))["bridge"] == "repaired"


def test_an_error_between_two_plugins_names_the_release_to_return_to(
    bin_dir: BinDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_dir.present(OLD)
    rename, renamed = os.rename, []

    def fail_at_the_second(source: str, target: str) -> None:
        renamed.extend([target] if os.path.dirname(target) == str(bin_dir.path) else [])
        if len(renamed) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_at_the_second)
    error = error_of(bin_dir.present, NEW)
    monkeypatch.setattr(os, "rename", rename)
    assert f"cannot write {renamed[1]}: " in error.msg
    assert error.details == (
        "before that, this run may have changed plugins; run it again, or return to release 1 with state: rolled_back"
    )
    assert bin_dir.files() != OLD.files
    bin_dir.roll_back()
    assert bin_dir.files() == OLD.files
