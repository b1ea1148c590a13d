# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore

# Below it, runtimes keep their records as the reference runtime does: libcni, CRI-O, Podman and containerd in
# "results", dockershim's heirs in "cache/results", Multus in "multus/results".
_STATE_DIR: t.Final = "/var/lib/cni"

# A network that is called so has its leases there.
_NO_RECORDS: t.Final = f"{_STATE_DIR}/networks/results"


class AllRecords:
    """The records of all runtimes of a node."""

    def __init__(self, own: RecordStore) -> None:
        self._own = own
        patterns = (f"{_STATE_DIR}/results", f"{_STATE_DIR}/*/results")
        found = {os.path.realpath(path) for pattern in patterns for path in glob.glob(pattern)}
        found -= {os.path.realpath(own.directory), _NO_RECORDS}
        self._others = [RecordStore(path) for path in sorted(found)]

    def read_all(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return every record, and the error of each file that is none, by path."""
        return _together(store.read_all() for store in (self._own, *self._others))

    def read_network(self, network: str) -> tuple[list[Record], list[Record], dict[str, CniError]]:
        """Return a network's records of our own store and of all others, and the errors of files that may be one, by path."""
        ours, broken = self._own.read_network(network)
        elsewhere, wrong = self.read_elsewhere(network)
        return ours, elsewhere, {**broken, **wrong}

    def read_all_except(self, record: Record) -> tuple[list[Record], dict[str, CniError]]:
        """Return every record but our own of this attachment, and the error of each file that is none, by path."""
        ours, broken = self._own.read_all()
        elsewhere, wrong = _together(store.read_all() for store in self._others)
        own = [one for one in ours if one.attachment.key != record.attachment.key]
        return [*own, *elsewhere], {**broken, **wrong}

    def read_elsewhere(self, network: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return a network's records of all other stores, and the errors of files that may be one, by path."""
        return _together(store.read_network(network) for store in self._others)


def _together(
    found: t.Iterable[tuple[list[Record], dict[str, CniError]]],
) -> tuple[list[Record], dict[str, CniError]]:
    records: list[Record] = []
    broken: dict[str, CniError] = {}
    for some, wrong in found:
        records += some
        broken.update(wrong)
    return records, broken


__all__ = ("AllRecords",)
