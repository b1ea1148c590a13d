# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record

_Knows = t.Callable[[Record, PluginConfiguration], bool]


def _has_no_address(family: str) -> _Knows:
    def knows(record: Record, plugin: PluginConfiguration) -> bool:
        result = record.result.to("1.0.0").keys if record.result else {}
        return all((":" in ip["address"]) != (family == "6") for ip in result.get("ips") or ())

    return knows


def _whatever_it_has(record: Record, plugin: PluginConfiguration) -> bool:
    return True


def _has_no_ipam(record: Record, plugin: PluginConfiguration) -> bool:
    return not plugin.delegated_type


def _has_moved_routes(record: Record, plugin: PluginConfiguration) -> bool:
    # Only a run that looks closer loads it.
    from ansible_collections.cni.node.plugins.module_utils._reference.interface_drift import moves_routes

    return moves_routes(record.network())


def _has_ipv4_host_address(record: Record, plugin: PluginConfiguration) -> bool:
    result = record.result.to("1.0.0").keys if record.result else {}
    return any(ip["address"].endswith("/32") and ":" not in ip["address"] for ip in result.get("ips") or ())


# Patterns are text here: most runs have nothing to complain of and need none of them compiled.
_REPEATED: t.Final = (
    # They look for the chains that all containers share and make them when they are missing: two that do so at once on
    # a new node find that one of them exists already.
    r"(?s)plugin (portmap|firewall) failed \(ADD\).*(File exists|Chain already exists)",
    # A bridge whose only port has gone with an ADD that failed has no MAC which could be made its own. It gets its
    # address before that is found, and what has an address is left alone by the next ADD.
    r"plugin bridge failed \(ADD\): failed to set bridge addr: could not set bridge's mac",
)

# bridge and ptp insist on the chain whose rules they are about to remove; by then the interface is gone, and the next
# DEL has no address to look for rules of.
_CHAIN: t.Final = (
    r"(?s)plugin (bridge|ptp) failed \(DEL\).* -j CNI-[0-9a-f]{24} .*(does not exist|Couldn't load target)",
    # All interfaces that a container has in a network share one, which cannot go before the last of them.
    r"(?s)plugin (bridge|ptp) failed \(DEL\).* -X CNI-[0-9a-f]{24} .*(Device or resource busy|Too many links)",
)


# What a plugin says of an ADD that is never going to succeed as it is configured, and what to do about that.
_ADVICE: t.Final = (
    (
        r"plugin bridge failed \(ADD\): .*already has an IP address different from",
        'the subnet of the bridge has changed: give the plugin "forceAddress": true, so that the bridge gets the new gateway',
    ),
)

# What plugins say of a version, a configuration, arguments or values that they cannot make sense of, before they do anything.
_REFUSAL: t.Final = (
    r"(?i)unmarshal|failed to parse|failed to load \w*conf|invalid (?!argument)|unknown args|incompatible CNI versions"
    r"|panic: assignment to entry in nil map"
)
_COMPLAINT: t.Final = r"plugin \S+ failed \(DEL\): "
_SEVERAL: t.Final = r": (\d+) failures$"
_REFUSAL_CODES: t.Final = (
    Code.INCOMPATIBLE_VERSION,
    Code.UNSUPPORTED_FIELD,
    Code.DECODE_FAILURE,
    Code.INVALID_CONFIG,
)


