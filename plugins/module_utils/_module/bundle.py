# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `bundle`."""

from __future__ import annotations

import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.access import exposures
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY
from ansible_collections.cni.node.plugins.module_utils._module import arguments, gc, node_info, repair
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONFIGURATIONS_KEY
from ansible_collections.cni.node.plugins.module_utils._module.call import call
from ansible_collections.cni.node.plugins.module_utils._node.boot import dhcp_units, repair_units, watch_unit
from ansible_collections.cni.node.plugins.module_utils._node.bundle import archive, contents
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

ARGUMENTS: t.Final[arguments.Spec] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "path": {"type": "path", "default": "/var/lib/cni/cni.node/bundle.tar.gz"},
    "min_age": gc.ARGUMENTS["min_age"],
    "owners": gc.ARGUMENTS["owners"],
    **arguments.CONF_DIR,
    **arguments.PLUGIN_DIRS,
    **arguments.CACHE_DIR,
    **arguments.TIMEOUT,
}
_DIRECTORIES = ("conf_dir", "plugin_dirs", "allow_world_writable_plugins", "builtin", "cache_dir", "timeout")


def ensure(module: AnsibleModule, paths: NodePaths) -> JsonObject:
    """Run the module `bundle` and return its result."""
    params = module.params
    path = arguments.path_of_file("path", params["path"])
    if os.path.isdir(path):
        raise CniError(Code.INVALID_CONFIG, f"path: {path!r} is a directory", "expected: a file")
    if params["state"] == "absent":
        return _remove(path, dry_run=module.check_mode)
    arguments.positive("timeout", params["timeout"])
    gc.make_policy(params, dry_run=True)
    if module.check_mode:
        _require_private(os.path.dirname(path))
        return {"changed": True, "msg": f"{path}: would be written", "size": 0, "files": []}
    return _write(module, path, paths)


def _remove(path: str, *, dry_run: bool) -> JsonObject:
    removed = os.path.lexists(path) if dry_run else durable.remove(path)
    directory = os.path.dirname(path)
    if not dry_run and os.path.basename(directory) == OWN_DIRECTORY:
        remove_empty(directory)  # which may have been made for the bundle
    how = ("would be removed" if dry_run else "removed") if removed else "absent"
    return {"changed": removed, "msg": f"{path}: {how}", "size": 0, "files": []}


def _write(module: AnsibleModule, path: str, paths: NodePaths) -> JsonObject:
    directory = os.path.dirname(path)
    durable.make_directory(directory, mode=0o700)
    _require_private(directory)
    node, now = os.uname().nodename, time.time()
    files = contents.collect(_gather(module, paths), node)
    top = f"cni-node-bundle-{contents.safe_name(node)}"
    readme = {contents.README: lambda cut: contents.describe(node, now, files, cut)}
    packed = archive.pack(top, files, now, readme)
    durable.write(path, packed.content, mode=0o600)
    left_out = f"; a part is left out of {', '.join(packed.cut)}" if packed.cut else ""
    count = printable.quantity(len(packed.sizes), "file")
    return {
        "changed": True,
        "msg": f"{path}: {count}, {printable.quantity(len(packed.content), 'byte')}{left_out}",
        "size": len(packed.content),
        "files": [{"name": name, "size": size, "cut": name in packed.cut} for name, size in packed.sizes.items()],
    }


def _require_private(directory: str) -> None:
    """Refuse a directory that others can change; one that is missing is created."""
    found = exposures(directory) if os.path.isdir(directory) else []
    if found:
        what = f"the bundle cannot be in {directory}"
        raise CniError(Code.INVALID_ENVIRONMENT, what, f"{found[0]}; expected: a directory that only root can change")


def _gather(module: AnsibleModule, paths: NodePaths) -> contents.Sources:
    """Ask the other modules; one that fails has its error in the bundle."""
    params = module.params
    given = {name: params[name] for name in _DIRECTORIES}
    parts = [*node_info.DEFAULT_PARTS, node_info.LINKS, node_info.REPAIRS, arguments.FINDINGS]
    info = call(node_info.ensure, node_info.ARGUMENTS, {**given, "gather": parts}, paths)
    info.pop(CONFIGURATIONS_KEY, None)
    repairable = {name: params[name] for name in ("cache_dir", "timeout")}
    leaks = {**given, "min_age": params["min_age"], "owners": params["owners"]}
    restore_unit = os.path.basename(paths.restore_unit)
    own = (restore_unit, repair_units.SERVICE, repair_units.RELOAD_SERVICE, watch_unit.SERVICE, dhcp_units.SERVICE)
    units = [*own, *repair_units.FIREWALLS, *(unit for runtime in RUNTIMES for unit in runtime.units)]
    return contents.Sources(
        params["conf_dir"],
        params["cache_dir"],
        paths.lease_dir,
        info,
        call(repair.repair, repair.ARGUMENTS, repairable, paths, check_mode=True),
        call(gc.collect, gc.ARGUMENTS, leaks, paths, check_mode=True),
        list(dict.fromkeys(units)),
    )
