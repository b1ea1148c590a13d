# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""firewalld in the namespace of a test, with a system bus of its own."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import subprocess
import typing as t

from ansible_collections.cni.node.tests.support.until import until

PROGRAMS = ("firewalld", "firewall-cmd", "dbus-daemon")
_BUS = pathlib.Path("/run/dbus/system_bus_socket")
_FILES = pathlib.Path("/etc/firewalld")


def find_missing_program() -> str:
    """Return why firewalld cannot run here, or an empty string."""
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    return f"{', '.join(absent)} is missing: run tools/system-packages firewalld" if absent else ""


@contextlib.contextmanager
def firewalld(backend: str) -> t.Iterator[None]:
    """Run firewalld for the block, in the caller's network namespace; its files start without changes.

    Args:
        backend: How it writes its own rules: ``iptables`` or ``nftables``. With both, a reload flushes all chains of iptables.
    """
    shutil.rmtree(_FILES)
    _FILES.mkdir()
    (_FILES / "firewalld.conf").write_text(f"FirewallBackend={backend}\nFlushAllOnReload=yes\n", encoding="ascii")
    _BUS.parent.mkdir()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_daemon("dbus-daemon", "--system", "--nofork", "--nopidfile"))
        until(lambda: _BUS.exists() or None)
        stack.enter_context(_daemon("firewalld", "--nofork", "--nopid"))
        until(lambda: _is_running() or None)
        yield


def firewall_cmd(*arguments: str) -> None:
    subprocess.run(["firewall-cmd", *arguments], check=True, capture_output=True)


def _is_running() -> bool:
    return subprocess.run(["firewall-cmd", "--state"], check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def _daemon(*command: str) -> t.Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