# Stands for every reference plugin that makes an interface: they share the code that looks for addresses and routes.
_MAKES_INTERFACE: t.Final = ""
# Plugin type, what it says, and the fact that makes it wrong. What is behind it is looked at in the kernel before.
_KNOWN: t.Final[tuple[tuple[str, str, _Knows], ...]] = (
    # portmap 1.1 and before look for the rules of both families whenever both kinds of iptables are installed.
    ("portmap", r"could not check ipv6 dnat", _has_no_address("6")),
    ("portmap", r"could not check ipv4 dnat", _has_no_address("4")),
    # With addresses of both, they look for the rules of one family's address among the other's.
    ("portmap", r"could not check ipv6 dnat: rule .*-s [0-9.]+/", _whatever_it_has),
    ("portmap", r"could not check ipv4 dnat: rule .*-s [0-9a-f]*:", _whatever_it_has),
    # udev gives a new link of the node another MAC, a bridge takes that of a port; the container's is looked at apart.
    (
        "bridge",
        r"Bridge interface \S+ Mac doesn't match: |Mac doesn't match: \S+ not found",
        _whatever_it_has,
    ),
    # bridge hands CHECK on to an IPAM plugin that a network of layer 2 does not have.
    ("bridge", r"no plugin name provided", _has_no_ipam),
    # sbr and vrf move the routes to a table of their own, where the plugin that made them does not look.
    (_MAKES_INTERFACE, r"Expected Route|Failed to find Gateway", _has_moved_routes),
    # Nor does it look in the table that a route was given.
    (_MAKES_INTERFACE, r"Expected Route .* Table:(?!254 )\d+ .*not found", _whatever_it_has),
    # 1.2.0 and before give the container's gateway to a route that has none, and look for one without a gateway then.
    (_MAKES_INTERFACE, r"Expected Route .* GW:<nil>\} not found", _whatever_it_has),
    # The kernel has a route to an address's network in the table where they look, and this one has no network.
    (_MAKES_INTERFACE, r"Failed to find Gateway", _has_ipv4_host_address),
)


def is_false_alarm(record: Record, plugin: PluginConfiguration, error: CniError) -> bool:
    """Tell the complaints of released reference plugins that are wrong whenever they are made."""
    types = (plugin.type, _MAKES_INTERFACE) if _makes_interface(plugin) else (plugin.type,)
    return any(
        known_type in types and re.search(pattern, str(error)) and knows(record, plugin)
        for known_type, pattern, knows in _KNOWN
    )


def _makes_interface(plugin: PluginConfiguration) -> bool:
    from ansible_collections.cni.node.plugins.module_utils._reference.interface_drift import MAKE_INTERFACES

    return plugin.type in MAKE_INTERFACES


def is_to_be_repeated(error: CniError) -> bool:
    """Tell an ADD that failed for what was there when it began, and will succeed now."""
    return any(re.search(pattern, str(error)) for pattern in _REPEATED)


def require_no_panic(network: NetworkConfiguration, config_args: t.Mapping[str, t.Any]) -> None:
    """Refuse what ends tuning (1.9.1 and before) in a panic: neither its ADD nor the DEL after that could succeed.

    Args:
        config_args: What an attachment brings for ``args.cni``.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    for position, plugin in enumerate(network.plugins):
        if plugin.type == "tuning" and plugin.keys.get("sysctl") is None and _sysctl_args(plugin, config_args):
            problem = f"plugin {position} (tuning) of network {network.name}: args.cni has sysctl and the plugin itself has not"
            advice = (
                'the plugin ends in a panic then, also at DEL; add "sysctl": {} to it in the network\'s configuration'
            )
            raise CniError(Code.INVALID_CONFIG, problem, advice)


def _sysctl_args(plugin: PluginConfiguration, config_args: t.Mapping[str, t.Any]) -> t.Any:
    args = plugin.keys.get("args")
    written = args.get("cni") if isinstance(args, dict) else None
    given = config_args if "sysctl" in config_args or not isinstance(written, dict) else written
    return given.get("sysctl")


def with_advice(error: CniError) -> CniError:
    """Return the error of an ADD with what is to be done, where that is known."""
    for pattern, advice in _ADVICE:
        if re.search(pattern, error.msg):
            return error.with_detail(advice)
    return error


def failed_for_its_chain(error: CniError) -> bool:
    """Tell a DEL that failed for a masquerade chain that somebody has removed or still has, so that it will succeed now."""
    return any(re.search(pattern, str(error)) for pattern in _CHAIN)


def refused_what_it_got(error: CniError) -> bool:
    """Tell a DEL that failed for nothing but what plugins were given, so that it will never succeed with that."""
    several = re.search(_SEVERAL, error.msg)
    said = re.split(_COMPLAINT, str(error))[1:]
    if len(said) != (int(several[1]) if several else 1):
        return False
    return all(re.search(_REFUSAL, one) for one in said) or (not several and error.code in _REFUSAL_CODES)


__all__ = (
    "failed_for_its_chain",
    "is_false_alarm",
    "is_to_be_repeated",
    "refused_what_it_got",
    "require_no_panic",
    "with_advice",
)
