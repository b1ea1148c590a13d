# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin host-local: it assigns addresses from ranges, and keeps a file for each assigned address."""

from __future__ import annotations

import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, read_address, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import (
    ipam_config,
    lease_directory,
    lease_files,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.address_ranges import (
    RangeSet,
    read_range_sets,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import Lease, LeaseDirectory


class HostLocal(Plugin):
    """Assigns an address of each range set."""

    name = lease_files.TYPE

    def __init__(self, lease_dir: str = NODE_PATHS.lease_dir) -> None:
        self._lease_dir = lease_dir

    def prepare(self, config: Keys, network: str) -> None:
        with lease_directory.hold(self._path(config, network)) as directory:
            if directory is not None:
                directory.prepare_search()

    def require_accepted(self, request: PluginRequest) -> None:
        _read_wanted(request)
        ipam_config.read_routes(request.config.section("ipam"))

    def add(self, request: PluginRequest) -> Result:
        ipam = request.config.section("ipam")
        wanted = _read_wanted(request)
        result: JsonObject = {"routes": ipam_config.read_routes(ipam), "dns": _read_dns(ipam.text("resolvConf"))}
        with lease_directory.hold_locked(self._directory(request)) as directory:
            result["ips"] = _Allocation(directory, request).run(wanted)
        return Result(version.LATEST, result)

    def check(self, request: PluginRequest) -> None:
        path, owner = self._directory(request), request.attachment.key[1:]
        addresses = _own_addresses(request)
        with lease_directory.hold(path) as directory:
            for address in addresses:
                lease = directory.find(str(address)) if directory else None
                if lease is None or not lease.is_of(*owner):
                    raise refuse(f"the lease of {address} in {path} {f'belongs to {lease}' if lease else 'is missing'}")
            if not addresses and not (directory and directory.leases_of(*owner)):
                raise refuse(f"the container has no lease in {path}")

    def delete(self, request: PluginRequest) -> None:
        with lease_directory.hold(self._directory(request)) as directory:
            if directory is not None and directory.has_leases():  # any other directory gets no lock
                with lease_directory.hold_lock(directory):
                    for lease in _own_leases(directory, request):
                        directory.free(lease)

    def gc(self, request: PluginRequest) -> None:
        valid = request.valid_attachments
        with lease_directory.hold(self._directory(request)) as directory:
            if directory is None:
                return
            with lease_directory.hold_lock(directory):
                for lease in directory.leases():
                    if lease.container_id and not any(lease.is_of(*attachment) for attachment in valid):
                        directory.free(lease)

    def status(self, request: PluginRequest) -> None:
        sets = read_range_sets(request)
        with lease_directory.hold(self._directory(request)) as directory:
            taken = set(directory.addresses()) if directory else set()
        for number, each in enumerate(sets):
            if all(interface.ip in taken for interface, dummy in each.candidates(None)):
                raise CniError(Code.NOT_AVAILABLE, f"range set {number} has no free address: {each}")

    def _directory(self, request: PluginRequest) -> str:
        return self._path(request.config, request.network)

    def _path(self, config: Keys, network: str) -> str:
        return os.path.join(lease_files.data_dir(config.section("ipam").values, self._lease_dir), network)


class _Wanted(t.NamedTuple):
    """A range set, and the address that an attachment requests of it; None for any."""

    ranges: RangeSet
    address: IpAddress | None


class _Allocation:
    """The allocation of one attachment's addresses; the caller holds the lock of the directory."""

    def __init__(self, directory: LeaseDirectory, request: PluginRequest) -> None:
        self._directory = directory
        self._container_id, self._ifname = request.attachment.key[1:]
        self._reserved: list[str] = []

    def run(self, wanted: t.Sequence[_Wanted]) -> list[JsonObject]:
        """Return an address of each range set; free them all if one cannot be assigned."""
        ips = []
        try:
            for number, each in enumerate(wanted):
                interface, gateway = self._reserve(number, each.ranges, each.address)
                ips.append(ipam_config.make_ip(interface, gateway))
        except CniError:
            self._free_reserved()
            raise
        return ips

    def _reserve(self, number: int, ranges: RangeSet, wanted: IpAddress | None) -> tuple[IpInterface, IpAddress]:
        if wanted is not None:
            return self._reserve_requested(number, ranges, wanted)
        for lease in self._directory.leases_of(self._container_id, self._ifname):
            if ranges.find(t.cast(IpAddress, parse_address(lease.address))):
                raise refuse(
                    f"range set {number}: {lease.address} is already the address of {lease}",
                    "expected: DEL before another ADD of the same interface",
                )
        last = parse_address(self._directory.last_reserved(number))
        for interface, member in ranges.candidates(last):
            if self._try_reserve(number, interface.ip):
                return interface, member.gateway
        raise refuse(
            f"range set {number} has no free address: {ranges}",
            "free leaked addresses with the module cni.node.gc, or enlarge the range",
        )

    def _reserve_requested(self, number: int, ranges: RangeSet, wanted: IpAddress) -> tuple[IpInterface, IpAddress]:
        member = _require_member(number, ranges, wanted)
        if not self._try_reserve(number, wanted):
            lease = self._directory.find(str(wanted))
            raise refuse(f"range set {number}: the requested address {wanted} is in use by {lease or 'a container'}")
        return ipaddress.ip_interface((wanted, member.subnet.prefixlen)), member.gateway

    def _try_reserve(self, number: int, address: IpAddress) -> bool:
        """Reserve an address, and return whether it was free."""
        if not self._directory.reserve(str(address), self._container_id, self._ifname):
            return False
        self._reserved.append(str(address))
        self._directory.set_last_reserved(number, str(address))
        return True

    def _free_reserved(self) -> None:
        for address in self._reserved:
            lease = self._directory.find(address)
            if lease is not None and lease.is_of(self._container_id, self._ifname):
                self._directory.free(lease)


def _read_wanted(request: PluginRequest) -> list[_Wanted]:
    """Return the range sets of a request, each with the requested address.

    Raises:
        CniError: A requested address is in no range set, or is a gateway.
    """
    sets = read_range_sets(request)
    ipam_config.require_one_per_family(request, (each.ranges[0].first for each in sets))
    waiting = list(dict.fromkeys(_read_requested(request)))
    wanted = []
    for number, ranges in enumerate(sets):
        address = next((each for each in waiting if ranges.find(each)), None)
        if address is not None:
            _require_member(number, ranges, address)
            waiting.remove(address)
        wanted.append(_Wanted(ranges, address))
    if waiting:
        raise refuse(f"no range set has the requested addresses {', '.join(map(str, waiting))}")
    return wanted


def _require_member(number: int, ranges: RangeSet, address: IpAddress) -> Range:
    """Return the range of a requested address; raise an error if that is the gateway."""
    member = ranges.find(address)
    if member is None or address == member.gateway:
        raise refuse(f"range set {number}: the requested address {address} is the gateway")
    return member


def _read_requested(request: PluginRequest) -> list[IpAddress]:
    """Return the requested addresses: IP of CNI_ARGS, ``ips`` of ``args.cni`` and of the capability, in this order."""
    texts = [(f"CNI_ARGS: {key}", text) for key, text in request.cni_args("IP").items()]
    for keys in (request.config_args, request.runtime_config):
        texts += [(keys.pointer("ips"), text) for text in keys.texts("ips")]
    return [_read_address(where, text) for where, text in texts]


def _read_address(where: str, text: str) -> IpAddress:
    """Return an address, with or without a prefix length."""
    interface = parse_interface(text)
    return interface.ip if interface else read_address(where, text)


def _own_leases(directory: LeaseDirectory, request: PluginRequest) -> t.Iterable[Lease]:
    """Return the leases of the attachment; the caller holds the lock of the directory.

    Another run may have attached the container after this one has read the directory. Then the previous result has its
    addresses. Without a previous result, that other run may have been killed, and all leases are read again.
    """
    owner = request.attachment.key[1:]
    if request.prev_result is None:
        leases = directory.leases()
    else:
        recorded = (directory.find(str(address)) for address in _recorded_addresses(request))
        leases = [*directory.leases_of(*owner), *(lease for lease in recorded if lease is not None)]
    return {lease.path: lease for lease in leases if lease.is_of(*owner)}.values()


def _own_addresses(request: PluginRequest) -> list[IpAddress]:
    """Return the addresses of the previous result that are in a range; none without a previous result."""
    sets = read_range_sets(request)
    return [each for each in _recorded_addresses(request) if any(ranges.find(each) for ranges in sets)]


def _recorded_addresses(request: PluginRequest) -> list[IpAddress]:
    ips = request.prev_result.keys.get("ips") or () if request.prev_result else ()
    interfaces = [parse_interface(ip["address"]) for ip in ips]
    return [each.ip for each in interfaces if each]


def _read_dns(path: str) -> JsonObject:
    """Return the DNS settings in a file such as resolv.conf, none without a path."""
    content = durable.read(path) if path else b""
    if content is None:
        raise refuse(f"/ipam/resolvConf: {path} does not exist")
    dns: dict[str, list[str]] = {"nameservers": [], "domain": [], "search": [], "options": []}
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) < 2 or line.startswith(("#", ";")):
            continue
        key = "nameservers" if words[0] == "nameserver" else words[0]
        if key in dns:
            dns[key] += words[1:] if key in ("search", "options") else words[1:2]
    return {key: values[-1] if key == "domain" else values for key, values in dns.items() if values}
