# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which files of the plugin tuning are leaks."""

from __future__ import annotations

import json
import os
import pathlib
import time

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.gc.file_leaks import SavedValueFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, collect_leaks, read_node
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners


@pytest.fixture
def saved(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return an old file of the plugin tuning for the container lost."""
    directory = tmp_path / "tuning"
    directory.mkdir()
    file = directory / "lost_eth0.json"
    file.write_text('{"mtu": 1500}', encoding="ascii")
    os.utime(file, (time.time() - 3600,) * 2)
    return file


def collect(saved: pathlib.Path, first: Owners, later: Owners, min_age: float = 60) -> list[Leak]:
    policy = GcPolicy(min_age, dry_run=False)
    finder = SavedValueFinder(GcRun(policy, NodePaths(tuning_dir=str(saved.parent)), []))
    return list(collect_leaks(finder, finder.snapshot(read_node()), first, lambda: (later, read_node()), policy))


def test_the_file_of_a_lost_container_is_removed(saved: pathlib.Path) -> None:
    (leak,) = collect(saved, Owners(), Owners())
    assert (leak.action, leak.subject, saved.exists()) == ("removed", str(saved), False)


@pytest.mark.parametrize(
    "owners",
    [
        Owners(live=frozenset([("lost", "eth0")])),
        Owners(pending_removal=frozenset([("lost", "eth0")])),
        Owners(records=(Record(Attachment("net", "lost", "eth0"), b""),)),
    ],
    ids=["live", "pending removal", "recorded"],
)
def test_the_file_of_an_attachment_stays_even_if_the_attachment_is_recorded_late(
    saved: pathlib.Path, owners: Owners
) -> None:
    assert collect(saved, owners, owners) == []
    assert collect(saved, Owners(), owners) == []
    assert saved.exists()


def test_a_young_file_and_every_file_during_an_add_are_kept(saved: pathlib.Path) -> None:
    (young,) = collect(saved, Owners(), Owners(), min_age=7200)
    (during_add,) = collect(saved, Owners(), Owners(add_in_progress="an ADD is in progress in process 7"))
    assert [leak.evidence.partition(", but ")[2] for leak in (young, during_add)] == [
        "it is younger than 7200 s",
        "an ADD is in progress in process 7",
    ]
    assert saved.exists()


@pytest.mark.parametrize(
    ("data_dir", "is_current", "is_followed"),
    [("etc", False, False), ("run/cni/../../etc", False, False), ("run/cni/own", False, True), ("etc", True, True)],
)
def test_a_record_leads_to_no_directory_outside_of_those_of_plugins(
    tmp_path: pathlib.Path, data_dir: str, is_current: bool, is_followed: bool
) -> None:
    for path in ("etc", "run/cni/own", "run/cni/tuning"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "blue_eth0.json").write_text('{"mtu": 1400}', encoding="ascii")
    plugin = {"type": "tuning", "dataDir": f"{tmp_path}/{data_dir}"}
    document = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
    network = config.parse(json.dumps(document).encode(), "net")
    run = GcRun(
        GcPolicy(0, dry_run=True),
        NodePaths.below(str(tmp_path)),
        [],
        configurations=(network,),
        current=(network,) if is_current else (),
    )
    files = {item.content.path for item in SavedValueFinder(run).snapshot(read_node()).values()}
    default = f"{tmp_path}/run/cni/tuning/blue_eth0.json"
    assert files == {default, *([f"{tmp_path}/{data_dir}/blue_eth0.json"] if is_followed else [])}
