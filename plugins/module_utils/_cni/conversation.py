# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""CHECK and DEL of a recorded attachment by all its plugins, in a version that they support."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters, is_builtin
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record

T = t.TypeVar("T")

ErrorFilter = t.Callable[[Record, PluginConfiguration, CniError], bool]

# Gets the error of DEL, or None after a success. Returns whether a second DEL may succeed.
CleanUp = t.Callable[[t.Optional[CniError]], bool]


class CheckOutcome(t.NamedTuple):
    """The outcome of a CHECK that found no fault.

    Attributes:
        was_run: False if ``disableCheck`` or a version before 0.4.0 rules out CHECK.
        ignored_errors: Errors that are known to be wrong and were ignored.
    """

    was_run: bool
    ignored_errors: tuple[CniError, ...] = ()


def runs_builtin(executor: Executor, plugin: PluginConfiguration) -> bool:
    """Return whether a plugin and the one that it delegates to are built in."""
    types = filter(None, (plugin.type, plugin.delegated_type))
    try:
        return all(is_builtin(executor, each) for each in types)
    except CniError:  # missing or unsafe, which is reported when the plugin is run
        return False


class Conversation:
    """CHECK or DEL of a recorded attachment, in the version of its ADD while its plugins support that.

    A plugin that refuses the version has done nothing. If the recorded configuration allows another version that all
    plugins support, that plugin is run again with it, and so are the plugins after it.

    Attributes:
        network: The recorded configuration.
        version: The version in use.
    """

    def __init__(self, executor: Executor, versions: PluginVersions, record: Record) -> None:
        """
        Raises:
            CniError: The recorded configuration cannot be read.
        """
        self._executor = executor
        self._versions = versions
        self._record = record
        self._has_failed = False
        self.network = record.network()
        self._use_version(record.negotiated_version(self.network))

    @property
    def has_check(self) -> bool:
        """Return whether the version in use has CHECK."""
        return version.has_check(self.version)

    def check(self, is_ignored: ErrorFilter, *, skips_builtin: bool) -> CheckOutcome:
        """Run CHECK of each plugin, in the order of ADD.

        Args:
            skips_builtin: Whether to leave out plugins that are built in, with the IPAM plugin that they run.

        Raises:
            CniError: The error of the first plugin that finds a fault and is not ignored.
        """
        ignored_errors = []
        for plugin in self.network.plugins:
            if skips_builtin and runs_builtin(self._executor, plugin):
                continue
            try:
                self._run_plugin("CHECK", plugin, self._record.attachment)
            except CniError as exc:
                if not is_ignored(self._record, plugin, exc):
                    raise
                ignored_errors.append(exc)
        return CheckOutcome(self.has_check, tuple(ignored_errors))

    def delete(self) -> None:
        """Run DEL of each plugin in reverse order, even after one fails.

        Raises:
            CniError: The errors of all plugins that failed.
        """
        attachment = self._record.attachment.with_netns(self._record.netns_for_delete())
        self._has_failed = False

        def delete_from(plugin: PluginConfiguration) -> None:
            try:
                self._run_plugin("DEL", plugin, attachment)
            except CniError as exc:
                # "The runtime does not need to perform any container network cleanup" (section 5, "Error").
                if exc.code != Code.UNKNOWN_CONTAINER:
                    self._has_failed = True
                    raise

        errors = collect_errors(delete_from, reversed(self.network.plugins))
        raise_all(f"DEL of the {self._record.attachment}", errors)

    def _run_plugin(self, command: str, plugin: PluginConfiguration, attachment: Attachment) -> None:
        """Run one plugin; skip CHECK if the version in use has none.

        Raises:
            CniError: The plugin's error, or the reason why it could not be run.
        """
        try:
            self._execute(command, plugin, attachment)
        except CniError as exc:
            if exc.code != Code.INCOMPATIBLE_VERSION or not self._renegotiate(exc):
                raise
            self._execute(command, plugin, attachment)

    def _execute(self, command: str, plugin: PluginConfiguration, attachment: Attachment) -> None:
        if command == "CHECK" and not self.has_check:
            return
        content = request.for_attachment(self.network, plugin, self.version, attachment, self._prev_result)
        parameters = Parameters(command, attachment, self._record.builtin, self._has_failed)
        self._executor.execute(plugin.type, content, parameters)

    def _use_version(self, selected: str) -> None:
        """Continue in a version, with the recorded result converted to it. DEL takes a result since 0.4.0, as CHECK does."""
        result = self._record.result if version.has_prev_result_on_delete(selected) else None
        self.version = selected
        self._prev_result = None if result is None else result.to(selected).keys

    def _renegotiate(self, refusal: CniError) -> bool:
        """Return whether the plugins support another version now; use it from then on.

        Raises:
            CniError: The refusal, with the versions that each plugin supports, or the reason why they are unknown.
        """
        if len(self.network.versions) == 1:
            return False
        try:
            selected = self._versions.require(self.network)
        except CniError as exc:
            raise refusal.with_detail(str(exc)) from exc
        if selected == self.version:
            return False
        self._use_version(selected)
        return True


