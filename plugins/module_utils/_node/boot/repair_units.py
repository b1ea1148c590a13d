# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The units that repair attachments without a playbook, and their links."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.current_library import require_library
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files, watch_unit
from ansible_collections.cni.node.plugins.module_utils._node.boot.main import REPAIR, WATCH
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, plan_change
from ansible_collections.cni.node.plugins.module_utils._node.library.users import register

# Services that replace the rules of the node when they start or reload. Those that a node does not have are ignored.
FIREWALLS = tuple(
    f"{name}.service" for name in ("firewalld", "ip6tables", "iptables", "netfilter-persistent", "nftables")
)
SERVICE = "cni-node-repair.service"
RELOAD_SERVICE = "cni-node-repair-reload.service"
NEVER = "never"
# When the node repairs its attachments by itself.
BOOT, RELOAD, CHANGE = EVENTS = ("boot", "reload", "change")
# What may start the service.
_TARGETS = ("multi-user.target", *FIREWALLS)
TIMER = "cni-node-repair.timer"
# A timer counts from its start, so the service runs immediately.
_RUNNING = (RELOAD_SERVICE, TIMER, watch_unit.SERVICE)
_SECONDS = r"(?:s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?)"
_INTERVAL = re.compile(rf"(?=.*[1-9])[0-9]+ ?{_SECONDS}?(?: ?[0-9]+ ?{_SECONDS})*")

