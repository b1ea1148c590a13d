# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd in the namespaces of a test, as the first process of a PID namespace of its own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.support.until import until

_UNITS = pathlib.Path("/etc/systemd/system")
_TARGET = "cni-node-test.target"
_LOG = pathlib.Path("/run/cni-node-test.log")
_MESSAGES = pathlib.Path("/run/cni-node-test-systemd.log")
# systemd gets a part of the unified hierarchy of control groups, where it believes to be the root.
_BOOT = f"""
set -e
umount -R /sys/fs/cgroup || true
mount --make-rshared /
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/cni-node-test
echo 0 > /sys/fs/cgroup/cni-node-test/cgroup.procs
exec unshare --cgroup sh -ec '
umount /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
exec /usr/lib/systemd/systemd --system --unit={_TARGET} --log-target=console --show-status=no'
"""


class Systemd:
    """A systemd that runs a single unit of this node, in the network namespace of the test."""

    def __init__(self, pid: int, unit: str) -> None:
        self._pid = pid
        self._unit = unit

    def systemctl(self, command: str, *options: str) -> str:
        """Return what systemctl prints about the unit, even if it fails."""
        words = ["nsenter", f"--target={self._pid}", "--mount", "--pid", "systemctl", "--no-pager", command, *options]
        return subprocess.run([*words, self._unit], check=False, capture_output=True, text=True).stdout

    def show(self, name: str) -> str:
        return self.systemctl("show", "--value", f"--property={name}").strip()

    def lines(self) -> list[str]:
        """Return what the unit has written."""
        return _LOG.read_text(encoding="utf-8").splitlines() if _LOG.exists() else []

    def await_lines(self, number: int) -> list[str]:
        return until(lambda: lines if len(lines := self.lines()) >= number else None, 20)


@contextlib.contextmanager
def start_systemd(unit: str) -> t.Iterator[Systemd]:
    """Let a systemd run a unit for the block, without the services that it would usually start first."""
    without_others = "[Unit]\nDefaultDependencies=no\nRequiresMountsFor=\n"
    to_file = f"[Service]\nStandardOutput=append:{_LOG}\nStandardError=append:{_LOG}\n"
    drop_in = _UNITS / f"{unit}.d" / "test.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(without_others + to_file, encoding="ascii")
    (_UNITS / _TARGET).write_text(f"[Unit]\nDefaultDependencies=no\nWants={unit}\n", encoding="ascii")
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--propagation=slave", "sh", "-c", _BOOT]
    environment = {"container": "other", "PATH": os.environ["PATH"]}
    with _MESSAGES.open("wb") as messages:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, env=environment)
    pid = 0
    try:
        pid = int(until(lambda: _children(process.pid) or None, 20)[0])
        started = Systemd(pid, unit)
        until(lambda: started.show("ActiveState") == "active" or process.poll() or None, 30)
        if process.poll() is not None:
            pytest.skip(f"systemd cannot run here: {_MESSAGES.read_text(encoding='utf-8', errors='replace')[-300:]}")
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid or process.pid, signal.SIGKILL)
        process.wait(20)
        shutil.rmtree("/run/systemd")  # it would still look as if systemd were running
        drop_in.unlink()
        drop_in.parent.rmdir()
        (_UNITS / _TARGET).unlink()


def _children(pid: int) -> list[str]:
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