def delete_with(start: t.Callable[[], Conversation], clean_up: CleanUp) -> None:
    """Run DEL of each plugin, then clean up after the plugins; if DEL fails and the clean-up may help, run DEL once more.

    Raises:
        CniError: The errors of all plugins that failed, or of the clean-up.
    """
    try:
        start().delete()
    except CniError as exc:
        if not _try_clean_up(clean_up, exc):
            raise
        start().delete()
    clean_up(None)


def _try_clean_up(clean_up: CleanUp, failure: CniError) -> bool:
    try:
        return clean_up(failure)
    except CniError as exc:
        raise failure.with_detail(f"leaked links, rules and files could not be removed either: {exc}") from exc


# Seconds. Each pause is twice the previous one.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0

# The runtime repeats ADD itself, with a DEL before it. STATUS reports the current state. GC runs periodically and blocks
# the network.
_REPEATED = ("CHECK", "DEL")


class AddNotUndone(CniError):
    """An ADD failed, and so did the DEL that followed it: ADD must not be repeated."""


class RetryingExecutor:
    """An executor around another one that repeats CHECK and DEL while the plugin returns code 11 (try again later)."""

    def __init__(self, executor: Executor, limit: float) -> None:
        """
        Args:
            limit: Seconds after which a plugin is not run again.
        """
        self._executor = executor
        self._limit = limit

    def require(self, plugin_type: str) -> str:
        return self._executor.require(plugin_type)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if parameters.command not in _REPEATED:
            return self._executor.execute(plugin_type, request, parameters)
        return retry(lambda: self._executor.execute(plugin_type, request, parameters), self._limit)


def retry(operation: t.Callable[[], T], limit: float) -> T:
    """Repeat an operation with growing pauses while a plugin returns code 11 (section 5, "Error").

    Args:
        limit: Seconds after which it is not repeated.

    Raises:
        CniError: Any other error at once; the last error of code 11 after the time limit.
    """
    started = time.monotonic()
    pause, times = _FIRST_PAUSE, 1
    while True:
        try:
            return operation()
        except CniError as exc:
            if exc.code != Code.TRY_AGAIN or isinstance(exc, AddNotUndone):
                raise
            seconds = time.monotonic() - started
            if seconds + pause > limit:
                attempts = f"tried {times} times in {seconds:.1f} s (limit {limit:g} s)"
                raise (exc.with_detail(attempts) if times > 1 else exc) from exc
        with workers.lend():
            time.sleep(pause)
        pause, times = min(2 * pause, _LONGEST_PAUSE), times + 1


def collect_errors(operation: t.Callable[[T], object], subjects: t.Iterable[T]) -> list[CniError]:
    """Call an operation for each subject, and return the errors of those for which it failed."""
    errors = []
    for subject in subjects:
        try:
            operation(subject)
        except CniError as exc:
            errors.append(exc)
    return errors


def raise_all(what: str, errors: t.Sequence[CniError]) -> None:
    """Raise several errors as one, with the code of the first; do nothing if there are none.

    Raises:
        CniError: There is an error.
    """
    if len(errors) == 1:
        raise errors[0].within(what)
    if errors:
        raise CniError(errors[0].code, f"{what}: {len(errors)} failures", "\n".join(str(error) for error in errors))
