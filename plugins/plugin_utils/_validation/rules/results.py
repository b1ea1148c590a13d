# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check results of ADD."""

from __future__ import annotations

import collections.abc
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpNetwork,
    parse_address,
    parse_interface,
    parse_network,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, kind
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import list_objects
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import schema_level
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.fast_path import is_integer


def findings(attachments: t.Any) -> list[Finding]:
    """Return findings about results of ADD.

    Args:
        attachments: One attachment or a list, as returned by the module `attachments`, or results by themselves. An
            attachment without a result has no findings.

    Raises:
        CniError: ``INVALID_CONFIG``: a value has the wrong type.
        AnsibleError: jsonschema is missing on the controller.
    """
    listed = list(attachments) if isinstance(attachments, (list, tuple)) else [attachments]
    problems: list[Finding] = []
    for index, entry in enumerate(listed):
        if not isinstance(entry, collections.abc.Mapping):
            raise CniError(Code.INVALID_CONFIG, f"found {kind(entry)}", "expected: attachments, or their results")
        if "result" not in entry:
            problems += _check_result(dict(entry), f"results[{index}]")
        elif entry["result"]:
            problems += _check_result(entry["result"], _name(entry, index))
    return problems


def _name(attachment: JsonMapping, index: int) -> str:
    if "container_id" not in attachment:
        return f"attachments[{index}]"
    interface = f"{attachment['container_id']} ({attachment.get('ifname')})"
    return f"attachment of {interface} to network {attachment.get('network')}"


def _check_result(result: t.Any, file: str) -> t.Iterator[Finding]:
    yield from schema_level.result_findings(result, file)
    if not isinstance(result, dict):
        return
    try:
        result_version = version.require_known(str(result.get("cniVersion", "")), "")
    except CniError as exc:
        value = result.get("cniVersion")
        yield Finding("unsupported-version", file, "/cniVersion", f"{value!r} is unknown", exc.details, value)
        return
    for key, family in (("ip4", 4), ("ip6", 6)):
        if isinstance(result.get(key), dict):
            yield from _check_address(
                file, join("", key), {**result[key], "address": result[key].get("ip")}, family, "ip"
            )
    for keys, path in list_objects(result.get("ips"), "/ips"):
        yield from _check_ip(result, result_version, file, keys, path)
    for keys, path in list_objects(result.get("routes"), "/routes"):
        yield from _check_family(file, join(path, "gw"), parse_network(keys.get("dst")), keys.get("gw"))


def _check_ip(
    result: dict[str, t.Any], result_version: str, file: str, keys: dict[str, t.Any], path: str
) -> t.Iterator[Finding]:
    has_version = not version.at_least(result_version, "1.0.0")
    if has_version and "version" not in keys:
        message = f"the address has no 'version', which results of version {result_version} need"
        yield Finding("missing-key", file, join(path, "version"), message, 'expected: "4" or "6"')
    family = int(keys["version"]) if has_version and keys.get("version") in ("4", "6") else None
    yield from _check_address(file, path, keys, family, "address")
    interfaces, interface = result.get("interfaces"), keys.get("interface")
    count = len(interfaces) if isinstance(interfaces, list) else 0
    if is_integer(interface) and interface >= count:
        message = f"there is no interface {interface}"
        hint = f"expected: 0 to {count - 1}, an index of 'interfaces'" if count else "'interfaces' is missing or empty"
        yield Finding("out-of-range", file, join(path, "interface"), message, hint, interface)


def _check_address(file: str, path: str, keys: dict[str, t.Any], family: int | None, key: str) -> t.Iterator[Finding]:
    address = parse_interface(keys.get("address"))
    if address is None:
        return
    if family not in (None, address.version):
        message = f"{address} is not an IPv{family} address"
        yield Finding("family-mismatch", file, join(path, key), message, "", keys["address"])
    yield from _check_family(file, join(path, "gateway"), address.network, keys.get("gateway"))


def _check_family(file: str, path: str, network: IpNetwork | None, gateway: t.Any) -> t.Iterator[Finding]:
    gateway_address = parse_address(gateway)
    if network and gateway_address and network.version != gateway_address.version:
        message = f"the gateway {gateway_address} and {network} belong to different address families"
        yield Finding("family-mismatch", file, path, message, f"expected: IPv{network.version}", gateway)
