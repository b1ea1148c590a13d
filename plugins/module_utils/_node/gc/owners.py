# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_name
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._linux.live_namespaces import Addresses

Names = tuple[str, str]


class Valid(t.NamedTuple):
    """The attachments that the user calls valid; None where the node itself is to tell."""

    keys: frozenset[Key] | None = None

    def has(self, key: Key) -> bool:
        """Tell whether it is listed; an entry that names no network is for all."""
        return self.keys is not None and not {key, ("", *key[1:])}.isdisjoint(self.keys)

    def lacks(self, key: Key) -> bool:
        return self.keys is not None and not self.has(key)

    def of(self, network: str) -> set[Names]:
        return {key[1:] for key in self.keys or () if key[0] in ("", network)}

    def names(self) -> set[Names]:
        return {key[1:] for key in self.keys or ()}


@dataclasses.dataclass(frozen=True)
class Claims:
    """Who owns something of a network.

    Attributes:
        staying: Container id and interface of each attachment that stays.
        going: Of each that a dry run has found to be deleted, and all it has with it.
        broken: Records that cannot be read, any of which may claim anything.
        records: The records of all of them.
        sharing: The configurations that forbid GC: others may have what nobody here knows of.
    """

    network: str
    staying: frozenset[Names]
    going: frozenset[Names]
    broken: tuple[str, ...]
    records: tuple[Record, ...]
    sharing: tuple[NetworkConfiguration, ...] = ()

    def has(self, container_id: str, ifname: str = "") -> bool:
        """Tell whether a container has an attachment; to any interface where none is given."""
        return (container_id, ifname) in self.staying if ifname else container_id in self._containers

    def frees(self, container_id: str, ifname: str = "") -> bool:
        """Tell whether a DEL that a dry run does not run will have taken it away."""
        if self.has(container_id, ifname):
            return False
        return (container_id, ifname) in self.going if ifname else container_id in {name for name, dummy in self.going}

    def names(self) -> set[Names]:
        """Return container id and interface of every attachment, also of those that a dry run has found to be deleted."""
        return {*self.staying, *self.going, *(record.attachment.key[1:] for record in self.records)}

    @functools.cached_property
    def _containers(self) -> set[str]:
        return {container_id for container_id, dummy in self.staying}

    def configurations(self) -> list[NetworkConfiguration]:
        """Return what its attachments were made with; most have the same."""
        found = []
        for record in {record.config: record for record in self.records}.values():
            with contextlib.suppress(CniError):
                found.append(record.network())
        return found

    def doubt(self, container_id: str, addresses: t.Iterable[str]) -> str:
        """Say why something without a record may have an owner all the same, or nothing."""
        if self.broken:
            return f"a record that cannot be read may claim it: {self.broken[0]}"
        if self.sharing:
            which = "its configuration" if self.network else f"network {self.sharing[0].name}, whose it may be,"
            return f"disableGC of {which} says that others may use it"
        from ansible_collections.cni.node.plugins.module_utils._linux import netns

        if is_name(container_id) and netns.is_namespace(os.path.join(netns.DIRECTORY, container_id)):
            return f"there is a network namespace named {container_id}"
        asked = list(addresses)
        held = [address for address in asked if address in self._live.found]
        if held:
            return f"{held[0]} is in use in the network namespace {self._live.found[held[0]]}"
        unseen = next(iter(self._live.unseen.values()), None) if asked else None
        return f"{asked[0]} may be in use where nobody can look: {unseen}" if unseen else ""

    @functools.cached_property
    def _live(self) -> Addresses:
        from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces

        return live_namespaces.addresses()


__all__ = ("Claims", "Names", "Valid")
