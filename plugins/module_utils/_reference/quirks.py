# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Recognise known defects of released plugins by their errors."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue, plugin_type
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import Quirk

_Condition = t.Callable[[Record, PluginConfiguration], bool]


def _addresses(record: Record) -> list[str]:
    result = record.result.to("1.0.0").keys if record.result else {}
    return [ip["address"] for ip in result.get("ips") or ()]


CONDITIONS: t.Final[t.Mapping[str, _Condition]] = {
    plugin_type.ALWAYS: lambda dummy, plugin: True,
    plugin_type.NO_IPV4_ADDRESS: lambda record, dummy: all(":" in address for address in _addresses(record)),
    plugin_type.NO_IPV6_ADDRESS: lambda record, dummy: not any(":" in address for address in _addresses(record)),
    plugin_type.NO_IPAM: lambda dummy, plugin: not plugin.delegated_type,
    plugin_type.ROUTES_MOVED: lambda record, dummy: any(
        catalogue.find_plugin_type(plugin.type).moves_routes for plugin in record.network().plugins
    ),
    plugin_type.IPV4_HOST_ADDRESS: lambda record, dummy: any(
        address.endswith("/32") and ":" not in address for address in _addresses(record)
    ),
}

# Errors of plugins that reject a version, a configuration, arguments or values before they do anything.
_REJECTION = (
    r"(?i)unmarshal|failed to parse|failed to load \w*conf|invalid (?!argument)|unknown args|incompatible CNI versions"
    r"|of the specification is not supported"
    r"|panic: assignment to entry in nil map"
)
_FAILED_DEL = r"plugin \S+ failed \(DEL\): "
_FAILURE_COUNT = r": (\d+) failures$"
_REJECTION_CODES = (
    Code.INCOMPATIBLE_VERSION,
    Code.UNSUPPORTED_FIELD,
    Code.DECODE_FAILURE,
    Code.INVALID_CONFIG,
)


def is_false_alarm(record: Record, plugin: PluginConfiguration, error: CniError) -> bool:
    """Return whether the error of CHECK is a known defect of the plugin."""
    row = catalogue.find_plugin_type(plugin.type)
    quirks = (*row.quirks, *(catalogue.INTERFACE_QUIRKS if row.makes_interface else ()))
    return any(
        re.search(quirk.pattern, str(error)) and CONDITIONS[quirk.condition](record, plugin)
        for quirk in quirks
        if quirk.effect == plugin_type.FALSE_ALARM
    )


def should_repeat_add(error: CniError) -> bool:
    """Return whether ADD failed because of a known defect and succeeds when it is repeated."""
    return _find(plugin_type.ADD_AGAIN, str(error)) is not None


def should_repeat_del(error: CniError) -> bool:
    """Return whether DEL failed because its masquerade chain is missing or in use, and succeeds when it is repeated."""
    return _find(plugin_type.DEL_AGAIN, str(error)) is not None


def with_advice(error: CniError) -> CniError:
    """Return the error of ADD with advice to the operator, if the catalogue has any."""
    quirk = _find(plugin_type.ADVICE, error.msg)
    return error.with_detail(quirk.advice) if quirk else error


def _find(effect: str, message: str) -> Quirk | None:
    """Return the first quirk with this effect whose pattern matches a message, or None."""
    return next(
        (
            quirk
            for row in catalogue.CATALOGUE.values()
            for quirk in row.quirks
            if quirk.effect == effect and re.search(rf"plugin {row.name} failed {quirk.pattern}", message)
        ),
        None,
    )


def require_no_panic(network: NetworkConfiguration, config_args: t.Mapping[str, t.Any]) -> None:
    """Reject a configuration that crashes the plugin tuning (1.9.1 and older), at ADD as well as at DEL.

    Args:
        config_args: The values of an attachment for ``args.cni``.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    for position, plugin in enumerate(network.plugins):
        if (
            catalogue.find_plugin_type(plugin.type).panics_without_sysctl
            and plugin.keys.get("sysctl") is None
            and _sysctl_args(plugin, config_args)
        ):
            where = f"plugin {position} ({plugin.type}) of network {network.name}"
            problem = f"{where}: args.cni has sysctl, but the plugin configuration has none"
            advice = 'the plugin would panic, at DEL too; add "sysctl": {} to its configuration'
            raise CniError(Code.INVALID_CONFIG, problem, advice)


def _sysctl_args(plugin: PluginConfiguration, config_args: t.Mapping[str, t.Any]) -> t.Any:
    args = plugin.keys.get("args")
    configured = args.get("cni") if isinstance(args, dict) else None
    values = configured if isinstance(configured, dict) and "sysctl" not in config_args else config_args
    return values.get("sysctl")


def is_input_rejection(error: CniError) -> bool:
    """Return whether DEL failed only because plugins rejected their input, so that repeating it is useless."""
    count = re.search(_FAILURE_COUNT, error.msg)
    messages = re.split(_FAILED_DEL, str(error))[1:]
    if len(messages) != (int(count[1]) if count else 1):
        return False
    return all(re.search(_REJECTION, message) for message in messages) or (not count and error.code in _REJECTION_CODES)
