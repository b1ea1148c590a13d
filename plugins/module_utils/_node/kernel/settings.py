# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import errno
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.kernel_module import State
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, apply
from ansible_collections.cni.node.plugins.module_utils._node.kernel import boot_files
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs
from ansible_collections.cni.node.plugins.module_utils._node.kernel.saved_values import KernelMemory, SavedValue

# The kernel resets other settings with these, so they come before what is asked for beside them.
_FIRST: t.Final = ("net.ipv4.conf.all.forwarding", "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")
# What comes first may reset what comes later, and that in turn what came first.
_ROUNDS: t.Final = range(2)
# Seconds for another run, which may be loading modules.
LOCK_TIMEOUT: t.Final = 60.0
_NUMBERS: t.Final = re.compile(r"-?\d+( -?\d+)*", re.ASCII)
# Settings that a module adds to directories that exist without it.
SYSCTLS_BY_MODULE: t.Final = {"nf_conntrack": ("net.netfilter.nf_conntrack_", "net.nf_conntrack_max")}


@dataclasses.dataclass(frozen=True)
class ModuleChange:
    """What becomes of a module: ``loaded``, or ``present`` or ``built_in`` already."""

    name: str
    action: str
    reasons: t.Sequence[str]


@dataclasses.dataclass(frozen=True)
class SettingChange:
    """What becomes of a setting.

    Attributes:
        action: ``set`` or ``unchanged``; ``restored``, or ``left`` where somebody else has changed it since.
        before: None where a module is to bring the setting first.
    """

    name: str
    before: str | None
    after: str
    action: str
    reasons: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Plan:
    modules: t.Sequence[ModuleChange]
    settings: t.Sequence[SettingChange]
    files: t.Sequence[FileChange]

    @property
    def changed(self) -> bool:
        return bool(self.loaded or self.written or any(change.changed for change in self.files))

    @property
    def loaded(self) -> list[str]:
        return [change.name for change in self.modules if change.action == "loaded"]

    @property
    def written(self) -> list[SettingChange]:
        return [change for change in self.settings if change.action in ("set", "restored")]


class KernelSettings:
    """The kernel's modules and settings that are looked after here: what is asked for, and nothing of earlier calls."""

    def __init__(self, cache_dir: str) -> None:
        self._cache_dir = cache_dir
        self._memory = KernelMemory(cache_dir)

    def ensure(self, needs: Needs, *, persist: bool) -> Plan:
        """Plan and carry it out while no other run does; where there is nothing to do, no lock is made.

        Raises:
            CniError: As `plan` and `apply`; ``TRY_AGAIN`` where another run takes too long.
        """
        plan = self.plan(needs, persist=persist)
        if plan.changed or not needs.settings.keys() >= self._memory.settings.keys():
            with hold_lock(boot_files.LOCK, exclusive=True, timeout=LOCK_TIMEOUT, what="what the kernel is set to"):
                self._memory = KernelMemory(self._cache_dir)
                plan = self.plan(needs, persist=persist)
                self.apply(plan)
        return plan

    def plan(self, needs: Needs, *, persist: bool) -> Plan:
        """Decide on everything before anything is touched.

        Raises:
            CniError: ``NOT_AVAILABLE`` with all that the kernel lacks or refuses.
        """
        problems: list[str] = []
        modules = [change for name in sorted(needs.modules) for change in _module(name, needs, problems)]
        loaded = {change.name for change in modules if change.action == "loaded"}
        names = sorted(needs.settings, key=lambda name: (name not in _FIRST, name))
        settings = [change for name in names for change in _setting(name, needs, loaded, problems)]
        settings += self._put_back(needs, problems)
        if problems:
            raise _lacking(problems)
        kept = {change.name: needs.modules[change.name] for change in modules if change.action != "built_in"}
        files = boot_files.changes(
            kept if persist else {}, {name: needs.settings[name] for name in names} if persist else {}, needs.values
        )
        return Plan(modules, settings, files)

    def apply(self, plan: Plan) -> None:
        """Carry out a plan; killed at any moment, what was changed can be put back by the next call.

        Raises:
            CniError: The kernel refused; the settings are as they were then.
        """
        kernel_module.load(plan.loaded)
        changes = _as_found(sorted(filter(_is_to_be_so, plan.settings), key=_order))
        self._memory.save(self._remembered(changes))
        _write(changes, plan.loaded)
        for change in plan.files:
            apply(change)
        wanted = {change.name for change in plan.settings if change.action in ("set", "unchanged")}
        settled = {name: SavedValue(taken.before, taken.ours) for name, taken in self._memory.settings.items()}
        # What is asked for as it was at first has nothing to be put back.
        self._memory.save({n: taken for n, taken in settled.items() if n in wanted and taken.before != taken.ours})

    def _put_back(self, needs: Needs, problems: list[str]) -> t.Iterator[SettingChange]:
        for name, taken in sorted(self._memory.settings.items()):
            now = None if name in needs.settings else sysctl.read(name)
            if now is not None and now in (taken.ours, taken.had):
                if not sysctl.is_writable(name):
                    problems.append(_unwritable(name, ["it is to be as it was before"]))
                yield SettingChange(name, now, taken.before, "restored")
            elif now is not None:
                yield SettingChange(name, now, now, "left")

    def _remembered(self, changes: t.Iterable[SettingChange]) -> dict[str, SavedValue]:
        settings = dict(self._memory.settings)
        for change in changes:
            if change.action == "set" and change.before not in (None, change.after):
                settings[change.name] = _taken(change, change.before, settings.get(change.name))
        return settings


