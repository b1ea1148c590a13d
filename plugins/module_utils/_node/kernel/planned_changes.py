# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plan the changes of kernel modules and settings."""

from __future__ import annotations

import errno
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.kernel_module import State
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs

# When one of these changes, the kernel resets other settings. They are written before all others.
RESETTING_SETTINGS = ("net.ipv4.conf.all.forwarding", "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")
_ACCEPTING = re.compile(r"net\.ipv6\.conf\..+\.accept_ra")
_NUMBERS = re.compile(r"-?\d+( -?\d+)*", re.ASCII)
# Settings that a module adds to a directory that exists without it: prefixes of their names.
SYSCTLS_BY_MODULE = {"nf_conntrack": ("net.netfilter.nf_conntrack_", "net.nf_conntrack_max")}


class ModuleChange(t.NamedTuple):
    """The change of one kernel module.

    Attributes:
        action: ``loaded``; ``present`` or ``built_in`` if the kernel has it already.
    """

    name: str
    action: str
    reasons: t.Sequence[str]


class SettingChange(t.NamedTuple):
    """The change of one kernel setting.

    Attributes:
        before: None if a module that is loaded first adds the setting.
        action: ``set``, ``unchanged`` or ``restored``; ``left`` if another program has changed it since.
    """

    name: str
    before: str | None
    after: str
    action: str
    reasons: t.Sequence[str] = ()


class Plan(t.NamedTuple):
    """The changes of one call."""

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


def write_rank(name: str) -> int:
    """Return a sort key of settings: those that reset others come before these.

    A link that keeps its routers must do so before the kernel forwards IPv6, which drops them.
    """
    return 0 if _ACCEPTING.fullmatch(name) else 1 if name in RESETTING_SETTINGS else 2


def plan_modules(needs: Needs, problems: list[str]) -> list[ModuleChange]:
    """Plan the modules that the kernel can load; add a problem for each other module."""
    return [change for name in sorted(needs.modules) for change in _plan_module(name, needs, problems)]


def _plan_module(name: str, needs: Needs, problems: list[str]) -> t.Iterator[ModuleChange]:
    try:
        state = kernel_module.state(name)
    except CniError as exc:
        problems.append(f"kernel module {name}: {exc} ({'; '.join(needs.modules[name])})")
    else:
        yield ModuleChange(name, "loaded" if state is State.LOADABLE else state.value, needs.modules[name])


def plan_settings(names: t.Iterable[str], needs: Needs, loaded: set[str], problems: list[str]) -> list[SettingChange]:
    """Plan the settings that can be set; add a problem for each other setting.

    Args:
        loaded: Modules that are loaded first, and may add settings.
    """
    return [change for name in names for change in _plan_setting(name, needs, loaded, problems)]


def _plan_setting(name: str, needs: Needs, loaded: set[str], problems: list[str]) -> t.Iterator[SettingChange]:
    value, reasons = needs.values[name], needs.settings[name]
    try:
        current = sysctl.read(name)
    except CniError as exc:
        problems.append(f"kernel setting {name}: {exc} ({'; '.join(reasons)})")
        return
    if current is None and not _may_be_added(name, loaded):
        problems.append(f"kernel setting {name}: the running kernel does not have it ({'; '.join(reasons)})")
    elif current not in (None, value) and not sysctl.is_writable(name):
        problems.append(describe_unwritable(name, reasons))
    elif current is not None and _is_text_for_number(name, current, value):
        expected = describe_expected_value(current)
        problems.append(f"kernel setting {name}: {value!r} is not a number; {expected} ({'; '.join(reasons)})")
    else:
        yield SettingChange(name, current, value, "unchanged" if current == value else "set", reasons)


def _may_be_added(name: str, loaded: set[str]) -> bool:
    """Return whether a module that is loaded first may add a setting, in a new directory or as in `SYSCTLS_BY_MODULE`."""
    prefixes = tuple(prefix for module in loaded for prefix in SYSCTLS_BY_MODULE.get(module, ()))
    return bool(loaded) and (not sysctl.has_directory(name) or name.startswith(prefixes))


def _is_text_for_number(name: str, current: str, value: str) -> bool:
    """Return whether the kernel certainly refuses a value because its setting is a number.

    Masks and lists may be valid, and settings below ``kernel.`` may be text that looks like a number: a host may be named 7.
    """
    is_text = not re.search(r"\d", value) and re.search(r"[g-z]", value, re.IGNORECASE)
    return bool(_NUMBERS.fullmatch(current) and is_text) and not name.startswith("kernel.")


def describe_expected_value(current: str) -> str:
    """Return the part of an error that describes valid values of a setting, by its current value."""
    if not _NUMBERS.fullmatch(current):
        return f"its current value is {current!r}"
    return f"expected: {'integers' if ' ' in current else 'an integer'}, such as the current value: {current}"


def describe_unwritable(name: str, reasons: t.Sequence[str]) -> str:
    """Return a problem that names a setting's path and what to do about it."""
    path = sysctl.path_of(name)
    problem = f"{path} is not writable; in a container, set it on the host"
    if os.geteuid() != 0:
        problem = str(io_error("write", path, PermissionError(errno.EACCES, os.strerror(errno.EACCES))))
    return f"kernel setting {name}: {problem} ({'; '.join(reasons)})"


def unmet_error(problems: t.Sequence[str]) -> CniError:
    """Return the error for everything that the kernel does not have or refuses."""
    if len(problems) == 1:
        return CniError(Code.NOT_AVAILABLE, problems[0], "nothing was changed")
    msg = f"the kernel does not meet {len(problems)} requirements; nothing was changed"
    return CniError(Code.NOT_AVAILABLE, msg, "\n".join(problems))
