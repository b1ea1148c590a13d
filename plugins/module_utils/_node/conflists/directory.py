# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import json
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.conflists.ownership import Ownership
from ansible_collections.cni.node.plugins.module_utils._node.conflists.planned import Prospect
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, apply, planned

# Not in a directory of the system: whoever may write here may lock. No runtime reads a file of this name.
_LOCK: t.Final = ".cni.node.lock"
_FILENAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.@+\-]*", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A network's file as it is to be, or to be gone.

    Attributes:
        content: The JSON to be written; None where the file is to be gone.
        filename: A name of its own in place of the one made from priority and network.
        where: The item, as errors name it.
    """

    where: str
    content: bytes | None
    network: str = ""
    filename: str = ""
    priority: int = 10


def to_content(network: t.Mapping[str, t.Any], default: t.Callable[[t.Any], t.Any] | None = None) -> bytes:
    """Write a network configuration given as data the way a person would.

    Args:
        default: As of `json.dumps`.

    Raises:
        CniError: ``INVALID_CONFIG``: JSON has no form for it.
    """
    try:
        return (json.dumps(network, indent=2, ensure_ascii=False, default=default) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise CniError(Code.INVALID_CONFIG, f"this cannot be written as JSON: {exc}") from exc


class ConflistDirectory:
    """The network configurations of a node, and which of them are ours."""

    def __init__(self, path: str, mode: int) -> None:
        if not os.path.isabs(path):
            raise CniError(Code.INVALID_CONFIG, f"conf_dir: {path!r} is not an absolute path")
        self._path = path
        self._mode = mode
        self._now = conf_dir.load(path)
        self._ownership = Ownership.load(path)

    def plan(self, wanted: t.Sequence[Wanted], *, purge: bool) -> tuple[list[FileChange], list[NetworkConfiguration]]:
        """Decide on every file before one is touched.

        Returns:
            The changes, writing before removing; and the networks that will be written or kept.

        Raises:
            CniError: A file is not a valid network configuration, or two items want the same file or network.
        """
        writes: dict[str, FileChange] = {}
        networks: list[NetworkConfiguration] = []
        for one in wanted:
            if one.content is not None:
                network = self._parse(one)
                self._refuse_twice(network, one, networks, writes)
                networks.append(network)
                writes[network.source] = planned(network.source, one.content, network=network.name, mode=self._mode)
        removals = {path: self._removal(path) for path in self._removed(wanted, networks, purge) if path not in writes}
        return [*writes.values(), *removals.values()], networks

    def is_to_change(self, changes: t.Sequence[FileChange]) -> bool:
        """Tell whether carrying out a plan would do anything."""
        return any(change.changed for change in changes) or self._ownership.differs(changes)

    def alone(self, timeout: float) -> t.ContextManager[None]:
        """Keep other runs from changing the directory; what is to be changed has to be read and planned under it.

        Args:
            timeout: Seconds to wait for another run.

        Raises:
            CniError: ``TRY_AGAIN``, ``IO_FAILURE``.
        """
        # Most runs find everything in place, and need neither this nor what it imports.
        from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock

        durable.make_directory(self._path)
        return hold_lock(os.path.join(self._path, _LOCK), exclusive=True, timeout=timeout, what=self._path)

    def apply(self, changes: t.Sequence[FileChange]) -> None:
        """Carry out a plan; killed at any moment, each file is the old one or the new one, and known to be ours."""
        if not self.is_to_change(changes):
            return
        durable.make_directory(self._path)
        self._ownership.claim(changes)
        for change in changes:
            apply(change)
        self._ownership.settle(changes)

    def prospect(self, changes: t.Sequence[FileChange], networks: t.Sequence[NetworkConfiguration]) -> Prospect:
        """Return what the directory will be when a plan has been carried out."""
        removed = frozenset(change.path for change in changes if change.action == "removed")
        replaced = removed | {network.source for network in networks}
        return Prospect(
            path=self._path,
            wanted=tuple(networks),
            others=tuple(one for one in self._all_networks() if one.source not in replaced),
            before=self._now.networks,
            broken={path: error for path, error in self._now.broken.items() if path not in replaced},
            removed=removed,
            own=frozenset(filename for filename, dummy in self._ownership.files()),
        )

    def _parse(self, one: Wanted) -> NetworkConfiguration:
        content = t.cast(bytes, one.content)
        network = conf_dir.complete(config.parse(content, one.where), self._path)
        path = self._path_of(one, network)
        if one.network and one.network != network.name:
            raise CniError(Code.INVALID_CONFIG, f"{one.where}: its network is {network.name!r}, not {one.network!r}")
        return dataclasses.replace(network, source=path)

    def _path_of(self, one: Wanted, network: NetworkConfiguration) -> str:
        endings = (conf_dir.LIST_ENDING,) if network.is_list else conf_dir.SINGLE_ENDINGS
        filename = one.filename or f"{one.priority:02d}-{network.name}{endings[0]}"
        path = self._target(one, filename)
        if not filename.endswith(endings):
            what = "a list of plugins" if network.is_list else "a single plugin"
            raise CniError(
                Code.INVALID_CONFIG,
                f"{one.where}: {filename!r} is no name for {what}",
                f"expected: {' or '.join(endings)} at the end; name it so, or leave out filename",
            )
        return path

    def _target(self, one: Wanted, filename: str) -> str:
        if not _FILENAME.fullmatch(filename) or not filename.endswith(conf_dir.ENDINGS):
            raise CniError(
                Code.INVALID_CONFIG,
                f"{one.where}: {filename!r} is no name for a network configuration",
                f"expected: letters, digits, '_', '.', '@', '+', '-', and one of {', '.join(conf_dir.ENDINGS)} at the end",
            )
        return os.path.join(self._path, filename)

    def _refuse_twice(
        self,
        network: NetworkConfiguration,
        one: Wanted,
        networks: t.Sequence[NetworkConfiguration],
        writes: t.Mapping[str, FileChange],
    ) -> None:
        if any(other.name == network.name for other in networks):
            raise CniError(Code.INVALID_CONFIG, f"{one.where}: network {network.name!r} is given twice")
        if network.source in writes:
            raise CniError(Code.INVALID_CONFIG, f"{one.where}: two networks want the file {network.source}")

    def _refuse_another(self, one: Wanted, path: str, written: t.Sequence[NetworkConfiguration]) -> None:
        """Refuse to remove a file of another network than the one named; one that is written anew stays anyway."""
        found = "" if any(network.source == path for network in written) else self._network_of(path)
        if one.network and found not in ("", one.network):
            raise CniError(
                Code.INVALID_CONFIG,
                f"{one.where}: the network of {path} is {found!r}, not {one.network!r}",
                "to remove the file whatever it defines, leave the name out",
            )

    def _removal(self, path: str) -> FileChange:
        return FileChange(self._network_of(path), path, "removed", durable.read(path), None)

    def _network_of(self, path: str) -> str:
        """Return the network that a file defines, or the one it was written for where that cannot be told any more."""
        owner = self._ownership.network_of(os.path.basename(path))
        return next((one.name for one in self._all_networks() if one.source == path), owner)

    def _removed(
        self, wanted: t.Sequence[Wanted], written: t.Sequence[NetworkConfiguration], purge: bool
    ) -> t.Iterator[str]:
        gone = [one for one in wanted if one.content is None]
        names = {one.network for one in gone if one.network and not one.filename}
        yield from (one.source for one in self._all_networks() if one.name in names)
        for one in gone:
            path = self._target(one, one.filename) if one.filename else ""
            if os.path.lexists(path):
                self._refuse_another(one, path, written)
                yield path
        moved = {network.name for network in written}
        for filename, network in self._ownership.files():
            path = os.path.join(self._path, filename)
            if (purge or network in moved) and self._ownership.is_unaltered(filename):
                yield path

    def _all_networks(self) -> list[NetworkConfiguration]:
        return [*self._now.networks.values(), *self._now.shadowed]


__all__ = ("ConflistDirectory", "Wanted", "to_content")
