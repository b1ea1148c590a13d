# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The kernel modules, settings and programs that networks and container runtimes need, with the reasons."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import ContainerRuntime
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import PluginType

Reasons = dict[str, list[str]]

_BRIDGED = {4: "net.bridge.bridge-nf-call-iptables", 6: "net.bridge.bridge-nf-call-ip6tables"}
_FORWARDING = {4: "net.ipv4.ip_forward", 6: "net.ipv6.conf.all.forwarding"}
_IPTABLES = {4: "iptables", 6: "ip6tables"}
_FIB = {4: "nft_fib_ipv4", 6: "nft_fib_ipv6"}
_NAT = ("nf_conntrack", "nf_nat")
# Link kind, as the kernel names it, of the interface that tap creates.
_TAP = "tun"


@dataclasses.dataclass
class Needs:
    """The kernel modules, kernel settings and programs that networks need, with the reasons.

    Attributes:
        modules, settings, programs: Reasons by name.
        values: Values of the settings by name.
        limits_rates: Whether attachments have rate limits, which this collection writes with a library.
    """

    modules: Reasons = dataclasses.field(default_factory=dict)
    settings: Reasons = dataclasses.field(default_factory=dict)
    programs: Reasons = dataclasses.field(default_factory=dict)
    values: dict[str, str] = dataclasses.field(default_factory=dict)
    limits_rates: bool = False

    def add_module(self, name: str, reason: str) -> None:
        _add_reason(self.modules, name, reason)

    def add_setting(self, name: str, value: str, reason: str) -> None:
        """Add a setting with its value.

        Raises:
            CniError: ``INVALID_CONFIG``: it is needed with another value, too.
        """
        if self.values.setdefault(name, value) != value:
            raise CniError(
                Code.INVALID_CONFIG,
                f"sysctls: conflicting values for {name}: {value!r} and {self.values[name]!r} ({'; '.join(self.settings[name])})",
                "give each setting once, with the value that the networks and the runtime need",
            )
        _add_reason(self.settings, name, reason)


def add_network(needs: Needs, network: NetworkConfiguration) -> None:
    """Add the requirements of a network's reference plugins; other plugins are skipped.

    Modules are listed even if the kernel loads them on demand, because some nodes do not load or do not have them.
    Settings that plugins set themselves, for an interface or in the container's namespace, are not listed:
    ``route_localnet`` (portmap), ``accept_ra``, ``arp_notify`` (bridge), the settings of tuning.
    """
    families = _families(network)
    bridged = any(catalogue.find_plugin_type(plugin.type).is_bridge for plugin in network.plugins)
    for plugin in network.plugins:
        where = f"network {network.name}, plugins[{plugin.index}] {plugin.type}"
        known = catalogue.find_plugin_type(plugin.type)
        needs.limits_rates |= known.limits_bandwidth
        _derive(_Plugin(needs, where, plugin, families, bridged), known)


def add_runtime(needs: Needs, runtime: ContainerRuntime) -> None:
    """Add what a container runtime needs and does not set itself.

    Raises:
        CniError: ``INVALID_CONFIG``: a setting already has another value.
    """
    setup, reason = runtime.setup, f"needed by {runtime.title}"
    for module in () if setup.sets_kernel else setup.modules:
        needs.add_module(module, reason)
    for name, value in {} if setup.sets_kernel else setup.sysctls.items():
        needs.add_setting(name, value, reason)


@dataclasses.dataclass(frozen=True)
class _Plugin:
    """A plugin whose requirements are added to `Needs`.

    Attributes:
        families: Families of the network's addresses, as far as its configuration shows: 4, 6 or both.
        bridged: Whether the network has a bridge.
    """

    _needs: Needs
    _where: str
    _configuration: PluginConfiguration
    families: tuple[int, ...]
    bridged: bool

    def modules(self, *names: str, why: str = "") -> None:
        self._add(self._needs.modules, names, why)

    def programs(self, *names: str, why: str = "") -> None:
        self._add(self._needs.programs, names, why)

    def settings(self, by_family: t.Mapping[int, str], why: str) -> None:
        """Require the value 1 for the settings of the network's families."""
        names = [by_family[family] for family in self.families]
        self._add(self._needs.settings, names, why)
        self._needs.values.update(dict.fromkeys(names, "1"))

    def pick_by_family(self, by_family: t.Mapping[int, str]) -> list[str]:
        return [by_family[family] for family in self.families]

    def text(self, key: str) -> str:
        value = self._configuration.keys.get(key)
        return value if isinstance(value, str) else ""

    def has(self, *keys: str) -> str:
        """Return the first of the keys that is given and neither false nor zero, or an empty string."""
        return next((key for key in keys if self._configuration.keys.get(key)), "")

    def denies(self, key: str) -> bool:
        """Return whether a key that is true by default is false."""
        return self._configuration.keys.get(key) is False

    @property
    def has_addresses(self) -> bool:
        return bool(self._configuration.delegated_type)

    def can(self, capability: str) -> bool:
        return capability in self._configuration.capabilities

    def _add(self, reasons: Reasons, names: t.Iterable[str], why: str) -> None:
        reason = f"{self._where}: {why}" if why else self._where
        for name in names:
            _add_reason(reasons, name, reason)


