# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Load kernel modules and change kernel settings, and restore earlier values."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, sysctl
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply_all,
    plan_change,
    require_writable,
)
from ansible_collections.cni.node.plugins.module_utils._node.kernel.planned_changes import (
    RESETTING_SETTINGS,
    Plan,
    SettingChange,
    describe_expected_value,
    describe_unwritable,
    plan_modules,
    plan_settings,
    unmet_error,
    write_rank,
)
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs, Reasons, add_network
from ansible_collections.cni.node.plugins.module_utils._node.kernel.saved_settings import SavedValue, SavedValues

# A later setting may reset an earlier one, so the list is written twice.
_PASSES = range(2)
# Seconds to wait for another run, which may be loading modules.
LOCK_TIMEOUT = 60.0
_UNREADABLE = "perhaps needed by an attachment whose record cannot be read"
_BANNER = "# {} for container networks, written by the module cni.node.kernel. Changes to this file are overwritten.\n"


class KernelSettings:
    """The kernel modules and settings that this collection manages on a node."""

    def __init__(self, cache_dir: str, paths: NodePaths) -> None:
        self._paths = paths
        self._cache_dir = cache_dir
        self._saved = SavedValues(cache_dir)

    def ensure(self, needs: Needs, *, persist: bool) -> Plan:
        """Plan and apply under a lock. If there is nothing to do, no lock file is created.

        Raises:
            CniError: As `plan` and `apply`; ``TRY_AGAIN`` if another run takes too long.
        """
        plan = self.plan(needs, persist=persist)
        if plan.changed or not needs.settings.keys() >= self._saved.settings.keys():
            with self._hold_lock():
                self._saved = SavedValues(self._cache_dir)
                plan = self.plan(needs, persist=persist)
                self.apply(plan)
        return plan

    def add_needs_of_attachments(self, needs: Needs) -> None:
        """Add the settings that this collection has set, that nothing else needs, and that recorded attachments may need."""
        surplus = self._saved.settings.keys() - needs.settings.keys()
        if not surplus:
            return
        # Only a run that would restore settings reads the records.
        from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore

        records, unreadable = RecordStore.of_records(self._cache_dir).read_all()
        used, is_certain = Needs(), not unreadable
        for record in {record.config: record for record in records}.values():
            try:
                add_network(used, record.network())
            except CniError:
                is_certain = False
        for name in sorted(surplus):
            ours = self._saved.settings[name].ours
            if used.values.get(name) == ours:
                for reason in used.settings[name]:
                    needs.add_setting(name, ours, f"{reason}, of attachments that exist")
            elif not is_certain:
                needs.add_setting(name, ours, _UNREADABLE)

    def _hold_lock(self) -> t.ContextManager[None]:
        lock, what = self._paths.kernel_lock, "the kernel configuration"
        return hold_lock(lock, exclusive=True, timeout=LOCK_TIMEOUT, what=what)

    def plan(self, needs: Needs, *, persist: bool) -> Plan:
        """Plan all changes without making any.

        Raises:
            CniError: ``NOT_AVAILABLE`` with everything that the kernel does not have or refuses.
        """
        problems: list[str] = []
        modules = plan_modules(needs, problems)
        loaded = {change.name for change in modules if change.action == "loaded"}
        names = sorted(needs.settings, key=lambda name: (write_rank(name), name))
        settings = [*plan_settings(names, needs, loaded, problems), *self._plan_restored(needs, problems)]
        if problems:
            raise unmet_error(problems)
        loadable = {change.name: needs.modules[change.name] for change in modules if change.action != "built_in"}
        files = _plan_files(
            self._paths,
            loadable if persist else {},
            {name: needs.settings[name] for name in names} if persist else {},
            needs.values,
        )
        require_writable(files)
        return Plan(modules, settings, files)

    def apply(self, plan: Plan) -> None:
        """Carry out a plan. If the process is killed, the next call can still restore all earlier values.

        Raises:
            CniError: The kernel refused a value. The settings are rolled back; the error lists those that could not be.
        """
        kernel_module.load(plan.loaded)
        changes = _with_current_values(sorted(filter(_is_enforced, plan.settings), key=_write_order))
        self._saved.save(self._values_to_save(changes))
        _write(changes, plan.loaded)
        apply_all(plan.files, {"set": ["kernel settings"] if plan.written else []})
        managed = {change.name for change in plan.settings if change.action in ("set", "unchanged")}
        final = {name: SavedValue(saved.before, saved.ours) for name, saved in self._saved.settings.items()}
        # A setting that again has its first value needs no restoration later.
        self._saved.save({n: saved for n, saved in final.items() if n in managed and saved.before != saved.ours})

    def _plan_restored(self, needs: Needs, problems: list[str]) -> t.Iterator[SettingChange]:
        for name, saved in sorted(self._saved.settings.items()):
            current = None if name in needs.settings else sysctl.read(name)
            if current is not None and current in (saved.ours, saved.had):
                if not sysctl.is_writable(name):
                    problems.append(describe_unwritable(name, ["its earlier value cannot be restored"]))
                yield SettingChange(name, current, saved.before, "restored")
            elif current is not None:
                yield SettingChange(name, current, current, "left")

    def _values_to_save(self, changes: t.Iterable[SettingChange]) -> dict[str, SavedValue]:
        settings = dict(self._saved.settings)
        for change in changes:
            if change.action == "set" and change.before not in (None, change.after):
                settings[change.name] = _value_to_save(change, change.before, settings.get(change.name))
        return settings


