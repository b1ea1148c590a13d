# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Call a plugin of this process as the specification calls an executable (section 2): same requests, results and errors."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, NoExecutor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result

ATTACHMENT_COMMANDS = ("ADD", "CHECK", "DEL")
COMMANDS = (*ATTACHMENT_COMMANDS, "GC", "STATUS", "VERSION")
# The version with which each of these commands came.
_SINCE = {"CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}
# The codes that tell a runtime what to do. With all other errors, the reference plugins return the same code, 999.
_CODES_OF_PLUGINS = (
    Code.UNKNOWN_CONTAINER,
    Code.TRY_AGAIN,
    Code.NOT_AVAILABLE,
    Code.LIMITED_CONNECTIVITY,
)
_FIRST_OWN_CODE = 100
# Without content, these lists are left out of a result.
_LISTS = ("interfaces", "ips", "routes")


def call(plugin: Plugin, content: bytes, parameters: Parameters, executor: Executor) -> bytes:
    """Run an operation of a plugin and return what an executable would print.

    Args:
        content: The request.
        executor: Runs delegated plugins.

    Raises:
        CniError: The plugin's error, or ``INCOMPATIBLE_VERSION``, ``DECODE_FAILURE``, ``INVALID_CONFIG`` or
            ``INVALID_ENVIRONMENT`` for a request that no plugin accepts.
    """
    if parameters.command == "VERSION":
        return json_text.encode(version.describe(plugin.versions))
    operations: dict[str, t.Callable[[PluginRequest], Result | None]] = {
        "ADD": plugin.add,
        "CHECK": plugin.check,
        "DEL": plugin.delete,
        "GC": plugin.gc,
        "STATUS": plugin.status,
    }
    if parameters.command not in operations:
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"CNI_COMMAND: {parameters.command!r} is unknown",
            f"expected: one of {', '.join(COMMANDS)}",
        )
    request = _read_request(plugin, content, parameters, executor)
    with _as_plugin_errors():
        result = operations[parameters.command](request)
        return b"" if result is None else json_text.encode(_complete_output(result.to(request.version)))


def require_accepted(plugin: Plugin, content: bytes, parameters: Parameters) -> None:
    """Raise the error with which a plugin would refuse a request, without running the operation.

    Args:
        content: The request. The previous result may be missing.

    Raises:
        CniError: As `call`.
    """
    request = _read_request(plugin, content, parameters, NoExecutor())
    with _as_plugin_errors():
        plugin.require_accepted(request)


@contextlib.contextmanager
def _as_plugin_errors() -> t.Iterator[None]:
    """Give errors the codes that plugins may use."""
    try:
        yield
    except (CniError, OSError) as exc:
        error = as_error(exc)
        code = error.code if error.code in _CODES_OF_PLUGINS or error.code >= _FIRST_OWN_CODE else Code.INTERNAL
        raise CniError(code, error.msg, error.details) from exc


def _read_request(plugin: Plugin, content: bytes, parameters: Parameters, executor: Executor) -> PluginRequest:
    what = f"the request of plugin {plugin.name}"
    keys = json_text.any_case(json_text.as_object(json_text.decode(content, what, recorded=True), what))
    selected = _negotiate(plugin, keys.get("cniVersion"))
    since = _SINCE.get(parameters.command)
    if since and not version.at_least(selected, since):
        raise CniError(
            Code.INCOMPATIBLE_VERSION,
            f"version {selected} of the configuration has no {parameters.command}",
            f"expected: cniVersion {since} or later",
        )
    name = keys.get("name")
    if not name:
        raise CniError(Code.INVALID_CONFIG, f"{what} has no network name", "expected: the key name")
    return PluginRequest(content, keys, selected, check_network_name(name), parameters, executor)


def _negotiate(plugin: Plugin, requested: object) -> str:
    """Return the version of a request, which the plugin must support (section 1, "Version considerations")."""
    selected = requested or version.IMPLIED
    if selected not in plugin.versions:
        raise CniError(
            Code.INCOMPATIBLE_VERSION,
            f"version {selected!r} of the specification is not supported",
            f"supported: {', '.join(plugin.versions)}",
        )
    return str(selected)


def _complete_output(result: Result) -> JsonObject:
    """Return the keys of a result as the reference plugins print them."""
    keys = {key: value for key, value in result.keys.items() if value or key not in (*_LISTS, "dns")}
    keys["cniVersion"] = result.version
    if not version.at_least(result.version, "1.0.0"):
        keys.setdefault("dns", {})
    return keys
