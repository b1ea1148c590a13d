# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of all runtimes of a node."""

from __future__ import annotations

import pathlib

from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore


def test_leases_of_a_network_named_results_are_not_taken_for_records(tmp_path: pathlib.Path) -> None:
    lease = tmp_path / "data" / "networks" / "results" / "10.1.0.2"
    lease.parent.mkdir(parents=True)
    lease.write_text("blue\neth0", encoding="ascii")
    (tmp_path / "cni").symlink_to(tmp_path / "data")
    for state_dir in ("data", "cni"):
        records = AllRecords(RecordStore.of_records(str(tmp_path / "own")), str(tmp_path / state_dir))
        assert records.read_all() == ([], {})
