# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._cni import request, result, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.conversation import Conversation
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import Exclusion
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters, UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._cni.retry import AddNotUndone, RetryingExecutor, retry


class Checked(t.NamedTuple):
    """The outcome of a CHECK that found no fault.

    Attributes:
        asked: False if ``disableCheck`` or a version before 0.4.0 rules out CHECK.
        excused: Errors that are known to be wrong and were ignored.
    """

    asked: bool
    excused: tuple[CniError, ...] = ()


Excuses = t.Callable[[Record, PluginConfiguration, CniError], bool]

NestedTypes = t.Callable[[NetworkConfiguration], t.Iterable[str]]

# Gets the error of DEL, or None after a success. Returns whether a second DEL may succeed.
CleanUp = t.Callable[[t.Optional[CniError]], bool]


def _no_excuse(record: Record, plugin: PluginConfiguration, error: CniError) -> bool:
    return False


def _no_type(network: NetworkConfiguration) -> t.Iterable[str]:
    return ()


def _nothing_to_clean_up(error: CniError | None) -> bool:
    return False


class Runtime:
    """Executes network configurations on attachments (section 3).

    Every operation takes the locks that it needs. A caller that reads before it acts takes them from `exclusion` first; a
    thread may take a lock again that it holds.

    Args:
        cache_dir: libcni's cache directory. Records are below ``results``, other files below ``cni.node``.
        lock_timeout: Seconds to wait for another process that holds a lock, and for a plugin that returns code 11.
        nested_types: Returns the delegated plugins of a network that are not IPAM plugins.
    """

    def __init__(
        self, executor: Executor, cache_dir: str, lock_timeout: float, nested_types: NestedTypes = _no_type
    ) -> None:
        self._executor = executor
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
        again: bool = False,
        clean_up: CleanUp = _nothing_to_clean_up,
    ) -> Result:
        """Add a container to a network ("Adding an attachment").

        A failed ADD is followed by DEL of the whole list. If that fails too, its intent stays. If a plugin returns code 11,
        ADD and DEL are repeated until the lock timeout.

        Args:
            restoration: How to restore it after a reboot.
            again: It replaces a previous attachment. With a restoration, a failure leaves an intent for the next boot.
            clean_up: As for `delete`, for the DEL that follows a failure.

        Raises:
            CniError: The error of the plugin that failed, with the outcome of the DEL.
        """
        self.records.check_key(attachment.require_valid().key)
        if network.name != attachment.network:
            raise CniError(
                Code.INVALID_CONFIG, f"{attachment}: the given configuration is that of network {network.name}"
            )
        self.require_plugins(network)
        with self.exclusion.lock_attachment(attachment):
            if self.records.read(attachment.key) is not None:
                raise CniError(
                    Code.INVALID_ENVIRONMENT,
                    f"{attachment}: it exists already",
                    "run DEL before another ADD",
                )
            intent = Record(
                attachment,
                network.content,
                version=self.versions.select(network),
                netns_identity=netns_identity(attachment.netns),
                command="ADD",
                restoration=restoration,
            )
            return retry(lambda: self._add(network, intent, again, clean_up), self.exclusion.timeout)

    def require_plugins(self, network: NetworkConfiguration) -> None:
        """Raise an error if a plugin of a network, delegated ones included, is missing or unsafe.

        Raises:
            CniError: ``INVALID_CONFIG``: a plugin is not installed or not executable.
        """
        for plugin_type in network.plugin_types:
            self._executor.require(plugin_type)
        self._require_safe(self._nested_types(network))

    def require_safe_plugins(self, record: Record) -> None:
        """Raise an error if a plugin of an attachment's network is unsafe; ignore missing plugins.

        Raises:
            UnsafePlugin: Every user of the node can replace a plugin.
        """
        try:
            network = record.network()
        except CniError:  # DEL reports this
            return
        self._require_safe_network(network)

    def _require_safe_network(self, network: NetworkConfiguration) -> None:
        self._require_safe((*network.plugin_types, *self._nested_types(network)))

    def _require_safe(self, plugin_types: t.Iterable[str]) -> None:
        for plugin_type in plugin_types:
            try:
                self._executor.require(plugin_type)
            except UnsafePlugin:
                raise
            except CniError:
                continue

    def check(self, record: Record, excuses: Excuses = _no_excuse) -> Checked:
        """Run CHECK of every plugin ("Checking an attachment").

        If plugins refuse the version of ADD, another version that the recorded configuration allows is used, as for DEL.

        Args:
            excuses: Returns whether a plugin's error is known to be wrong. It is ignored then.

        Raises:
            CniError: The error of the first plugin that finds a fault; ``DECODE_FAILURE`` for a record without a result.
        """
        record.attachment.require_valid()
        conversation = Conversation(self._retrying, self.versions, record)
        if conversation.network.disable_check or not conversation.has_check:
            return Checked(False)
        if record.result is None:
            raise CniError(
                Code.DECODE_FAILURE, f"{record.attachment}: its record has no result", "CHECK needs the result of ADD"
            )
        self._require_safe_network(conversation.network)
        excused = []
        with self.exclusion.lock_attachment(record.attachment):
            for plugin in conversation.network.plugins:
                try:
                    conversation.ask("CHECK", plugin, record.attachment)
                except CniError as exc:
                    if not excuses(record, plugin, exc):
                        raise
                    excused.append(exc)
        return Checked(conversation.has_check, tuple(excused))

    def delete(
        self, record: Record, restoration: Restoration | None = None, clean_up: CleanUp = _nothing_to_clean_up
    ) -> None:
        """Remove a container from a network as it was added ("Deleting an attachment").

        Every plugin is run, even after one fails. The record is removed when all have succeeded.

        Args:
            restoration: Given if it is about to be added again; the intent then stays until that is done.
            clean_up: Removes what plugins leave behind, before the intent is removed.

        Raises:
            CniError: The errors of all plugins that failed.
        """
        self.require_safe_plugins(record)
        with self.exclusion.lock_attachment(record.attachment.require_valid()):
            # The record is on disk already; the intent only tells a later run that a DEL has begun.
            intent = dataclasses.replace(record, command="DEL", restoration=restoration)
            # Flushed, as otherwise a loss of power could bring back a record that is restored at boot.
            is_lasting = record.restoration is not None
            self.intents.write(intent, flush=is_lasting or restoration is not None)
            self._delete_whole(record, clean_up)
            self._forget(intent, flush=is_lasting)

    def gc(self, network: NetworkConfiguration, valid: t.Collection[tuple[str, str]] | None = None) -> bool:
        """Return whether plugins ran GC ("Garbage-collecting a network").

        Own attachments that are recorded and not valid are deleted first. The network is locked meanwhile.

        Args:
            valid: Container id and interface name of each valid attachment; None for all recorded ones.

        Returns:
            As `collect`.

        Raises:
            CniError: All errors; ``DECODE_FAILURE``, before anything is done, if an unreadable record may hide a valid
                attachment.
        """
        _require_names(network, valid or ())
        if network.disable_gc:
            return False
        with self.exclusion.lock_network(network.name):
            recorded = self._read_recorded(network)
            valid_names = set(recorded) if valid is None else set(valid)
            stale = [record for names, record in recorded.items() if record.is_own and names not in valid_names]
            errors = _errors_of(self.delete, stale)
            asked: list[bool] = []
            errors += _errors_of(lambda subject: asked.append(self._gc(subject, valid_names)), (network,))
            _raise_all(f"GC of network {network.name}", errors)
        return any(asked)

    def collect(self, network: NetworkConfiguration, valid: t.Collection[tuple[str, str]]) -> bool:
        """Return whether plugins ran GC (section 2, "GC"); delete no attachment.

        Args:
            valid: Container id and interface name of each valid attachment; all recorded ones are valid too.

        Returns:
            False if ``disableGC`` is set or the version has no GC.

        Raises:
            CniError: The errors of all plugins that failed; ``DECODE_FAILURE``, before a plugin is run, if an unreadable
                record may hide a valid attachment.
        """
        _require_names(network, valid)
        if network.disable_gc:
            return False
        with self.exclusion.lock_network(network.name):
            try:
                return self._gc(network, valid)
            except CniError as exc:
                raise exc.within(f"GC of network {network.name}") from exc

    def status(self, network: NetworkConfiguration) -> bool:
        """Return whether all plugins report that they are ready for ADD (section 2, "STATUS").

        Returns:
            False if the version has no STATUS, which came with 1.1.0.

        Raises:
            CniError: The error of the first plugin that is not ready; codes 50 and 51 are specific to STATUS.
        """
        selected = self.versions.select(network)
        if not version.has_gc_and_status(selected):
            return False
        self._require_safe_network(network)
        for plugin in network.plugins:
            self._executor.execute(plugin.type, request.for_network(network, plugin, selected), Parameters("STATUS"))
        return True

    def _add(self, network: NetworkConfiguration, intent: Record, again: bool, clean_up: CleanUp) -> Result:
        last: Result | None = None
        self.intents.write(intent)
        try:
            for plugin in network.plugins:
                if last is not None and intent.result is None:
                    # If this run is killed, DEL needs the result: plugins such as firewall clean up only what it names.
                    # After a loss of power there is nothing to clean up.
                    intent = dataclasses.replace(intent, result=last)
                    self.intents.write(intent, flush=intent.restoration is not None)
                prev_result = None if last is None else last.keys
                content = request.for_attachment(network, plugin, intent.version, intent.attachment, prev_result)
                output = self._executor.execute(plugin.type, content, Parameters("ADD", intent.attachment))
                last = result.decode(output, intent.version, f"the result of plugin {plugin.type}").to(intent.version)
            if last is None:
                raise CniError(Code.INVALID_CONFIG, f"network {network.name} has no plugin")
            self.records.write(dataclasses.replace(intent, result=last, command=""))
        except Exception as exc:
            remaining = intent.restoration if again else None
            failed = dataclasses.replace(intent, result=last, restoration=remaining)
            raise self._undo_add(failed, as_error(exc), clean_up) from exc
        self.intents.remove(intent.attachment.key)
        return last

    def _undo_add(self, intent: Record, failure: CniError, clean_up: CleanUp) -> CniError:
        try:
            # A record whose flush failed must not count as complete. A repeated DEL needs the result.
            if intent.result is not None or self.records.may_have(intent.attachment.key):
                self.intents.write(dataclasses.replace(intent, command="DEL"))
            self._delete_whole(intent, clean_up)
            if intent.restoration is not None:
                self.intents.write(dataclasses.replace(intent, command="DEL"))
            self._forget(intent)
        except CniError as exc:
            stuck = failure.with_detail(f"the DEL that followed failed too and will be repeated by the next run: {exc}")
            return AddNotUndone(stuck.code, stuck.msg, stuck.details)
        return failure.with_detail("the DEL that followed succeeded; nothing is left behind")

    def _forget(self, intent: Record, *, flush: bool = False) -> None:
        self.records.remove(intent.attachment.key, flush=flush)
        if intent.restoration is None:
            self.intents.remove(intent.attachment.key)

    def _delete_whole(self, record: Record, clean_up: CleanUp) -> None:
        try:
            self._delete(record)
        except CniError as exc:
            if not _try_clean_up(clean_up, exc):
                raise
            self._delete(record)
        clean_up(None)

    def _delete(self, record: Record) -> None:
        conversation = Conversation(self._retrying, self.versions, record)
        attachment = record.attachment.with_netns(netns_for_delete(record))

        def delete_from(plugin: PluginConfiguration) -> None:
            try:
                conversation.ask("DEL", plugin, attachment)
            except CniError as exc:
                # "The runtime does not need to perform any container network cleanup" (section 5, "Error").
                if exc.code != Code.UNKNOWN_CONTAINER:
                    raise

        _raise_all(f"DEL of the {record.attachment}", _errors_of(delete_from, reversed(conversation.network.plugins)))

    def _gc(self, network: NetworkConfiguration, valid: t.Iterable[tuple[str, str]]) -> bool:
        selected = self.versions.select(network)
        if not version.has_gc_and_status(selected):
            return False
        self._require_safe_network(network)
        # Other runtimes ignore these locks, so what they have recorded meanwhile is valid too.
        valid_names = sorted({*valid, *self._read_recorded(network)})

        def collect(plugin: PluginConfiguration) -> None:
            self._executor.execute(
                plugin.type, request.for_gc(network, plugin, selected, valid_names), Parameters("GC")
            )

        _raise_all("plugins", _errors_of(collect, network.plugins))
        return True

    def _read_recorded(self, network: NetworkConfiguration) -> dict[tuple[str, str], Record]:
        records, broken = self.records.read_all()
        _raise_all("GC is not safe while a record cannot be read", list(broken.values()))
        return {record.attachment.key[1:]: record for record in records if record.attachment.network == network.name}


