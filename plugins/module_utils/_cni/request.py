# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The configuration that a plugin reads from standard input (section 3, "Deriving request configuration")."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration


def for_attachment(
    network: NetworkConfiguration,
    plugin: PluginConfiguration,
    version: str,
    attachment: Attachment,
    prev_result: t.Mapping[str, t.Any] | None,
) -> bytes:
    """Return the request configuration of ADD, CHECK or DEL (section 3, "Deriving request configuration").

    Args:
        version: The version selected for the attachment.
        attachment: Has the capability arguments and the values for ``args.cni``.
        prev_result: The previous result in that version; None for the first plugin of an ADD.
    """
    request = keys_for_attachment(network, plugin, version, attachment)
    if prev_result is not None:
        request["prevResult"] = prev_result
    return json_text.encode(request)


def keys_for_attachment(
    network: NetworkConfiguration, plugin: PluginConfiguration, version: str, attachment: Attachment
) -> JsonObject:
    """Return the request configuration of ADD, CHECK or DEL, without a previous result; arguments as `for_attachment`."""
    request = _request(network, plugin, version)
    request.pop("capabilities", None)
    if attachment.config_args:
        request["args"] = _with_config_args(request.get("args"), attachment.config_args)
    capability_args = attachment.capability_args
    supported = {name: capability_args[name] for name in sorted(plugin.capabilities & capability_args.keys())}
    if supported:
        request["runtimeConfig"] = supported
    return request


def for_network(network: NetworkConfiguration, plugin: PluginConfiguration, version: str) -> bytes:
    """Return the request configuration of STATUS."""
    return json_text.encode(_request(network, plugin, version))


def for_gc(
    network: NetworkConfiguration,
    plugin: PluginConfiguration,
    version: str,
    valid_attachments: t.Iterable[tuple[str, str]],
) -> bytes:
    """Return the request configuration of GC.

    Args:
        valid_attachments: Container id and interface name of each valid attachment.
    """
    request = _request(network, plugin, version)
    valid = [{"containerID": container_id, "ifname": ifname} for container_id, ifname in valid_attachments]
    # The key was renamed after 1.1.0 was tagged; there are plugins for both names.
    request["cni.dev/valid-attachments"] = request["cni.dev/attachments"] = valid
    return json_text.encode(request)


def for_version_probe() -> bytes:
    """Return the request of VERSION (section 2, "VERSION")."""
    return json_text.encode({"cniVersion": "1.1.0"})


def _request(network: NetworkConfiguration, plugin: PluginConfiguration, version: str) -> JsonObject:
    return {**plugin.keys_for_plugin, "cniVersion": version, "name": network.name}


def _with_config_args(written: object, config_args: t.Mapping[str, t.Any]) -> JsonObject:
    """Return the file's ``args`` with an attachment's values merged into ``cni``; these take precedence."""
    args = written if isinstance(written, dict) else {}
    cni = args.get("cni")
    return {**args, "cni": {**(cni if isinstance(cni, dict) else {}), **config_args}}