def _taken(change: SettingChange, now: str, earlier: SavedValue | None) -> SavedValue:
    """Return what is to be known while a setting is changed: it may stay as an earlier call has set it."""
    if earlier is None:
        return SavedValue(now, change.after)
    return SavedValue(earlier.before, change.after, had=now if now in (earlier.ours, earlier.had) else None)


def _module(name: str, needs: Needs, problems: list[str]) -> t.Iterator[ModuleChange]:
    try:
        state = kernel_module.state(name)
    except CniError as exc:
        problems.append(f"kernel module {name}: {exc} ({'; '.join(needs.modules[name])})")
    else:
        yield ModuleChange(name, "loaded" if state is State.LOADABLE else state.value, needs.modules[name])


def _setting(name: str, needs: Needs, loaded: set[str], problems: list[str]) -> t.Iterator[SettingChange]:
    wanted, reasons = needs.values[name], needs.settings[name]
    try:
        now = sysctl.read(name)
    except CniError as exc:
        problems.append(f"kernel setting {name}: {exc} ({'; '.join(reasons)})")
        return
    if now is None and not _is_to_come(name, loaded):
        problems.append(f"kernel setting {name}: the running kernel does not have it ({'; '.join(reasons)})")
    elif now not in (None, wanted) and not sysctl.is_writable(name):
        problems.append(_unwritable(name, reasons))
    elif now is not None and _is_a_word_for_a_number(name, now, wanted):
        problems.append(
            f"kernel setting {name}: {wanted!r} is no number; {_of_the_form_of(now)} ({'; '.join(reasons)})"
        )
    else:
        yield SettingChange(name, now, wanted, "unchanged" if now == wanted else "set", reasons)


def _is_to_come(name: str, loaded: set[str]) -> bool:
    """Tell whether one of the modules to be loaded may bring a setting: with its directory, or by what is known."""
    known = tuple(prefix for module in loaded for prefix in SYSCTLS_BY_MODULE.get(module, ()))
    return bool(loaded) and (not sysctl.has_directory(name) or name.startswith(known))


def _is_a_word_for_a_number(name: str, now: str, wanted: str) -> bool:
    """Tell whether the kernel is certain to refuse a value. Some take masks and lists, and a host may be called 7."""
    is_word = not re.search(r"\d", wanted) and re.search(r"[g-z]", wanted, re.IGNORECASE)
    return bool(_NUMBERS.fullmatch(now) and is_word) and not name.startswith("kernel.")


def _of_the_form_of(now: str) -> str:
    if not _NUMBERS.fullmatch(now):
        return f"its value is {now!r} now"
    return f"expected: {'integers' if ' ' in now else 'an integer'}, as the value is now: {now}"


def _unwritable(name: str, reasons: t.Sequence[str]) -> str:
    path = sysctl.path_of(name)
    said = f"{path} cannot be written from here; in a container, set it on the host"
    if os.geteuid() != 0:
        said = str(io_error("write", path, PermissionError(errno.EACCES, os.strerror(errno.EACCES))))
    return f"kernel setting {name}: {said} ({'; '.join(reasons)})"


def _lacking(problems: t.Sequence[str]) -> CniError:
    if len(problems) == 1:
        return CniError(Code.NOT_AVAILABLE, problems[0], "nothing was changed")
    return CniError(Code.NOT_AVAILABLE, f"nothing was changed, for {len(problems)} reasons", "\n".join(problems))


def _is_to_be_so(change: SettingChange) -> bool:
    """Tell what is to have its planned value in the end, as what is left has where the kernel resets it."""
    return change.action != "left" or change.name not in _FIRST


def _order(change: SettingChange) -> tuple[bool, bool]:
    """Have what is asked for win over what is put back, as where two settings are one to the kernel."""
    return change.name not in _FIRST, change.action != "restored"


def _as_found(planned: t.Iterable[SettingChange]) -> list[SettingChange]:
    """Return what is to be as planned, with the values that modules have just brought along."""
    changes = []
    for change in planned:
        now = sysctl.read(change.name)
        if now is None:
            raise CniError(
                Code.NOT_AVAILABLE,
                f"kernel setting {change.name}: no module has brought it ({'; '.join(change.reasons)})",
                "modules that were loaded stay loaded; no setting was changed",
            )
        changes.append(dataclasses.replace(change, before=now))
    return changes


def _write(changes: t.Sequence[SettingChange], loaded: t.Sequence[str]) -> None:
    """Write what is not as it should be, and what was until the kernel has reset it with another setting."""
    for change in (change for dummy in _ROUNDS for change in changes):
        try:
            _set(change.name, change.after)
        except CniError as exc:
            left = _undo(changes)
            done = [f"{', '.join(left)} could not be put back" if left else "no setting was changed"]
            done += [f"loaded and left so: {', '.join(loaded)}"] if loaded else []
            said = (exc.details, _of_the_form_of(change.before or ""), *done)
            raise CniError(exc.code, exc.msg, "; ".join(filter(None, said))) from exc


def _undo(changes: t.Sequence[SettingChange]) -> list[str]:
    """Put settings back as they were found, and return those that could not be."""
    left: list[str] = []
    for dummy in _ROUNDS:
        left = [change.name for change in changes if not _is_put_back(change)]
    return left


def _is_put_back(change: SettingChange) -> bool:
    try:
        _set(change.name, change.before or "")
    except CniError:
        return False
    return True


def _set(name: str, value: str) -> None:
    if sysctl.read(name) != value:
        sysctl.write(name, value)


__all__ = ("KernelSettings", "ModuleChange", "Plan", "SettingChange")
