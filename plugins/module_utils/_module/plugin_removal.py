# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Refuse to remove plugins that the node still needs."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import (
    read_planned_files,
    read_removed_attachments,
    with_planned,
)
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.plugins.needs import (
    Needs,
    describe_needs,
    find_needs,
    is_elsewhere,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_ADVICE: t.Final = (
    "keep them with 'only' or a release that has them, first remove the networks and attachments that need them, or set "
    "remove_needed to true"
)


def require_unneeded(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> None:
    """Refuse to remove plugins that networks or attachments need; with ``remove_needed``, warn instead.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    bin_dir, plugin_dirs = module.params["bin_dir"], module.params["plugin_dirs"]
    needs = _find_needs(module, paths, [name for name in plugins if not is_elsewhere(name, plugin_dirs, bin_dir)])
    if not needs:
        return
    counted = quantity(len(needs), "needed plugin")
    if not module.params["remove_needed"]:
        raise CniError(Code.INVALID_CONFIG, f"{bin_dir}: {counted} would be removed: {describe_needs(needs)}", _ADVICE)
    warn(module, [f"{bin_dir}: {counted} {'is' if len(needs) == 1 else 'are'} removed: {describe_needs(needs)}"])


def _find_needs(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> Needs:
    params = module.params
    networks = [*_node_networks(module), *_task_networks(params)]
    removed = read_removed_attachments(params["planned_attachments"] if module.check_mode else ())
    return find_needs(plugins, networks, params["cache_dir"], paths.state_dir, removed)


def _node_networks(module: AnsibleModule) -> t.Iterable[NetworkConfiguration]:
    """Return the networks of the node; in check mode, without those that an earlier task would remove."""
    current = conf_dir.load(module.params["conf_dir"])
    planned = module.params["planned_conflists"] if module.check_mode else []
    return with_planned(current, read_planned_files(planned)).networks.values()


def _task_networks(params: t.Mapping[str, t.Any]) -> t.Iterator[NetworkConfiguration]:
    for position, item in enumerate(params["conflists"] if params["state"] != "absent" else ()):
        content = content_of(item, f"conflists[{position}]")
        if content is not None:
            yield config.parse(content, f"conflists[{position}]")


__all__ = ("require_unneeded",)
