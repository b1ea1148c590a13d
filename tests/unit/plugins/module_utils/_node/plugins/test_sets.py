# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several sets of plugins in one bin dir change independently."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginSet
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.bin_dir import (
    BinDir,
    Release,
    actions,
    release,
    select_release,
)

REFERENCE = release("1", "bridge", "ptp")
FLANNEL, FLANNEL_2 = release("f1", "flannel"), release("f2", "flannel")


@pytest.fixture
def bin_dir(tmp_path: pathlib.Path) -> BinDir:
    directory = BinDir(tmp_path)
    directory.present(REFERENCE)
    directory.present(FLANNEL, name="flannel")
    return directory


def test_installing_one_set_keeps_the_plugins_of_the_others(bin_dir: BinDir) -> None:
    assert bin_dir.files() == {**REFERENCE.files, **FLANNEL.files}
    upgraded = bin_dir.present(FLANNEL_2, name="flannel")
    assert (upgraded.name, actions(upgraded)) == ("flannel", {"flannel": "updated"})
    assert (upgraded.version, upgraded.previous, upgraded.kept) == ("f2", "f1", ["f1"])
    assert bin_dir.files() == {**REFERENCE.files, **FLANNEL_2.files}
    assert not bin_dir.present(REFERENCE, has_source=False).changed
    assert bin_dir.list_unlisted() == []


def test_a_plugin_that_the_next_release_of_a_set_lacks_is_removed_from_that_set_only(bin_dir: BinDir) -> None:
    assert actions(bin_dir.present(release("2", "ptp"))) == {"ptp": "updated", "bridge": "removed"}
    assert bin_dir.files().keys() == {"flannel", "ptp"}


def test_one_set_is_rolled_back_without_the_others(bin_dir: BinDir) -> None:
    bin_dir.present(release("2", "bridge", "ptp"))
    bin_dir.present(FLANNEL_2, name="flannel")
    predicted, back = (bin_dir.roll_back("flannel", dry_run=dry_run) for dry_run in (True, False))
    assert predicted == back
    assert (back.version, back.kept) == ("f1", ["f2"])
    assert bin_dir.files()["flannel"] == FLANNEL.files["flannel"]
    assert bin_dir.manifest.sets["reference"].current == bin_dir.manifest.find_set("reference").releases[-1]
    assert bin_dir.files()["ptp"] == b"ptp of 2"
    assert "no version before 9 of other is kept" in str(
        error_of(lambda: (bin_dir.present(release("9", "tap"), name="other"), bin_dir.roll_back("other")))
    )
    assert "the set none is not installed in" in str(error_of(bin_dir.roll_back, "none"))


def test_one_set_is_removed_without_the_others(bin_dir: BinDir) -> None:
    predicted, gone = (bin_dir.absent("flannel", dry_run=dry_run) for dry_run in (True, False))
    assert predicted == gone
    assert actions(gone) == {"flannel": "removed"}
    assert bin_dir.files() == REFERENCE.files
    assert bin_dir.manifest.sets.keys() == {"reference"}
    assert bin_dir.list_unlisted() == []
    bin_dir.absent()
    assert not bin_dir.path.exists()
    assert not os.path.exists(bin_dir.store.path)


def test_each_set_keeps_its_own_releases(bin_dir: BinDir) -> None:
    for number in "234":
        bin_dir.present(release(number, "bridge", "ptp"), keep=2)
    assert [kept.version for kept in bin_dir.manifest.sets["flannel"].releases] == ["f1"]
    assert [kept.version for kept in bin_dir.manifest.sets["reference"].releases] == ["2", "3", "4"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_two_sets_with_a_plugin_of_one_name_are_refused_before_anything_changes(bin_dir: BinDir, dry_run: bool) -> None:
    rival = release("x", "flannel", "tap")
    before, manifest = bin_dir.files(), bin_dir.manifest
    error = str(error_of(bin_dir.present, rival, name="other", dry_run=dry_run))
    assert error.startswith(f"{bin_dir.path} cannot have the same plugin of two sets: flannel of flannel and other; ")
    both: t.Any = {"other": select_release(rival), "third": select_release(release("3", "tap", "vlan"))}
    error = str(error_of(bin_dir.change, both, dry_run=dry_run))
    assert "two sets: flannel of flannel and other, tap of other and third; " in error
    assert (bin_dir.files(), bin_dir.manifest) == (before, manifest)
    bin_dir.present(rival, ["tap"], name="other")
    assert bin_dir.files().keys() == {"bridge", "flannel", "ptp", "tap"}


def test_a_plugin_can_move_from_one_set_to_another(bin_dir: BinDir) -> None:
    moved = Release("3", {**REFERENCE.files, "flannel": b"flannel of 3"})
    both: t.Any = {"flannel": lambda dummy: PluginSet(), "reference": select_release(moved)}
    predicted, done = (bin_dir.change(both, dry_run=dry_run) for dry_run in (True, False))
    assert predicted == done
    assert [actions(result) for result in done] == [
        {},
        {"bridge": "unchanged", "flannel": "updated", "ptp": "unchanged"},
    ]
    assert bin_dir.files() == moved.files
    assert actions(bin_dir.absent())["flannel"] == "removed"


def test_a_set_can_be_removed_while_another_is_upgraded(bin_dir: BinDir) -> None:
    both: t.Any = {"reference": lambda dummy: PluginSet(), "flannel": select_release(FLANNEL_2)}
    reference, flannel = bin_dir.change(both)
    assert actions(reference) == dict.fromkeys(REFERENCE.files, "removed")
    assert actions(flannel) == {"flannel": "updated"}


def test_drift_of_other_sets_is_left_to_them(bin_dir: BinDir) -> None:
    (bin_dir.path / "flannel").write_bytes(b"altered")
    assert not bin_dir.present(REFERENCE, has_source=False).changed
    assert actions(bin_dir.present(FLANNEL, name="flannel", has_source=False)) == {"flannel": "repaired"}


def test_a_file_set_aside_for_a_removed_set_is_restored_by_any_later_run(bin_dir: BinDir) -> None:
    tap = bin_dir.put("tap", b"foreign")
    bin_dir.present(release("t", "tap"), name="tap", force=True)
    bin_dir.put("tap", b"from a package")
    assert bin_dir.absent("tap").not_removed == {"tap": bin_dir.store.set_aside("tap")}
    tap.unlink()
    reference, restored = bin_dir.change({"reference": select_release(REFERENCE)})
    assert (reference.name, reference.changed) == ("reference", False)
    assert (restored.name, actions(restored), restored.changed) == ("tap", {"tap": "restored"}, True)
    assert tap.read_bytes() == b"foreign"


def test_a_single_executable_can_get_another_name(bin_dir: BinDir) -> None:
    class Renamed(Release):
        @property
        def source(self) -> t.Any:
            return FLANNEL.source.__class__(["sha256:00"], lambda: iter(self.files.items()))

    bin_dir.present(Renamed("1", {"tap-v1": b"tap"}), name="tap")
    renamed = bin_dir.present(Renamed("1", {"tap": b"tap"}), ["tap"], name="tap")
    assert actions(renamed) == {"tap": "installed", "tap-v1": "removed"}
    assert bin_dir.list_unlisted() == []
