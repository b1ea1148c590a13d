# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The results of plugins, in all versions of the specification (section 5)."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import parse_address, parse_interface
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind
from ansible_collections.cni.node.plugins.module_utils._cni import version

_ADDED_IN_1_0_0 = ("mtu", "socketPath", "pciID")
# 0.3.0 replaced the former by the latter. In results of the other form, these keys are ignored.
_BEFORE_0_3_0 = ("ip4", "ip6")
_SINCE_0_3_0 = ("interfaces", "ips", "routes")
_ROUTE_NUMBERS = ("mtu", "advmss", "priority", "table", "scope")
_DNS_LISTS = ("nameservers", "search", "options")
# The integers that Go programs can decode.
_INTEGERS = range(-(1 << 63), 1 << 63)


class Result(t.NamedTuple):
    """The result of a successful ADD (section 5), in one version of the specification.

    Attributes:
        keys: The JSON object, ``cniVersion`` included. Keys unknown to the specification are kept; keys of
            another version's form are not.
    """

    version: str
    keys: t.Mapping[str, t.Any]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its addresses, without prefix lengths."""
        keys = _from_families(dict(self.keys)) if _is_old(self.version) else self.keys
        interfaces = (parse_interface(ip["address"]) for ip in keys.get("ips") or ())
        return tuple(str(interface.ip) for interface in interfaces if interface)

    def to(self, target: str) -> Result:
        """Return the result in another version.

        Data that the older form lacks is dropped: 0.1.0 and 0.2.0 have one address per family and no interfaces, 0.3.0 to
        0.4.0 have no MTU, socket or PCI device of an interface.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION`` if the older form requires an address and there is none.
        """
        if target == self.version:
            return self
        keys = dict(self.keys)
        if _is_old(self.version) and not _is_old(target):
            keys = _from_families(keys)
        elif _is_old(target) and not _is_old(self.version):
            keys = _to_families(keys)
        if not _is_old(self.version) and not version.at_least(self.version, "1.0.0"):
            keys = _without_additions_of_1_0_0(keys)
        if not _is_old(target):
            keys = (
                _with_family_numbers(keys) if not version.at_least(target, "1.0.0") else _without_family_numbers(keys)
            )
        return Result(target, {**keys, "cniVersion": target})


def decode(content: bytes, implied_version: str, what: str) -> Result:
    """Read the result that a plugin printed; `null`, which some Go programs print, is an empty result.

    Args:
        implied_version: The request's version, used if the result names none.
        what: The plugin, as error messages name it.

    Raises:
        CniError: ``DECODE_FAILURE`` or ``INCOMPATIBLE_VERSION``.
    """
    keys = json_text.decode(content, what)
    return from_keys({} if keys is None else keys, implied_version, what)


def from_keys(keys: object, implied_version: str, what: str) -> Result:
    """Return a result from its parsed JSON; errors as `decode`."""
    document = dict(_expect(keys, dict, what))
    named = _expect_optional(document.get("cniVersion"), str, f"{what}: /cniVersion") or implied_version
    own = version.require_known(named, f"{what}: /cniVersion")
    document["cniVersion"] = own
    for key in _SINCE_0_3_0 if _is_old(own) else _BEFORE_0_3_0:
        document.pop(key, None)
    if _is_old(own):
        for family in _BEFORE_0_3_0:
            _check_family(document.get(family), f"{what}: /{family}")
    else:
        _check_lists(document, what, version.at_least(own, "1.0.0"))
    _check_dns(document.get("dns"), f"{what}: /dns")
    return Result(own, document)


def _is_old(named: str) -> bool:
    return not version.at_least(named, "0.3.0")


def _check_family(family: object, where: str) -> None:
    if family is None:
        return
    keys = _expect(family, dict, where)
    _check_address(keys.get("ip"), f"{where}/ip")
    _check_gateway(keys.get("gateway"), f"{where}/gateway")
    _check_routes(keys.get("routes"), f"{where}/routes")


def _check_lists(document: JsonObject, what: str, is_of_1_0_0: bool) -> None:
    for index, interface in enumerate(_expect_optional(document.get("interfaces"), list, f"{what}: /interfaces") or ()):
        where = f"{what}: /interfaces/{index}"
        keys = _expect(interface, dict, where)
        for key in ("name", "mac", "sandbox"):
            _expect_optional(keys.get(key), str, f"{where}/{key}")
        if is_of_1_0_0:
            _check_integer(keys.get("mtu"), f"{where}/mtu")
            for key in ("socketPath", "pciID"):
                _expect_optional(keys.get(key), str, f"{where}/{key}")
    for index, ip in enumerate(_expect_optional(document.get("ips"), list, f"{what}: /ips") or ()):
        where = f"{what}: /ips/{index}"
        keys = _expect(ip, dict, where)
        _check_address(keys.get("address"), f"{where}/address")
        _check_gateway(keys.get("gateway"), f"{where}/gateway")
        _check_integer(keys.get("interface"), f"{where}/interface")
    _check_routes(document.get("routes"), f"{what}: /routes")


def _check_routes(routes: object, where: str) -> None:
    for index, route in enumerate(_expect_optional(routes, list, where) or ()):
        keys = _expect(route, dict, f"{where}/{index}")
        _check_address(keys.get("dst"), f"{where}/{index}/dst")
        _check_gateway(keys.get("gw"), f"{where}/{index}/gw")
        for key in _ROUTE_NUMBERS:
            _check_integer(keys.get(key), f"{where}/{index}/{key}")


def _check_dns(dns: object, where: str) -> None:
    keys = _expect_optional(dns, dict, where) or {}
    _expect_optional(keys.get("domain"), str, f"{where}/domain")
    for key in _DNS_LISTS:
        for index, entry in enumerate(_expect_optional(keys.get(key), list, f"{where}/{key}") or ()):
            _expect_optional(entry, str, f"{where}/{key}/{index}")


def _check_integer(value: object, where: str) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value not in _INTEGERS):
        raise CniError(Code.DECODE_FAILURE, f"{where}: {value!r} is not a 64-bit integer")


def _check_address(value: object, where: str) -> None:
    if parse_interface(_expect(value, str, where)) is None:
        raise CniError(Code.DECODE_FAILURE, f"{where}: {value!r} is not an address with a prefix length")


def _check_gateway(value: object, where: str) -> None:
    if value is not None and value != "" and parse_address(_expect(value, str, where)) is None:
        raise CniError(Code.DECODE_FAILURE, f"{where}: {value!r} is not an address")


def _expect(value: object, expected: type, where: str) -> t.Any:
    if not isinstance(value, expected):
        raise CniError(Code.DECODE_FAILURE, f"{where}: expected {kind(expected())}, found {kind(value)}")
    return value


def _expect_optional(value: object, expected: type, where: str) -> t.Any:
    return None if value is None else _expect(value, expected, where)


def _family(address: str) -> int:
    interface = parse_interface(address)
    return interface.version if interface else 0


def _from_families(keys: JsonObject) -> JsonObject:
    common = _without(keys, *_BEFORE_0_3_0, *_SINCE_0_3_0)
    families = [family for family in (keys.get("ip4"), keys.get("ip6")) if family]
    ips = [{"address": family["ip"], **_select(family, "gateway")} for family in families]
    routes = [route for family in families for route in family.get("routes") or ()]
    return {**common, "ips": ips, **({"routes": routes} if routes else {})}


def _to_families(keys: JsonObject) -> JsonObject:
    common = _without(keys, *_BEFORE_0_3_0, *_SINCE_0_3_0)
    families: dict[int, JsonObject] = {}
    for ip in keys.get("ips") or ():
        families.setdefault(_family(ip["address"]), {"ip": ip["address"], **_select(ip, "gateway")})
    if not families:
        raise CniError(
            Code.INCOMPATIBLE_VERSION, "a result without an address cannot be converted to a version before 0.3.0"
        )
    for route in keys.get("routes") or ():
        family = families.get(_family(route["dst"]))
        if family is not None:
            family.setdefault("routes", []).append(_select(route, "dst", "gw"))
    return {**common, **{f"ip{number}": families[number] for number in sorted(families)}}


def _with_family_numbers(keys: JsonObject) -> JsonObject:
    changed: JsonObject = {}
    if keys.get("ips"):
        changed["ips"] = [{**ip, "version": str(_family(ip["address"]))} for ip in keys["ips"]]
    return _without_additions_of_1_0_0({**keys, **changed})


def _without_additions_of_1_0_0(keys: JsonObject) -> JsonObject:
    if not keys.get("interfaces"):
        return keys
    return {**keys, "interfaces": [_without(interface, *_ADDED_IN_1_0_0) for interface in keys["interfaces"]]}


def _without_family_numbers(keys: JsonObject) -> JsonObject:
    return {**keys, "ips": [_without(ip, "version") for ip in keys["ips"]]} if keys.get("ips") else keys


def _select(keys: JsonObject, *names: str) -> JsonObject:
    return {key: keys[key] for key in names if key in keys}


def _without(keys: JsonObject, *names: str) -> JsonObject:
    return {key: value for key, value in keys.items() if key not in names}