_BANNER = "# Written by cni.node.repair: changes are overwritten, use a drop-in instead.\n"
# Without RemainAfterExit=, each start runs it again: Wants= of a firewall that starts or restarts, and the timer.
# The lines of the program are notices; without LogLevelMax=, each run of the timer would add lines of systemd.
_SERVICE_TEXT = """\
[Unit]
Description=Repair CNI attachments
After=network.target cni-node-restore.service {firewalls}
RequiresMountsFor={mounts}
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={command}
TimeoutStartSec=5min
SyslogLevel=notice
LogLevelMax=notice

[Install]
WantedBy={wanted_by}
"""
# systemd passes a reload on to active units only, and a timer does not start an active unit: hence two services.
_RELOAD_TEXT = """\
[Unit]
Description=Repair CNI attachments after a reload of the firewall
After={firewalls}
ReloadPropagatedFrom={firewalls}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={true}
ExecReload={systemctl} start --no-block {service}

[Install]
WantedBy=multi-user.target
"""
_TIMER_TEXT = """\
[Unit]
Description=Repair CNI attachments every {interval}

[Timer]
OnBootSec={interval}
OnUnitActiveSec={interval}
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


class RepairSettings(t.NamedTuple):
    """The settings of the units.

    Attributes:
        interval: A time span of systemd, or `NEVER` for no timer.
        networks, owners, resources: As `Selection`; sorted.
        events: Of `EVENTS`. With `CHANGE`, nothing has to look at an interval.
    """

    cache_dir: str
    interval: str
    networks: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    resources: tuple[str, ...] | None = None
    events: frozenset[str] = frozenset((BOOT, RELOAD))

    @property
    def targets(self) -> list[str]:
        """The units that start the service of the repair."""
        return [*(_TARGETS[:1] if BOOT in self.events else ()), *(FIREWALLS if RELOAD in self.events else ())]

    @property
    def has_timer(self) -> bool:
        return RELOAD in self.events and CHANGE not in self.events and self.interval != NEVER


def check_interval(interval: str) -> str:
    """Return a time span of systemd, or raise ``INVALID_CONFIG``."""
    if interval != NEVER and not _INTERVAL.fullmatch(interval):
        expected = "expected: a time span of systemd such as 30s or 5min, or never, for no timer"
        raise CniError(Code.INVALID_CONFIG, f"interval: {interval!r} is not a time span", expected)
    return interval


def set_up(
    paths: NodePaths, settings: RepairSettings | None, timeout: float, *, dry_run: bool, option: str = "on_reload"
) -> list[FileChange]:
    """Install the units as described, or remove them if `settings` is None.

    Args:
        option: The option of the task that requires the units, for errors.
        timeout: Seconds to wait for another run that prepares files for boot.

    Returns:
        The changes made, or predicted in a dry run.

    Raises:
        CniError: ``INVALID_ENVIRONMENT`` without systemd; ``IO_FAILURE``; ``TRY_AGAIN`` after the timeout.
    """
    library: Library | None = None
    if settings is not None:
        purpose = f"{option} requires systemd on the node, which starts the repair"
        unit_files.require_systemd(paths.systemd_dir, purpose, f"leave out {option}, and run this task when needed")
        library = require_library(option, dry_run=dry_run)
    units = RepairUnits(paths, library)
    changes = units.plan_changes(settings)
    if dry_run:
        return changes
    if changes:
        with hold_lock(paths.restore_lock, exclusive=True, timeout=timeout, what="the set-up of the repair units"):
            changes = units.plan_changes(settings)
            if settings is not None and CHANGE in settings.events:
                durable.make_directory(settings.cache_dir, mode=0o700)  # the service cannot make it
            units.carry_out(changes)
    if library is not None:
        written = (os.path.join(paths.unit_dir, name) for name in (SERVICE, watch_unit.SERVICE))
        register(library, filter(os.path.exists, written))
    return changes


class RepairUnits:
    """The units and their links."""

    def __init__(self, paths: NodePaths, library: Library | None) -> None:
        """
        Args:
            library: What the units run; may be None if they are only removed.
        """
        self._paths = paths
        self._library = library

    def plan_changes(self, settings: RepairSettings | None) -> list[FileChange]:
        """Plan all changes, in the order in which to apply them; units that do not run, as after a killed run, are last."""
        files = self._files(settings, self._library) if settings and self._library else {}
        changes = [
            plan_change(self._path(name), files.get(self._path(name)))
            for name in (SERVICE, RELOAD_SERVICE, TIMER, watch_unit.SERVICE)
        ]
        enabled = self._links(settings) if files else {}
        changes += [unit_files.plan_link(link, enabled.get(link)) for link in self._links()]
        changes = unit_files.plan(self._paths, changes if files else changes[::-1])
        written = {change.path for change in changes}
        unchanged = [name for name in _RUNNING if self._path(name) in files.keys() - written]
        return [*changes, *map(self._plan_start, unit_files.list_idle(self._paths, unchanged))]

    def carry_out(self, changes: t.Sequence[FileChange]) -> None:
        """Apply changes, as `unit_files.carry_out`."""
        removed = {change.path for change in changes if change.after is None}
        written = {change.path for change in changes if change.after is not None}
        stopped = [name for name in reversed(_RUNNING) if self._path(name) in removed]
        started = [name for name in _RUNNING if self._path(name) in written]
        unit_files.carry_out(self._paths, changes, stopped=stopped, then=["restart", *started] if started else ())

    def _plan_start(self, name: str) -> FileChange:
        return FileChange("", self._path(name), unit_files.STARTED, b"not running\n", b"running\n")

    def _files(self, settings: RepairSettings, library: Library) -> dict[str, bytes]:
        """Return the content of each unit by its path."""
        firewalls = " ".join(FIREWALLS)
        mounts = unit_files.mounts(library.top, settings.cache_dir)
        texts = {}
        if settings.targets:
            texts[SERVICE] = _SERVICE_TEXT.format(
                firewalls=firewalls,
                mounts=mounts,
                command=unit_files.python_command(library.path, REPAIR, *_arguments(settings)),
                wanted_by=" ".join(settings.targets),
            )
        if RELOAD in settings.events:
            texts[RELOAD_SERVICE] = _RELOAD_TEXT.format(
                firewalls=firewalls,
                true=program.find("true") or "/bin/true",
                systemctl=program.find("systemctl") or "/bin/systemctl",
                service=SERVICE,
            )
        if settings.has_timer:
            texts[TIMER] = _TIMER_TEXT.format(interval=settings.interval)
        if CHANGE in settings.events:
            texts[watch_unit.SERVICE] = watch_unit.describe(
                unit_files.python_command(library.path, WATCH, *_arguments(settings)),
                mounts,
                unit_files.mounts(*dict.fromkeys((f"-{self._paths.state_dir}", f"-{settings.cache_dir}"))),
                self._paths.watch_state,
            )
        return {self._path(name): (_BANNER + text).encode() for name, text in texts.items()}

    def _links(self, settings: RepairSettings | None = None) -> dict[str, str]:
        """Return every link that may enable a unit, or those of the settings, with the unit."""
        events, targets = (EVENTS, _TARGETS) if settings is None else (settings.events, settings.targets)
        units = [
            *((target, SERVICE) for target in targets),
            *([("multi-user.target", RELOAD_SERVICE)] if RELOAD in events else []),
            *([("timers.target", TIMER)] if settings is None or settings.has_timer else []),
            *([("multi-user.target", watch_unit.SERVICE)] if CHANGE in events else []),
        ]
        return {self._path(f"{target}.wants/{name}"): self._path(name) for target, name in units}

    def _path(self, name: str) -> str:
        return os.path.join(self._paths.unit_dir, name)


def _arguments(settings: RepairSettings) -> list[str]:
    networks = (word for name in settings.networks for word in ("--network", name))
    owners = (word for name in settings.owners for word in ("--owner", name))
    resources = (word for name in settings.resources or () for word in ("--resource", name))
    return [*networks, *owners, *resources, settings.cache_dir]