def _value_to_save(change: SettingChange, current: str, saved: SavedValue | None) -> SavedValue:
    """Return the values to save before a setting is written, valid whether or not the write succeeds."""
    if saved is None:
        return SavedValue(current, change.after)
    return SavedValue(saved.before, change.after, had=current if current in (saved.ours, saved.had) else None)


def _is_enforced(change: SettingChange) -> bool:
    """Return whether a setting is written.

    A setting that is left is written with its current value, because another setting may reset it. This does not apply
    to settings that reset others.
    """
    return change.action != "left" or change.name not in RESETTING_SETTINGS


def _write_order(change: SettingChange) -> tuple[int, bool]:
    """Return a sort key: requested settings come after those that reset them, so that they take effect."""
    return write_rank(change.name), change.action != "restored"


def _with_current_values(planned: t.Iterable[SettingChange]) -> list[SettingChange]:
    """Return the changes with the values that settings have now, after modules were loaded."""
    changes = []
    for change in planned:
        current = sysctl.read(change.name)
        if current is None:
            raise CniError(
                Code.NOT_AVAILABLE,
                f"kernel setting {change.name}: no loaded module has added it ({'; '.join(change.reasons)})",
                "modules that were loaded stay loaded; no setting was changed",
            )
        changes.append(change._replace(before=current))
    return changes


def _write(changes: t.Sequence[SettingChange], loaded: t.Sequence[str]) -> None:
    """Write all settings that differ, including those that another setting has reset; roll back after an error."""
    for change in (change for dummy in _PASSES for change in changes):
        try:
            _set(change.name, change.after)
        except CniError as exc:
            changed = _roll_back(changes)
            state = f"could not be rolled back: {', '.join(changed)}" if changed else "no setting was changed"
            modules = f"modules that stay loaded: {', '.join(loaded)}" if loaded else ""
            details = (exc.details, describe_expected_value(change.before or ""), state, modules)
            raise CniError(exc.code, exc.msg, "; ".join(filter(None, details))) from exc


def _roll_back(changes: t.Sequence[SettingChange]) -> list[str]:
    """Write the earlier values, and return the settings for which that failed."""
    failed: list[str] = []
    for dummy in _PASSES:
        failed = [change.name for change in changes if not _try_roll_back(change)]
    return failed


def _try_roll_back(change: SettingChange) -> bool:
    try:
        _set(change.name, change.before or "")
    except CniError:
        return False
    return True


def _set(name: str, value: str) -> None:
    if sysctl.read(name) != value:
        sysctl.write(name, value)


def _plan_files(paths: NodePaths, modules: Reasons, settings: Reasons, values: t.Mapping[str, str]) -> list[FileChange]:
    """Plan the files from which the next boot loads modules and sets settings.

    Args:
        modules, settings: Reasons by name, in the order of the file.
    """
    lines = {name: f"{name} = {values[name]}" for name in settings}
    return [
        plan_change(paths.modules_file, _file_text("Kernel modules", modules, {name: name for name in modules})),
        plan_change(paths.sysctl_file, _file_text("Kernel settings", settings, lines)),
    ]


def _file_text(what: str, reasons: Reasons, lines: t.Mapping[str, str]) -> bytes | None:
    entries = ["".join(f"# {reason}\n" for reason in reasons[name]) + f"{line}\n" for name, line in lines.items()]
    return "\n".join([_BANNER.format(what), *entries]).encode() if entries else None
