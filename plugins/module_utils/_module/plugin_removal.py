# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plugins that a run would remove although networks or attachments need them."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import is_executable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config, planned_networks
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import executables

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The networks and attachments that need a plugin, by its name.
Needs = dict[str, list[str]]

_SHOWN = 3
_ADVICE = (
    "keep them with 'only' or a release that has them, first remove the networks and attachments that need them, or set "
    "remove_needed to true"
)


def require_unneeded(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> None:
    """Refuse to remove plugins that networks or attachments need; with ``remove_needed``, warn instead.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    bin_dir, plugin_dirs = module.params["bin_dir"], module.params["plugin_dirs"]
    needs = _find_needs(module, paths, [name for name in plugins if not _is_elsewhere(name, plugin_dirs, bin_dir)])
    if not needs:
        return
    counted = quantity(len(needs), "needed plugin")
    described = "; ".join(f"{plugin}, needed by {_abbreviate(users)}" for plugin, users in needs.items())
    if not module.params["remove_needed"]:
        raise CniError(Code.INVALID_CONFIG, f"{bin_dir}: {counted} would be removed: {described}", _ADVICE)
    warn(module, [f"{bin_dir}: {counted} {'is' if len(needs) == 1 else 'are'} removed: {described}"])


def _is_elsewhere(plugin: str, directories: t.Iterable[str], bin_dir: str) -> bool:
    """Return whether a directory other than ``bin_dir`` has an executable plugin of that name."""
    own = os.path.realpath(bin_dir)
    return any(is_executable(os.path.join(path, plugin)) for path in directories if os.path.realpath(path) != own)


def _abbreviate(users: t.Sequence[str]) -> str:
    return ", ".join(users[:_SHOWN]) + (f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else "")


def _find_needs(module: AnsibleModule, paths: NodePaths, plugins: t.Collection[str]) -> Needs:
    """Return the networks and attachments that need each of the plugins, also as delegated plugins.

    An attachment needs the plugins of its recorded configuration, even if its network has changed. A broken record needs no
    plugin, because none can be run for it. Attachments that an earlier task would remove do not count.
    """
    needs: Needs = {}
    for network in [*_node_networks(module), *_task_networks(module.params)]:
        _add(needs, plugins, network, f"network {network.name} ({network.source})")
    cache_dir, is_predicted = module.params["cache_dir"], module.check_mode
    removed = planned_networks.read_removed_attachments(module.params["planned_attachments"] if is_predicted else ())
    records, dummy = AllRecords(RecordStore.of_records(cache_dir), paths.state_dir).read_all()
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    for record in [*records, *intents]:
        if record.attachment.key not in removed:
            with contextlib.suppress(CniError):
                _add(needs, plugins, record.network(), f"the {record.attachment}")
    return dict(sorted(needs.items()))


def _add(needs: Needs, plugins: t.Collection[str], network: NetworkConfiguration, user: str) -> None:
    for name in {executable.type for executable in executables(network)}.intersection(plugins):
        users = needs.setdefault(name, [])
        users += [user] if user not in users else []


def _node_networks(module: AnsibleModule) -> t.Iterable[NetworkConfiguration]:
    """Return the networks of the node; in check mode, without those that an earlier task would remove."""
    planned = planned_networks.read_planned_files(module.params["planned_conflists"] if module.check_mode else [])
    return planned_networks.with_planned(conf_dir.load(module.params["conf_dir"]), planned).networks.values()


def _task_networks(params: t.Mapping[str, t.Any]) -> t.Iterator[NetworkConfiguration]:
    for position, item in enumerate(params["conflists"] if params["state"] != "absent" else ()):
        content = content_of(item, f"conflists[{position}]")
        if content is not None:
            yield config.parse(content, f"conflists[{position}]")
