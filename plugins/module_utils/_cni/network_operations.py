# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GC and STATUS of a network (section 2)."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.conversation import collect_errors, raise_all
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime

# Container id and interface name, which identify an attachment among those of one network.
Name = tuple[str, str]


def gc(runtime: Runtime, network: NetworkConfiguration, valid: t.Collection[Name] | None = None) -> bool:
    """Return whether GC of the network's plugins ran, after DEL of this collection's attachments that are not valid.

    See section 3, "Garbage-collecting a network".

    Args:
        valid: The valid attachments; None for all recorded ones.

    Returns:
        As `run_plugin_gc`.

    Raises:
        CniError: All errors; ``DECODE_FAILURE``, before anything is done, if an unreadable record may hide a valid
            attachment.
    """
    _require_names(network, valid or ())
    if network.disable_gc:
        return False
    with runtime.exclusion.lock_network(network.name):
        recorded = _read_recorded(runtime, network)
        valid_names = set(recorded) if valid is None else set(valid)
        stale = [record for name, record in recorded.items() if record.is_own and name not in valid_names]
        errors = collect_errors(runtime.delete, stale)
        try:
            has_run = _run_gc(runtime, network, valid_names)
        except CniError as exc:
            has_run = False
            errors.append(exc)
        raise_all(f"GC of network {network.name}", errors)
    return has_run


def run_plugin_gc(runtime: Runtime, network: NetworkConfiguration, valid: t.Collection[Name]) -> bool:
    """Run GC of a network's plugins (section 2, "GC"), and return whether they ran it; delete no attachment.

    Args:
        valid: The valid attachments; all recorded ones are valid too.

    Returns:
        False if ``disableGC`` is set or the version has no GC.

    Raises:
        CniError: The errors of all plugins that failed; ``DECODE_FAILURE``, before a plugin is run, if an unreadable
            record may hide a valid attachment.
    """
    _require_names(network, valid)
    if network.disable_gc:
        return False
    with runtime.exclusion.lock_network(network.name):
        try:
            return _run_gc(runtime, network, valid)
        except CniError as exc:
            raise exc.within(f"GC of network {network.name}") from exc


def status(runtime: Runtime, network: NetworkConfiguration) -> bool:
    """Return whether the version has STATUS, after every plugin has reported that it is ready for ADD.

    See section 2, "STATUS", which came with 1.1.0.

    Raises:
        CniError: The error of the first plugin that is not ready; codes 50 and 51 are specific to STATUS.
    """
    selected = runtime.versions.select(network)
    if not version.has_gc_and_status(selected):
        return False
    runtime.require_safe(network)
    for plugin in network.plugins:
        content = request.for_network(network, plugin, selected)
        runtime.executor.execute(plugin.type, content, Parameters("STATUS"))
    return True


def _run_gc(runtime: Runtime, network: NetworkConfiguration, valid: t.Iterable[Name]) -> bool:
    selected = runtime.versions.select(network)
    if not version.has_gc_and_status(selected):
        return False
    runtime.require_safe(network)
    # Other runtimes ignore these locks, so attachments that they have recorded meanwhile are valid too.
    valid_names = sorted({*valid, *_read_recorded(runtime, network)})

    def run_plugin(plugin: PluginConfiguration) -> None:
        content = request.for_gc(network, plugin, selected, valid_names)
        runtime.executor.execute(plugin.type, content, Parameters("GC"))

    raise_all("plugins", collect_errors(run_plugin, network.plugins))
    return True


def _read_recorded(runtime: Runtime, network: NetworkConfiguration) -> dict[Name, Record]:
    records, broken = runtime.records.read_all()
    raise_all("GC is not safe while a record cannot be read", list(broken.values()))
    return {record.attachment.key[1:]: record for record in records if record.attachment.network == network.name}


def _require_names(network: NetworkConfiguration, names: t.Iterable[Name]) -> None:
    for container_id, ifname in names:
        Attachment(network.name, container_id, ifname).require_valid()
