# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The ports of the node that processes and attachments use."""

from __future__ import annotations

import contextlib
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import (
    Attachment,
    Key,
    is_of_this_boot,
    netns_identity,
)
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import normalize_capability_args
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import listeners
from ansible_collections.cni.node.plugins.module_utils._linux.listeners import Listener
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment
from ansible_collections.cni.node.plugins.module_utils._reference.rules.port_mapping import read_mapping

CAPABILITY = "portMappings"

_UNSPECIFIED: t.Final[tuple[IpAddress, ...]] = (ipaddress.IPv4Address(0), ipaddress.IPv6Address(0))
_ADVICE = "choose another hostPort, or a hostIP that is not in use"


class HostPort(t.NamedTuple):
    """A port of the node that is mapped to a port of a container.

    Attributes:
        addresses: The node's addresses that it applies to; an unspecified one stands for all of its family.
    """

    protocol: str
    port: int
    addresses: tuple[IpAddress, ...]
    container_port: int

    def __str__(self) -> str:
        return f"host port {self.port}/{self.protocol}"

    def overlaps(self, addresses: t.Iterable[IpAddress]) -> bool:
        """Return whether the mapping may apply to one of the addresses. The port is not compared."""
        return any(_overlap(own, other) for own in self.addresses for other in addresses)


class _Holder(t.NamedTuple):
    """An attachment that maps a port of the node.

    Attributes:
        state: A clause of an error: how the port is mapped.
        advice: Another way to free the port.
    """

    mapping: HostPort
    attachment: Attachment
    state: str
    advice: str


class HostPorts:
    """The host ports that processes and attachments use, read once."""

    def __init__(self, runtime: Runtime, networks: ConfDir, listed: t.Sequence[DesiredAttachment]) -> None:
        """
        Args:
            listed: The attachments of the task. Their ports are those listed, not those recorded, so that the ports of
                attachments that the task removes or changes count as free.
        """
        keys = {desired.attachment.key for desired in listed}
        # By protocol and port, because a node may have thousands.
        self._listeners: dict[tuple[str, int], list[Listener]] = {}
        for listener in listeners.listeners():
            self._listeners.setdefault((listener.protocol, listener.port), []).append(listener)
        self._holders: dict[tuple[str, int], list[_Holder]] = {}
        for holder in (*_holders_of_records(runtime, keys), *_holders_of_request(networks, listed)):
            self._holders.setdefault(holder.mapping[:2], []).append(holder)

    def find_conflicts(
        self, network: NetworkConfiguration, attachment: Attachment, record: Record | None
    ) -> tuple[CniError | None, CniError | None]:
        """Return an error for ports that other attachments map, and one for ports on which a process listens.

        Args:
            record: The attachment's record. The ports that it maps already are not a conflict.
        """
        mapped = _mappings(record.attachment) if record and _has_mapped_ports(record) else []
        own = {mapping[:3] for mapping in mapped}
        new = [mapping for mapping in _mappings(attachment) if mapping[:3] not in own] if _maps_ports(network) else []
        return self._mapped_conflict(new, attachment), self._listener_conflict(new, attachment)

    def _mapped_conflict(self, new: t.Sequence[HostPort], attachment: Attachment) -> CniError | None:
        conflicts = [
            (mapping, holder)
            for mapping in new
            for holder in self._holders.get(mapping[:2], ())
            if _is_conflict(mapping, attachment, holder)
        ]
        if not conflicts:
            return None
        what = "; ".join(dict.fromkeys(f"{mapping} is {holder.state}" for mapping, holder in conflicts))
        advice = ", or ".join(dict.fromkeys([_ADVICE, *(holder.advice for dummy, holder in conflicts)]))
        return CniError(Code.INVALID_ENVIRONMENT, f"{attachment}: {what}", advice)

    def _listener_conflict(self, new: t.Sequence[HostPort], attachment: Attachment) -> CniError | None:
        conflicts = [
            (mapping, listener)
            for mapping in new
            for listener in self._listeners.get(mapping[:2], ())
            if _is_used(mapping, listener)
        ]
        if not conflicts:
            return None
        what = "; ".join(dict.fromkeys(f"{mapping} is in use: {_process(listener)}" for mapping, listener in conflicts))
        consequence = "new connections would go to the container instead of the process"
        return CniError(
            Code.INVALID_ENVIRONMENT,
            f"{attachment}: {what}",
            f"{consequence}: {_ADVICE}, or stop the process, or set allow_ports_in_use",
        )