def _add_reason(reasons: Reasons, name: str, reason: str) -> None:
    known = reasons.setdefault(name, [])
    if reason not in known:
        known.append(reason)


def _derive(plugin: _Plugin, known: PluginType) -> None:
    plugin.modules(*known.modules)
    traits = {
        _bridge: known.is_bridge,
        _router: known.is_point_to_point,
        _masquerade: known.masquerades and (plugin.has_addresses or not known.is_bridge),
        _spoof_check: known.checks_macs,
        _portmap: known.maps_ports,
        _firewall: known.filters,
        _bandwidth: known.limits_bandwidth,
        _tap: known.link_kind == _TAP,
    }
    for derive, applies in traits.items():
        if applies:
            derive(plugin)
    plugin.programs(*known.programs)


def _bridge(plugin: _Plugin) -> None:
    gateway = plugin.has("isGateway", "isDefaultGateway")
    if gateway and plugin.has_addresses:
        plugin.settings(_FORWARDING, gateway)
        # NAT on the node, such as that of Kubernetes services, may redirect a container to another one on the same bridge.
        _filter_bridged(plugin, f"{gateway}, and iptables must see traffic between containers")


def _spoof_check(plugin: _Plugin) -> None:
    if plugin.has("macspoofchk"):
        plugin.modules("nf_tables", why="macspoofchk")
        plugin.programs("nft", why="macspoofchk")


def _router(plugin: _Plugin) -> None:
    plugin.settings(_FORWARDING, "the node routes between containers and networks")


def _masquerade(plugin: _Plugin) -> None:
    if not plugin.has("ipMasq"):
        return
    backend = plugin.text("ipMasqBackend")
    why = f"ipMasq with {backend}" if backend else "ipMasq"
    plugin.settings(_FORWARDING, why)
    if backend == "nftables":
        plugin.modules(*_NAT, "nf_tables", "nft_chain_nat", "nft_masq", why=why)
        plugin.programs("nft", why=why)
    else:
        plugin.modules(*_NAT, "xt_MASQUERADE", "xt_comment", why=why)
        plugin.programs(*plugin.pick_by_family(_IPTABLES), why=why)


def _portmap(plugin: _Plugin) -> None:
    backend = plugin.text("backend")
    why = f"backend {backend}" if backend else ""
    if backend == "nftables":
        masquerade = [] if plugin.denies("snat") else ["nft_masq"]
        fib = plugin.pick_by_family(_FIB)
        plugin.modules(*_NAT, "nf_tables", "nft_chain_nat", "nft_nat", *fib, *masquerade, why=why)
        plugin.programs("nft", why=why)
    else:
        masquerade = [] if plugin.denies("snat") else ["xt_MASQUERADE", "xt_mark"]
        plugin.modules(*_NAT, "xt_addrtype", "xt_comment", "xt_multiport", "xt_nat", *masquerade, why=why)
        plugin.programs(*plugin.pick_by_family(_IPTABLES), why=why)
    plugin.settings(_FORWARDING, "host ports are forwarded to containers")
    if plugin.bridged:
        _filter_bridged(plugin, "containers on the same bridge reach each other through host ports")


def _firewall(plugin: _Plugin) -> None:
    policy = plugin.text("ingressPolicy")
    if plugin.text("backend") != "firewalld" or policy in ("same-bridge", "isolated"):
        plugin.modules("nf_conntrack", "xt_comment", "xt_conntrack")
        # The plugin runs both, whatever addresses the network has.
        plugin.programs(*_IPTABLES.values())
    if plugin.bridged and policy == "isolated":
        _filter_bridged(plugin, "ingressPolicy isolated filters traffic between containers on a bridge")


def _filter_bridged(plugin: _Plugin, why: str) -> None:
    plugin.modules("br_netfilter", why=why)
    plugin.settings(_BRIDGED, why)


def _bandwidth(plugin: _Plugin) -> None:
    capability = "capability bandwidth" if plugin.can("bandwidth") else ""
    either = plugin.has("egressRate", "ingressRate") or capability
    egress = plugin.has("egressRate") or capability
    if either:
        plugin.modules("sch_tbf", why=either)
    if egress:
        plugin.modules("act_mirred", "cls_u32", "ifb", "sch_ingress", why=egress)


def _tap(plugin: _Plugin) -> None:
    if plugin.has("bridge"):
        plugin.modules("bridge", why="bridge")


def _families(network: NetworkConfiguration) -> tuple[int, ...]:
    """Return the families of a network's addresses; 4 if its configuration has none (DHCP, ranges from capability arguments)."""
    addresses = [text for plugin in network.plugins for text in _addresses(plugin.keys.get("ipam"))]
    return tuple(sorted({6 if ":" in text else 4 for text in addresses})) or (4,)


def _addresses(ipam: object) -> t.Iterator[str]:
    """Yield the addresses and subnets in a configuration of host-local or static, without checking them."""
    if isinstance(ipam, dict):
        for key in ("subnet", "address"):
            if isinstance(ipam.get(key), str):
                yield ipam[key]
        for key in ("ranges", "addresses"):
            yield from _addresses(ipam.get(key))
    elif isinstance(ipam, list):
        for entry in ipam:
            yield from _addresses(entry)
