# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of all runtimes of a node."""

from __future__ import annotations

import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.tests.support.descriptors import no_more_files
from ansible_collections.cni.node.tests.support.error_of import error_of


def test_leases_of_a_network_named_results_are_not_taken_for_records(tmp_path: pathlib.Path) -> None:
    lease = tmp_path / "data" / "networks" / "results" / "10.1.0.2"
    lease.parent.mkdir(parents=True)
    lease.write_text("blue\neth0", encoding="ascii")
    (tmp_path / "cni").symlink_to(tmp_path / "data")
    for state_dir in ("data", "cni"):
        records = AllRecords(RecordStore.of_records(str(tmp_path / "own")), str(tmp_path / state_dir))
        assert records.read_all() == ([], {})


def test_records_of_other_runtimes_that_cannot_be_listed_for_now_are_not_missing(tmp_path: pathlib.Path) -> None:
    records = AllRecords(RecordStore.of_records(str(tmp_path / "own")), str(tmp_path))
    with no_more_files():
        error = error_of(records.may_have, ("net", "blue", "eth0"))
    assert (error.code, error.msg) == (Code.IO_FAILURE, f"cannot list {tmp_path}: Too many open files")