def _holders_of_records(runtime: Runtime, listed: t.Container[Key]) -> t.Iterator[_Holder]:
    by_key: dict[Key, Record] = {}
    for store in (runtime.intents, AllRecords(runtime.records, runtime.paths.state_dir)):
        records, dummy = store.read_containing(f'"{CAPABILITY}"')
        by_key.update((record.attachment.key, record) for record in records)
    for key, record in by_key.items():
        if key not in listed and _holds_ports(record):
            attachment = record.attachment
            is_gone = attachment.netns and not netns_identity(attachment.netns)
            gone = "; its network namespace is gone, but its rules still exist" if is_gone else ""
            for mapping in _mappings(attachment, record.addresses):
                yield _Holder(mapping, attachment, f"mapped by the {attachment}{gone}", "remove that attachment first")


def _holders_of_request(networks: ConfDir, listed: t.Iterable[DesiredAttachment]) -> t.Iterator[_Holder]:
    for desired in listed:
        attachment = desired.attachment
        network = networks.networks.get(attachment.network)
        if desired.present and network is not None and _maps_ports(network):
            for mapping in _mappings(attachment):
                yield _Holder(
                    mapping, attachment, f"requested for the {attachment} as well", "remove one of the two mappings"
                )


def _holds_ports(record: Record) -> bool:
    """Return whether the rules of a recorded attachment may exist: they last until DEL, or until the node reboots."""
    if not _has_mapped_ports(record):
        return False
    if record.netns_identity:
        return is_of_this_boot(record.netns_identity)
    # Other runtimes do not record the boot.
    return not record.attachment.netns or bool(netns_identity(record.attachment.netns))


def _has_mapped_ports(record: Record) -> bool:
    try:
        return _maps_ports(record.network())
    except CniError:  # reported when that attachment is reconciled
        return False


def _maps_ports(network: NetworkConfiguration) -> bool:
    return any(CAPABILITY in plugin.capabilities for plugin in network.plugins)


def _mappings(attachment: Attachment, addresses: t.Iterable[str] = ()) -> list[HostPort]:
    """Return the valid mappings of an attachment; other runtimes may write the keys in upper or lower case.

    Args:
        addresses: The container's addresses, if known; families without an address are not mapped.
    """
    entries = normalize_capability_args({CAPABILITY: attachment.capability_args.get(CAPABILITY)}).get(CAPABILITY)
    families = {ipaddress.ip_interface(address).version for address in addresses}
    ports = []
    for entry in entries if isinstance(entries, list) else ():
        with contextlib.suppress(CniError):  # what portmap refuses, it does not map
            mapping = read_mapping(Keys(entry if isinstance(entry, dict) else {}))
            hosts = (mapping.host_ip,) if mapping.host_ip else _UNSPECIFIED
            hosts = tuple(host for host in hosts if not families or host.version in families)
            ports.append(HostPort(mapping.protocol, mapping.host_port, hosts, mapping.container_port))
    return ports


def _is_conflict(mapping: HostPort, attachment: Attachment, holder: _Holder) -> bool:
    other = holder.mapping
    if attachment.key == holder.attachment.key or not mapping.overlaps(other.addresses):
        return False
    # Two mappings to the same port of the same container are not a conflict.
    same = (attachment.container_id, mapping.container_port) == (holder.attachment.container_id, other.container_port)
    return not same


def _is_used(mapping: HostPort, listener: Listener) -> bool:
    is_dual_stack = listener.address == _UNSPECIFIED[1]
    return mapping.overlaps(_UNSPECIFIED if is_dual_stack else (listener.address,))


def _overlap(address: IpAddress, other: IpAddress) -> bool:
    return address.version == other.version and (address == other or address.is_unspecified or other.is_unspecified)


def _process(listener: Listener) -> str:
    address = f"[{listener.address}]" if listener.address.version == 6 else str(listener.address)
    return f"{listeners.find_process(listener) or 'a process'} listens on {address}:{listener.port}"
