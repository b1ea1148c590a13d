# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The attachments of a task, read from its options, and those that one call reconciles."""

from __future__ import annotations

import collections
import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.printable import shorten
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import (
    normalize_capability_args,
    normalize_config_args,
)
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import mount_propagation, netns
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import find_unlisted
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The network namespaces that a warning names.
_MOST_NAMED = 3


class Batch(t.NamedTuple):
    """The attachments of a task, and those that this call reconciles. A long task takes several calls.

    The first call determines the attachments to purge, and later calls take them from its result.

    Attributes:
        purged: Attachments that are removed because the task does not list them.
        positions: Positions in `all_attachments` of the attachments in `selected`.
        all_attachments: The attachments that the task lists, followed by `purged`.
        selected: The attachments that this call reconciles.
        containers: The number of containers in `selected`.
    """

    purged: list[DesiredAttachment]
    positions: t.Sequence[int]
    all_attachments: list[DesiredAttachment]
    selected: list[DesiredAttachment]
    containers: int

    def continuation(self, results: t.Iterable[AttachmentResult]) -> dict[str, t.Any]:
        """Return the state for the next call under `CONTROLLER_KEY`, or an empty dictionary if none is needed."""
        done = {result.attachment.key for result in results}
        positions = [place for place, item in zip(self.positions, self.selected) if item.attachment.key not in done]
        if not positions:
            return {}
        attachments = (item.attachment for item in self.purged)
        purged = [(each.network, each.container_id, each.ifname, each.netns) for each in attachments]
        # As ASCII, so that a path with any bytes survives the transfer through the controller.
        return {CONTROLLER_KEY: {"remaining": positions, "purged": json.dumps(purged)}}


def plan_batch(module: AnsibleModule, runtime: Runtime, networks: ConfDir) -> Batch:
    """Return the batch of this call, and warn about ignored values and records that cannot be purged.

    Raises:
        CniError: ``INVALID_CONFIG``: items contradict each other, or one cannot be identified or restored.
    """
    listed, continuation = _desired_attachments(module.params, runtime.paths.netns_dir), module.params[CONTROLLER_KEY]
    purged: list[DesiredAttachment] = []
    unreadable: list[CniError] = []
    if continuation:
        keys = json.loads(continuation["purged"])
        purged = [DesiredAttachment(Attachment(*names), present=False) for names in keys]
    elif module.params["purge"]:
        purged, unreadable = find_unlisted(runtime, listed)
    warn(module, (f"attachment not purged, because its record cannot be read: {error}" for error in unreadable))
    warn(module, _undeclared_capabilities(listed, networks))
    warn(module, _hidden_namespaces(listed))
    all_attachments = [*listed, *purged]
    positions = continuation["remaining"] if continuation else range(len(all_attachments))
    selected = [all_attachments[place] for place in positions]
    return Batch(purged, positions, all_attachments, selected, len({item.attachment.container_id for item in selected}))


def _desired_attachments(params: t.Mapping[str, t.Any], netns_dir: str) -> list[DesiredAttachment]:
    """Return the attachments of the option ``attachments``, with defaults filled in.

    Args:
        netns_dir: Directory of the named network namespaces.

    Raises:
        CniError: ``INVALID_CONFIG``: items contradict each other, or one cannot be identified or restored.
    """
    items = params["attachments"]
    restoration = Restoration(
        tuple(params["plugin_dirs"]),
        params["timeout"],
        allow_world_writable=params["allow_world_writable_plugins"],
        builtin=params["builtin"] if params["builtin"] != MISSING else "",
    )
    for position, item in enumerate(items):
        if not item["container_id"] and item["netns"].startswith("/proc/"):
            what = f"attachments[{position}]: container_id is missing: {item['netns']} does not identify a container"
            raise CniError(Code.INVALID_CONFIG, what, "expected: the id of the container that the namespace belongs to")
    desired = [_desired_attachment(item, restoration, netns_dir) for item in items]
    _require_consistent(desired, netns_dir)
    return desired


def _desired_attachment(item: t.Mapping[str, t.Any], restoration: Restoration, netns_dir: str) -> DesiredAttachment:
    try:
        is_path = item["netns"].startswith("/")
        path, problem = item["netns"] if is_path else netns.path_of(netns_dir, item["netns"]), None
    except CniError as exc:
        path, problem = "", exc
    attachment = Attachment(
        network=item["network"],
        container_id=item["container_id"] or os.path.basename(item["netns"]),
        ifname=item["ifname"],
        netns=path,
        args={str(key): str(value) for key, value in item["args"].items() if value is not None},
        capability_args=normalize_capability_args(item["capability_args"] or {}),
        config_args=normalize_config_args(item["config_args"] or {}),
    )
    present = item["state"] == "present"
    return DesiredAttachment(attachment, present, problem, restoration if present and item["persist"] else None)


def _require_consistent(desired: t.Sequence[DesiredAttachment], netns_dir: str) -> None:
    keys = collections.Counter(item.attachment.key for item in desired)
    interfaces = collections.Counter(item.attachment.key[1:] for item in desired if item.present)
    for position, item in enumerate(desired):
        attachment, where = item.attachment, f"attachments[{position}]"
        if keys[attachment.key] > 1:
            raise CniError(Code.INVALID_CONFIG, f"{where}: the {attachment} is given twice")
        if item.present and interfaces[attachment.key[1:]] > 1:
            what = f"{where}: the interface of the {attachment} is used by another item as well"
            raise CniError(Code.INVALID_CONFIG, what, "expected: an ifname of its own for each network of a container")
        if item.restoration and os.path.dirname(attachment.netns) not in ("", netns_dir):
            what = f"{where}: persist: the network namespace {attachment.netns} is not in {netns_dir}"
            raise CniError(Code.INVALID_CONFIG, what, "only named network namespaces can be restored at boot")


def _undeclared_capabilities(desired: t.Iterable[DesiredAttachment], networks: ConfDir) -> list[str]:
    """Return a warning for each capability argument that no plugin of the network declares."""
    requested = {
        (item.attachment.network, capability)
        for item in desired
        if item.present and item.attachment.network in networks.networks
        for capability in item.attachment.capability_args
    }
    return [
        f"network {name} has no plugin that declares the capability {capability}: the values are ignored"
        for name, capability in sorted(requested)
        if not any(capability in plugin.capabilities for plugin in networks.networks[name].plugins)
    ]


def _hidden_namespaces(desired: t.Iterable[DesiredAttachment]) -> list[str]:
    """Return a warning if the node does not see the network namespaces of attachments."""
    paths = dict.fromkeys(item.attachment.netns for item in desired if item.present)
    hidden = mount_propagation.find_hidden(path for path in paths if netns.is_namespace(path))
    if not hidden:
        return []
    named = shorten(hidden, _MOST_NAMED)
    what = f"only the mount namespace of this task has {named}, and the attachments are lost when it ends"
    return [f"{what}; {mount_propagation.REMEDY}"]
