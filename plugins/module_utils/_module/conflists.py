# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.file_diff import file_diff
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.conflists import ConflistDirectory, Wanted, to_content
from ansible_collections.cni.node.plugins.module_utils._node.file_change import FileChange

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# For the controller, which has done it when this gets here.
VALIDATE: t.Final = {
    "type": "dict",
    "options": {
        "levels": {
            "type": "list",
            "elements": "str",
            "choices": ["schema", "specification", "sense"],
            "default": ["schema", "specification", "sense"],
        },
        "strict": {"type": "bool", "default": False},
    },
}


def ensure(module: AnsibleModule) -> dict[str, t.Any]:
    """Do what the module `conflists` is asked for and return its result."""
    params = module.params
    directory = ConflistDirectory(params["conf_dir"], _mode(params["mode"]))
    wanted = [_wanted(item, f"conflists[{position}]") for position, item in enumerate(params["conflists"])]
    changes, networks = directory.plan(wanted, purge=params["purge"])
    if params["probe"]:
        _probe(module, networks)
    if not module.check_mode:
        directory.apply(changes)
    warn(module, directory.shadows(changes))
    return _report(changes)


def _wanted(item: t.Mapping[str, t.Any], where: str) -> Wanted:
    if not 0 <= item["priority"] <= 99:
        raise CniError(
            Code.INVALID_CONFIG, f"{where}: priority: {item['priority']}", "expected: 0 to 99; files are sorted as text"
        )
    return Wanted(
        where=where,
        content=content_of(item, where, to_content),
        network=item["name"] or "",
        filename=item["filename"] or "",
        priority=item["priority"],
    )


def _mode(digits: str) -> int:
    if not re.fullmatch(r"0?[0-7]{3}", digits):
        raise CniError(Code.INVALID_CONFIG, f"mode: {digits!r}", 'expected: octal digits such as "0644"')
    return int(digits, 8)


def _probe(module: AnsibleModule, networks: t.Sequence[NetworkConfiguration]) -> None:
    executor = ProcessExecutor(module.params["plugin_dirs"], positive("timeout", module.params["timeout"]))
    versions = PluginVersions(executor)
    for network in networks:
        try:
            if module.check_mode and not _are_installed(module, executor, network):
                continue
            versions.require(network)
        except CniError as exc:
            raise exc.within(network.source) if network.source not in exc.msg else exc from exc


def _are_installed(module: AnsibleModule, executor: ProcessExecutor, network: NetworkConfiguration) -> bool:
    """Warn of what is missing in check mode: another task may be about to install it."""
    try:
        for plugin_type in network.plugin_types:
            executor.require(plugin_type)
    except CniError as exc:
        warn(module, [str(exc.within(network.source))])
        return False
    return True


def _report(changes: t.Sequence[FileChange]) -> dict[str, t.Any]:
    changed = [change for change in changes if change.changed]
    return {
        "changed": bool(changed),
        "conflists": [{"network": change.network, "path": change.path, "action": change.action} for change in changes],
        "diff": [file_diff(change) for change in changed],
        "msg": f"{len(changed)} of {len(changes)} network configurations changed",
    }


__all__ = ("VALIDATE", "ensure")
