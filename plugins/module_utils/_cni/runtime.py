# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The engine: ADD, CHECK and DEL of an attachment, with its record and its locks (section 3)."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import request, result
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.conversation import (
    AddNotUndone,
    CheckOutcome,
    CleanUp,
    Conversation,
    ErrorFilter,
    RetryingExecutor,
    delete_with,
    retry,
    runs_builtin,
)
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import Exclusion
from ansible_collections.cni.node.plugins.module_utils._cni.execute import (
    Executor,
    Parameters,
    UnsafePlugin,
    find_builtin,
)
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result

NestedTypes = t.Callable[[NetworkConfiguration], t.Iterable[str]]


class Runtime:
    """Executes network configurations on attachments (section 3).

    Every operation takes the locks that it needs. A caller that reads before it acts takes them from `exclusion` first; a
    thread may take a lock again that it holds.

    Args:
        cache_dir: libcni's cache directory. Records are below ``results``, other files below ``cni.node``.
        lock_timeout: Seconds to wait for another process that holds a lock, and for a plugin that returns code 11.
        nested_types: Returns the delegated plugins of a network that are not IPAM plugins.
        paths: The paths of the files that other runtimes and plugins keep on the node.
    """

    def __init__(
        self,
        executor: Executor,
        cache_dir: str,
        lock_timeout: float,
        nested_types: NestedTypes = lambda dummy: (),
        paths: NodePaths = NODE_PATHS,
    ) -> None:
        self.paths = paths
        self.executor = executor
        self._nested_types = nested_types
        self._retrying = RetryingExecutor(executor, lock_timeout)
        self.versions = PluginVersions(executor)
        self.records = RecordStore.of_records(cache_dir)
        self.intents = RecordStore.of_intents(cache_dir)
        self.exclusion = Exclusion(os.path.join(cache_dir, OWN_DIRECTORY, "locks"), lock_timeout)

    def add(
        self,
        network: NetworkConfiguration,
        attachment: Attachment,
        restoration: Restoration | None = None,
        *,
        is_replacement: bool = False,
        clean_up: CleanUp = lambda dummy: False,
    ) -> Result:
        """Add a container to a network ("Adding an attachment").

        A failed ADD is followed by DEL of the whole list. If that fails too, its intent stays. If a plugin returns code 11,
        ADD and DEL are repeated until the lock timeout.

        Args:
            restoration: How to restore it after a reboot.
            is_replacement: Whether it replaces a previous attachment. With a restoration, a failure leaves an intent for the
                next boot.
            clean_up: As for `delete`, for the DEL that follows a failure.

        Raises:
            CniError: The error of the plugin that failed, with the outcome of the DEL.
        """
        self.records.check_key(attachment.require_valid().key)
        if network.name != attachment.network:
            raise CniError(
                Code.INVALID_CONFIG, f"{attachment}: the given configuration belongs to network {network.name}"
            )
        builtin = self.require_plugins(network)
        with self.exclusion.lock_attachment(attachment):
            if self.records.read(attachment.key) is not None:
                raise CniError(
                    Code.INVALID_ENVIRONMENT,
                    f"{attachment}: a record of it exists already",
                    "run DEL before another ADD",
                )
            intent = Record(
                attachment,
                network.content,
                version=self.versions.select(network),
                netns_identity=netns_identity(attachment.netns),
                command="ADD",
                restoration=restoration,
                builtin=builtin,
            )
            return retry(lambda: self._add(network, intent, is_replacement, clean_up), self.exclusion.timeout)

    def require_plugins(self, network: NetworkConfiguration) -> tuple[str, ...]:
        """Return those plugins of a network that are built in, each as ``TYPE@RELEASE``.

        Raises:
            CniError: ``INVALID_CONFIG``: a plugin is not installed or not executable. ``INVALID_ENVIRONMENT``: a plugin,
                delegated ones included, is unsafe.
        """
        builtin = [
            name
            for plugin in network.plugins
            for name in find_builtin(self.executor, plugin.type, plugin.delegated_type)
        ]
        self._require_safe(self._nested_types(network))
        return tuple(dict.fromkeys(builtin))

    def is_builtin(self, network: NetworkConfiguration) -> bool:
        """Return whether all plugins of a network are built in; False if one is missing or unsafe, which ADD reports."""
        return all(runs_builtin(self.executor, plugin) for plugin in network.plugins)

    def require_safe_plugins(self, record: Record) -> None:
        """Raise an error if a plugin of an attachment's network is unsafe; ignore missing plugins.

        Raises:
            UnsafePlugin: Every user of the node can replace a plugin.
        """
        try:
            network = record.network()
        except CniError:  # DEL reports this
            return
        self.require_safe(network)

    def require_safe(self, network: NetworkConfiguration) -> None:
        """Raise an error if a plugin of a network, delegated ones included, is unsafe; ignore missing plugins.

        Raises:
            UnsafePlugin: Every user of the node can replace a plugin.
        """
        self._require_safe((*network.plugin_types, *self._nested_types(network)))

    def _require_safe(self, plugin_types: t.Iterable[str]) -> None:
        for plugin_type in plugin_types:
            try:
                self.executor.require(plugin_type)
            except UnsafePlugin:
                raise
            except CniError:
                continue

    def check(
        self, record: Record, is_ignored: ErrorFilter = lambda *dummy: False, *, skips_builtin: bool = False
    ) -> CheckOutcome:
        """Run CHECK of every plugin ("Checking an attachment").

        If plugins refuse the version of ADD, another version that the recorded configuration allows is used, as for DEL.

        Args:
            is_ignored: Returns whether a plugin's error is known to be wrong. Such an error is ignored.
            skips_builtin: Whether to leave out built-in plugins, because the caller has just compared everything that they
                would compare.

        Raises:
            CniError: The error of the first plugin that finds a fault; ``DECODE_FAILURE`` for a record without a result.
        """
        record.attachment.require_valid()
        conversation = self._start_conversation(record)
        if conversation.network.disable_check or not conversation.has_check:
            return CheckOutcome(False)
        if record.result is None:
            raise CniError(
                Code.DECODE_FAILURE, f"{record.attachment}: its record has no result", "CHECK needs the result of ADD"
            )
        self.require_safe(conversation.network)
        if skips_builtin and self.is_builtin(conversation.network):
            return CheckOutcome(True)  # no plugin runs, so nothing is locked
        with self.exclusion.lock_attachment(record.attachment):
            return conversation.check(is_ignored, skips_builtin=skips_builtin)

    def delete(
        self, record: Record, restoration: Restoration | None = None, clean_up: CleanUp = lambda dummy: False
    ) -> None:
        """Remove a container from a network as it was added ("Deleting an attachment").

        Every plugin is run, even after one fails. The record is removed when all have succeeded.

        Args:
            restoration: Given if the attachment will be added again; the intent then stays until that ADD succeeds.
            clean_up: Cleans up after the plugins, before the intent is removed.

        Raises:
            CniError: The errors of all plugins that failed.
        """
        self.require_safe_plugins(record)
        with self.exclusion.lock_attachment(record.attachment.require_valid()):
            # The record is on disk already; the intent only shows a later run that a DEL has begun.
            intent = record._replace(command="DEL", restoration=restoration)
            # Flushed, as otherwise a loss of power could bring back a record that is restored at boot.
            is_lasting = record.restoration is not None
            self.intents.write(intent, flush=is_lasting or restoration is not None)
            delete_with(lambda: self._start_conversation(record), clean_up)
            self._forget(intent, flush=is_lasting)

    def _add(self, network: NetworkConfiguration, intent: Record, is_replacement: bool, clean_up: CleanUp) -> Result:
        last: Result | None = None
        self.intents.write(intent)
        try:
            for plugin in network.plugins:
                if last is not None and intent.result is None:
                    # If this run is killed, DEL needs the result: plugins such as firewall clean up only what it names.
                    # After a loss of power there is nothing to clean up.
                    intent = intent._replace(result=last)
                    self.intents.write(intent, flush=intent.restoration is not None)
                prev_result = None if last is None else last.keys
                content = request.for_attachment(network, plugin, intent.version, intent.attachment, prev_result)
                output = self.executor.execute(plugin.type, content, Parameters("ADD", intent.attachment))
                last = result.decode(output, intent.version, f"the result of plugin {plugin.type}").to(intent.version)
            if last is None:
                raise CniError(Code.INVALID_CONFIG, f"network {network.name} has no plugin")
            self.records.write(intent._replace(result=last, command=""))
        except Exception as exc:
            remaining = intent.restoration if is_replacement else None
            failed = intent._replace(result=last, restoration=remaining)
            raise self._undo_add(failed, as_error(exc), clean_up) from exc
        self.intents.remove(intent.attachment.key)
        return last

    def _undo_add(self, intent: Record, failure: CniError, clean_up: CleanUp) -> CniError:
        try:
            # A record whose flush failed must not count as complete. A repeated DEL needs the result.
            if intent.result is not None or self.records.may_have(intent.attachment.key):
                self.intents.write(intent._replace(command="DEL"))
            delete_with(lambda: self._start_conversation(intent), clean_up)
            if intent.restoration is not None:
                self.intents.write(intent._replace(command="DEL"))
            self._forget(intent)
        except CniError as exc:
            stuck = failure.with_detail(f"the DEL that followed failed too and will be repeated by the next run: {exc}")
            return AddNotUndone(stuck.code, stuck.msg, stuck.details)
        return failure.with_detail("the DEL that followed succeeded; nothing is left behind")

    def _forget(self, intent: Record, *, flush: bool = False) -> None:
        self.records.remove(intent.attachment.key, flush=flush)
        if intent.restoration is None:
            self.intents.remove(intent.attachment.key)

    def _start_conversation(self, record: Record) -> Conversation:
        return Conversation(self._retrying, self.versions, record)
