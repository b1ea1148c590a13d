# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Restore attachments as recorded, with their network namespaces and old addresses."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import Sharing, reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.execution import Execution
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    Check,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot.resolv_conf import ResolvConfFiles
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import (
    lease_files,
    recorded_directories,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types

# ADD may fail for other reasons than the addresses, which pass.
_REQUESTS = 2


class Restorable(t.NamedTuple):
    """The attachments of a cache directory that the next boot restores.

    Attributes:
        records: Records and intents of the attachments that are restored.
        doubts: Why there may be more: unreadable records, or no directory of records, which may not be mounted.
    """

    records: list[Record]
    doubts: list[CniError]


def restore(cache_dir: str, workers: int, paths: NodePaths) -> tuple[list[AttachmentResult], list[CniError]]:
    """Restore the attachments with persist, and their network namespaces; keep those that exist.

    Returns:
        The result of each attachment, and the doubts of `Restorable`.

    Raises:
        CniError: ``IO_FAILURE``: the records cannot be listed.
    """
    records, removals, doubts = _read_records(cache_dir)
    namespaces = NetnsDirectory(paths)
    results: list[AttachmentResult] = []
    for restoration in dict.fromkeys(record.restoration for record in records.values()):
        if restoration is not None:
            desired = [
                _prepare_desired(record, key not in removals, namespaces)
                for key, record in records.items()
                if record.restoration == restoration
            ]
            results += _restore(cache_dir, restoration, desired, records, workers, paths)
    return results, doubts


def read_restorable(cache_dir: str) -> Restorable:
    """Return what a cache directory has for the next boot."""
    of_records, of_intents = _read_stores(cache_dir)
    return Restorable(of_records.records + of_intents.records, of_records.doubts + of_intents.doubts)


def write_resolv_conf(cache_dirs: t.Iterable[str], paths: NodePaths) -> list[str]:
    """Write the ``resolv.conf`` of each restored network namespace, and return warnings; errors as `durable.write`."""
    files = ResolvConfFiles(paths)
    kept = [read_restorable(path) for path in cache_dirs]
    records = (record for restorable in kept for record in restorable.records)
    changes, warnings = files.plan_changes(records, is_complete=not any(restorable.doubts for restorable in kept))
    for change in changes:
        files.carry_out(change)
    return warnings


def _read_stores(cache_dir: str) -> tuple[Restorable, Restorable]:
    """Return what the records, and what the intents of a cache directory have for the next boot."""
    store = RecordStore.of_records(cache_dir)
    records, broken = store.read_to_restore()
    missing = CniError(Code.NOT_AVAILABLE, f"{store.directory} does not exist")
    doubts = [] if os.path.isdir(store.directory) else [missing]
    intents, broken_intents = RecordStore.of_intents(cache_dir).read_to_restore()
    return Restorable(records, [*doubts, *broken.values()]), Restorable(intents, list(broken_intents.values()))


def _read_records(cache_dir: str) -> tuple[dict[Key, Record], set[Key], list[CniError]]:
    """Return the records to restore, the keys of those whose removal by a task was interrupted, and doubts."""
    of_records, of_intents = _read_stores(cache_dir)
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    records_by_key = {record.attachment.key: record for record in of_records.records}
    removals: set[Key] = set()
    for intent in intents:
        key = intent.attachment.key
        if intent.restoration is not None:
            records_by_key.setdefault(key, intent)
        elif key in records_by_key and intent.command == "DEL":
            removals.add(key)
    return records_by_key, removals, of_records.doubts + of_intents.doubts


def _prepare_desired(record: Record, present: bool, namespaces: NetnsDirectory) -> DesiredAttachment:
    """Return the attachment to restore, or to remove; create its network namespace if that is gone."""
    if not present or record.restoration is None:
        return DesiredAttachment(record.attachment, present=False)
    recorded, old = record.addresses, record.restoration.addresses
    # The old addresses of an interrupted operation are those from before it.
    old = (old or recorded) if record.command else (recorded or old)
    try:
        _make_namespace(record.attachment.netns, namespaces)
    except Exception as exc:
        return DesiredAttachment(record.attachment, problem=as_error(exc))
    return DesiredAttachment(record.attachment, restoration=record.restoration._replace(addresses=old))


def _make_namespace(path: str, namespaces: NetnsDirectory) -> None:
    name = os.path.basename(path)
    if path != namespaces.path_of(name):
        raise CniError(Code.INVALID_ENVIRONMENT, f"{path} is not restored", f"expected: a path in {namespaces.path}")
    if not netns.is_namespace(path):
        namespaces.create(name)


def _restore(
    cache_dir: str,
    restoration: Restoration,
    desired: t.Sequence[DesiredAttachment],
    records: t.Mapping[Key, Record],
    workers: int,
    paths: NodePaths,
) -> list[AttachmentResult]:
    try:
        executor = make_executor(
            restoration.plugin_dirs,
            restoration.timeout,
            allow_world_writable=restoration.allow_world_writable,
            builtin=restoration.builtin or MISSING,
        )
        runtime = Runtime(executor, cache_dir, restoration.timeout, nested_types, paths)
    except Exception as exc:
        return [AttachmentResult(item.attachment, Action.FAILED, error=as_error(exc)) for item in desired]
    return reconcile_all(RecordReconciler(runtime, records), desired, workers, sharing=Sharing(executor.prepare, ()))


class RecordReconciler(Reconciler):
    """Restores attachments as recorded, whatever the conf dir has now, with their old addresses if these are free."""

    def __init__(self, runtime: Runtime, records: t.Mapping[Key, Record]) -> None:
        super().__init__(runtime, ConfDir("", {}, (), {}), Policy(check=Check.NEVER))
        self._records = records
        self._execution = _AddressRequest

    def _reconcile(self, desired: DesiredAttachment, replacement: DesiredAttachment | None) -> AttachmentResult:
        """Reconcile an attachment, but keep it if another run changed it after the records were read."""
        key = desired.attachment.key
        if (self._runtime.records.read(key) or self._runtime.intents.read(key)) == self._records[key]:
            return super()._reconcile(desired, replacement)
        return AttachmentResult(desired.attachment, reason="another run has changed it in the meantime")

    def _find_network(self, desired: DesiredAttachment) -> NetworkConfiguration | None:
        try:
            return self._records[desired.attachment.key].network()
        except CniError:
            return None

    def _network(self, attachment: Attachment) -> NetworkConfiguration:
        netns.require_foreign(attachment.netns)
        network = self._records[attachment.key].network()
        recorded_directories.require_own(network, self._runtime.paths)
        return network


class _AddressRequest(Execution):
    """Runs ADD with a request for the old addresses, repeats it if it fails, and then runs it without the request."""

    def _add_repeatedly(self, network: NetworkConfiguration, *, is_replacement: bool) -> Result:
        for _attempt in range(_REQUESTS):
            with_request = _with_old_addresses(network, self._desired, self._runtime.paths.lease_dir)
            if with_request is None:
                break
            try:
                return super()._add_repeatedly(with_request, is_replacement=is_replacement)
            except CniError:
                intent = self._runtime.intents.read(self._desired.attachment.key)
                if intent is not None and intent.command == "ADD":  # the DEL that followed failed
                    raise
        return super()._add_repeatedly(network, is_replacement=is_replacement)


def _with_old_addresses(
    network: NetworkConfiguration, desired: DesiredAttachment, lease_dir: str
) -> NetworkConfiguration | None:
    """Return the network with a request for the old addresses, or None. The content to record does not change.

    host-local accepts several addresses only in ``args.cni``, which does not affect other plugins. The attachment's own
    arguments stay as they are, and DEL and CHECK do not need the request.
    """
    old = desired.restoration.addresses if desired.restoration else ()
    attachment = desired.attachment
    requested = (*attachment.capability_args, *attachment.config_args)
    if not old or "IP" in attachment.args or "ips" in requested:
        return None
    plugins = tuple(_with_request(plugin, network.name, old, lease_dir) for plugin in network.plugins)
    return network._replace(plugins=plugins) if plugins != network.plugins else None


def _with_request(
    plugin: PluginConfiguration, network: str, addresses: t.Iterable[str], lease_dir: str
) -> PluginConfiguration:
    """Return a plugin configuration that requests the addresses that are free.

    Leased addresses are left out, because a failed request has effects: the first ADD of bridge then leaves a bridge
    without a MAC address.
    """
    ipam, args = plugin.keys.get("ipam") or {}, plugin.keys.get("args") or {}
    cni = args.get("cni") or {} if isinstance(args, dict) else None
    if plugin.delegated_type != lease_files.TYPE or not isinstance(cni, dict) or "ips" in cni:
        return plugin
    leases = os.path.join(lease_files.data_dir(ipam, lease_dir), network)
    free = [address for address in addresses if not os.path.lexists(os.path.join(leases, address))]
    extended = {**args, "cni": {**cni, "ips": free}}
    return PluginConfiguration(plugin.index, plugin.type, {**plugin.keys, "args": extended}) if free else plugin
