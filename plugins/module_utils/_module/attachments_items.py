# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment


def desired_attachments(params: t.Mapping[str, t.Any]) -> list[DesiredAttachment]:
    """Return what the option ``attachments`` lists, with defaults filled in.

    Raises:
        CniError: ``INVALID_CONFIG``: items contradict each other, or one cannot be identified or restored.
    """
    items = params["attachments"]
    restoration = Restoration(
        tuple(params["plugin_dirs"]), params["timeout"], allow_world_writable=params["allow_world_writable_plugins"]
    )
    for position, item in enumerate(items):
        if not item["container_id"] and item["netns"].startswith("/proc/"):
            what = f"attachments[{position}]: container_id is missing: {item['netns']} names no container"
            raise CniError(Code.INVALID_CONFIG, what, "expected: the id of the container that the namespace belongs to")
    desired = [_desired_attachment(item, restoration) for item in items]
    _require_consistent(desired)
    return desired


def undeclared_capabilities(desired: t.Iterable[DesiredAttachment], networks: ConfDir) -> list[str]:
    """Return a warning for each capability whose values no plugin of the network takes."""
    given = {
        (item.attachment.network, capability)
        for item in desired
        if item.present and item.attachment.network in networks.networks
        for capability in item.attachment.capability_args
    }
    return [
        f"network {name} has no plugin that declares the capability {capability}: the values are ignored"
        for name, capability in sorted(given)
        if not any(capability in plugin.capabilities for plugin in networks.networks[name].plugins)
    ]


def _require_consistent(desired: t.Sequence[DesiredAttachment]) -> None:
    keys = collections.Counter(item.attachment.key for item in desired)
    interfaces = collections.Counter(item.attachment.key[1:] for item in desired if item.present)
    for position, item in enumerate(desired):
        attachment, where = item.attachment, f"attachments[{position}]"
        if keys[attachment.key] > 1:
            raise CniError(Code.INVALID_CONFIG, f"{where}: the {attachment} is given twice")
        if item.present and interfaces[attachment.key[1:]] > 1:
            what = f"{where}: the interface of the {attachment} is another item's as well"
            raise CniError(Code.INVALID_CONFIG, what, "expected: an ifname of its own for each network of a container")
        if item.restoration and os.path.dirname(attachment.netns) not in ("", netns.DIRECTORY):
            what = f"{where}: persist: the network namespace {attachment.netns} has no name"
            raise CniError(Code.INVALID_CONFIG, what, f"expected: one in {netns.DIRECTORY}, which can be restored")


def _desired_attachment(item: t.Mapping[str, t.Any], restoration: Restoration) -> DesiredAttachment:
    try:
        path, problem = item["netns"] if item["netns"].startswith("/") else netns.path_of(item["netns"]), None
    except CniError as exc:
        path, problem = "", exc
    attachment = Attachment(
        network=item["network"],
        container_id=item["container_id"] or os.path.basename(item["netns"]),
        ifname=item["ifname"],
        netns=path,
        args={str(key): str(value) for key, value in item["args"].items() if value is not None},
        capability_args=_capability_args(item),
        config_args=_config_args(item),
    )
    present = item["state"] == "present"
    return DesiredAttachment(attachment, present, problem, restoration if present and item["persist"] else None)


def _capability_args(item: t.Mapping[str, t.Any]) -> JsonObject:
    if not item["capability_args"]:
        return {}
    from ansible_collections.cni.node.plugins.module_utils._cni.capability_values import normalize_capability_args

    return normalize_capability_args(item["capability_args"])


def _config_args(item: t.Mapping[str, t.Any]) -> JsonObject:
    if not item["config_args"]:
        return {}
    from ansible_collections.cni.node.plugins.module_utils._cni.config_args import normalize_config_args

    return normalize_config_args(item["config_args"])


__all__ = ("desired_attachments", "undeclared_capabilities")
