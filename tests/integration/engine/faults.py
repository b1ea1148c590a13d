# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inject a fault at a chosen boundary of a run: right before or right after an operation with side effects.

As a program, it runs a zipped program: python -I faults.py KIND AT PROGRAM [ARGUMENT...]
"""

from __future__ import annotations

import dataclasses
import errno
import os
import pkgutil
import runpy
import signal
import sys
import typing as t

BASE = "ansible_collections.cni.node.plugins.module_utils."
# The operations that change something, by the module or the class that has them.
FILES = ("open", "fsync", "link", "mkdir", "rmdir", "rename", "symlink", "unlink")
PROCESSES = ("run",)
MOUNTS = ("mount", "unmount")
KERNEL = ("change",)  # before each message of netlink; after it, nothing happens until the next boundary
EVERY = (*FILES, *PROCESSES, *MOUNTS, *KERNEL)
PLACES = {
    "os": FILES,
    f"{BASE}_base.process": PROCESSES,
    f"{BASE}_linux.syscall": MOUNTS,
    f"{BASE}_linux.links.netlink:Connection": KERNEL,
}

Report = t.Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault and its boundary.

    `kind` is the name of a signal, or of the error with which a file operation fails. `at` is the number of boundaries
    before the fault; only the operations in `among` count. With `stays`, all later operations fail too. If `at` is
    negative, nothing fails, and each boundary is reported.
    """

    kind: str
    at: int
    among: t.Sequence[str] = EVERY
    stays: bool = False

    @property
    def is_error(self) -> bool:
        return self.kind.startswith("E")

    @property
    def has_two_sides(self) -> bool:
        """Return whether a fault right after an operation differs from one right before the next."""
        return not self.is_error and (self.kind != "SIGKILL" or set(self.among) != set(EVERY))


class Injection:
    """Inject a fault into this process; `report` receives a description of the fault's boundary."""

    def __init__(self, fault: Fault, report: Report) -> None:
        self._fault, self._report = fault, report
        self._remaining = fault.at

    def install(self) -> None:
        for place, names in PLACES.items():
            owner = pkgutil.resolve_name(place)
            for name in set(names) & set(self._fault.among):
                setattr(owner, name, self._wrap(name, getattr(owner, name)))

    def _wrap(self, name: str, operation: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
        def run(*arguments: t.Any, **keywords: t.Any) -> t.Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return operation(*arguments, **keywords)
            self._pass("before", name, arguments)
            try:
                return operation(*arguments, **keywords)
            finally:
                if self._fault.has_two_sides and name not in KERNEL:
                    self._pass("after", name, arguments)

        return run

    def _pass(self, side: str, name: str, arguments: t.Sequence[t.Any]) -> None:
        if self._fault.at < 0:
            self._report(f"{self._fault.kind} {side} {name} {_subject(name, arguments)}")
            return
        self._remaining -= 1
        if self._remaining == -1 or (self._remaining < 0 and self._fault.stays):
            self._report(f"{self._fault.kind} {side} {name} {_subject(name, arguments)}")
            self._inject()

    def _inject(self) -> None:
        if self._fault.is_error:
            number = getattr(errno, self._fault.kind)
            raise OSError(number, os.strerror(number))
        if self._fault.kind == "SIGHUP":  # as a terminal that goes away sends it
            os.killpg(0, signal.SIGHUP)
        os.kill(os.getpid(), getattr(signal, self._fault.kind))


def _subject(name: str, arguments: t.Sequence[t.Any]) -> str:
    if name in KERNEL:
        return f"message of type {arguments[1]}"
    argument = arguments[0]
    if isinstance(argument, int):
        return os.readlink(f"/proc/self/fd/{argument}")
    return " ".join(argument) if isinstance(argument, (list, tuple)) else str(argument)


if __name__ == "__main__":
    kind, at, *sys.argv = sys.argv[1:]
    sys.path.insert(0, sys.argv[0])
    Injection(Fault(kind, int(at)), lambda text: None).install()
    runpy.run_path(sys.argv[0], run_name="__main__")
