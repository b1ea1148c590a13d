# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Keep the record and leases of an attachment of another runtime before they are removed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RECORD_LIMIT
from ansible_collections.cni.node.plugins.module_utils._reference import host_local, lease_directory

# A file name has at most 255 characters.
_NAME_LIMIT: t.Final = 200
_DIGEST_LENGTH: t.Final = 12


class RemovedFiles:
    """Keeps the record and the leases of an attachment of another runtime before they are removed, for a restoration by hand.

    Each attachment has a file with the JSON object ``{"files": [{"path": ..., "mode": "0600", "text": ...}]}``.
    """

    def __init__(self, cache_dir: str, lease_dir: str) -> None:
        self._directory = os.path.join(cache_dir, OWN_DIRECTORY, "removed")
        self._lease_dir = lease_dir

    def path_of(self, record_path: str) -> str:
        """Return the path for a record. It depends on the content, so that another record does not replace it.

        Raises:
            CniError: The record cannot be read.
        """
        digest = hashlib.sha256(durable.read(record_path, limit=RECORD_LIMIT) or b"").hexdigest()[:_DIGEST_LENGTH]
        return os.path.join(self._directory, f"{os.path.basename(record_path)[:_NAME_LIMIT]}-{digest}.json")

    def keep(self, record: Record, record_path: str, network: NetworkConfiguration | None) -> None:
        """Write a record and its leases to the file.

        Args:
            network: The current configuration of the network, if it has one.

        Raises:
            CniError: A file cannot be read or written.
        """
        path = self.path_of(record_path)
        files = [_describe(record_path, durable.read(record_path, limit=RECORD_LIMIT) or b"")]
        files += [_describe(*lease) for lease in self.read_leases(record, network)]
        durable.make_directory(self._directory, mode=0o700)
        durable.write(path, json.dumps({"files": files}, indent=2).encode("ascii") + b"\n")

    def read_leases(self, record: Record, network: NetworkConfiguration | None) -> t.Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each lease of an attachment; arguments as `keep`."""
        networks = [network] if network else []
        recorded: list[NetworkConfiguration] = []
        with contextlib.suppress(CniError):  # DEL reports a configuration that cannot be read
            recorded.append(record.network())
        name, container_id, ifname = record.attachment.key
        for path in host_local.directories(name, networks, self._lease_dir, recorded=recorded):
            with lease_directory.hold(path) as directory:
                for lease in directory.leases() if directory else ():
                    if lease.is_of(container_id, ifname):
                        yield lease.path, lease.content


def _describe(path: str, content: bytes) -> dict[str, str]:
    """Return a file as JSON can hold it; bytes that are not UTF-8 become unpaired surrogates."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    return {"path": path, "mode": f"{mode:04o}", "text": content.decode("utf-8", "surrogateescape")}


__all__ = ("RemovedFiles",)
