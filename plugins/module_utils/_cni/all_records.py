# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The records of all runtimes of a node, read once."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore


class AllRecords:
    """The records of all runtimes of a node.

    All methods raise ``IO_FAILURE`` if a directory of records cannot be listed.
    """

    def __init__(self, own: RecordStore, state_dir: str) -> None:
        """
        Args:
            state_dir: The runtimes keep their records below it in libcni's format: libcni, CRI-O, Podman and containerd in
                ``results``, cri-dockerd in ``cache/results``, Multus in ``multus/results``.
        """
        self._own = own
        self._state_dir = state_dir

    @functools.cached_property
    def _others(self) -> list[RecordStore]:
        """The stores of the other runtimes, which DEL of most attachments does not need."""
        patterns = ("results", "*/results")
        directories = {
            os.path.realpath(path) for each in patterns for path in durable.find_paths(self._state_dir, each)
        }
        leases_of_a_network = os.path.realpath(f"{self._state_dir}/networks/results")
        directories -= {os.path.realpath(self._own.directory), leases_of_a_network}
        return [RecordStore(path) for path in sorted(directories)]

    def read_all(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return every record, and the error of each unreadable file, by path."""
        return _merge(store.read_all() for store in (self._own, *self._others))

    def read_containing(self, text: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records whose file contains an ASCII text, as `read_all`, without parsing the others."""
        return _merge(store.read_containing(text) for store in (self._own, *self._others))

    def may_have(self, key: Key) -> bool:
        """Return whether a file exists that may be a record of an attachment."""
        return any(store.may_have(key) for store in (self._own, *self._others))

    def read_network(self, network: str) -> tuple[list[Record], list[Record], dict[str, CniError]]:
        """Return a network's own records, those of other runtimes, and the errors of unreadable files, by path."""
        ours, broken = self._own.read_network(network)
        elsewhere, errors = self.read_elsewhere(network)
        return ours, elsewhere, {**broken, **errors}

    def read_stores(self) -> tuple[list[Record], list[Record], dict[str, CniError]]:
        """Return every own record, those of other runtimes, and the error of each unreadable file, by path."""
        ours, broken = self._own.read_all()
        elsewhere, errors = _merge(store.read_all() for store in self._others)
        return ours, elsewhere, {**broken, **errors}

    def find_store(self, record: Record) -> RecordStore | None:
        """Return the store of another runtime that has a record, or None if it is gone or has changed."""
        key = record.attachment.key
        return next((store for store in self._others if store.read(key) == record), None)

    def read_elsewhere(self, network: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return a network's records of other runtimes, and the errors of unreadable files, by path."""
        return _merge(store.read_network(network) for store in self._others)


def _merge(
    stores: t.Iterable[tuple[list[Record], dict[str, CniError]]],
) -> tuple[list[Record], dict[str, CniError]]:
    records: list[Record] = []
    broken: dict[str, CniError] = {}
    for readable, errors in stores:
        records += readable
        broken.update(errors)
    return records, broken