def _require_names(network: NetworkConfiguration, names: t.Iterable[tuple[str, str]]) -> None:
    for container_id, ifname in names:
        Attachment(network.name, container_id, ifname).require_valid()


def _try_clean_up(clean_up: CleanUp, failure: CniError) -> bool:
    try:
        return clean_up(failure)
    except CniError as exc:
        raise failure.with_detail(f"what it left behind could not be removed either: {exc}") from exc


def netns_for_delete(record: Record) -> str:
    """Return the netns path of ADD if it still leads to the same namespace, or an empty string."""
    path = record.attachment.netns
    current = netns_identity(path)
    same = bool(current) and record.netns_identity in ("", current)
    return path if same else ""


T = t.TypeVar("T")


def _errors_of(operation: t.Callable[[T], object], subjects: t.Iterable[T]) -> list[CniError]:
    errors = []
    for subject in subjects:
        try:
            operation(subject)
        except CniError as exc:
            errors.append(exc)
    return errors


def _raise_all(what: str, errors: list[CniError]) -> None:
    if len(errors) == 1:
        raise errors[0].within(what)
    if errors:
        raise CniError(errors[0].code, f"{what}: {len(errors)} failures", "\n".join(str(error) for error in errors))


__all__ = ("Checked", "Excuses", "Runtime", "netns_for_delete")
