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

PROGRAMS = ("firewalld", "firewall-cmd", "dbus-daemon", "dbus-send")
_BUS = pathlib.Path("/run/dbus/system_bus_socket")
_FILES = pathlib.Path("/etc/firewalld")


def find_missing_program() -> str:
    """Return why firewalld cannot run here, or an empty string."""
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    return f"{', '.join(absent)} is missing: run tools/system-packages firewalld" if absent else ""


@contextlib.contextmanager
def firewalld(backend: str, trusted: str = "") -> t.Iterator[None]:
    """Run firewalld for the block, in the caller's network namespace.

    Args:
        backend: How it writes its own rules: ``iptables`` or ``nftables``. With both, a reload flushes all chains of iptables.
        trusted: A source that an administrator has added to the zone ``trusted``.
    """
    shutil.rmtree(_FILES)
    _FILES.mkdir()
    (_FILES / "firewalld.conf").write_text(f"FirewallBackend={backend}\nFlushAllOnReload=yes\n", encoding="ascii")
    if trusted:
        (_FILES / "zones").mkdir()
        zone = f'<zone target="ACCEPT"><source address="{trusted}"/></zone>'
        (_FILES / "zones" / "trusted.xml").write_text(zone, encoding="ascii")
    _BUS.parent.mkdir()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_daemon("dbus-daemon", "--system", "--nofork", "--nopidfile"))
        until(lambda: _BUS.exists() or None)
        stack.enter_context(_daemon("firewalld", "--nofork", "--nopid"))
        until(lambda: _has_name() or None)
        firewall_cmd("--state")  # which waits for its answer
        yield


def firewall_cmd(*arguments: str) -> None:
    subprocess.run(["firewall-cmd", *arguments], check=True, capture_output=True)


def _has_name() -> bool:
    """Return whether firewalld is on the bus, which takes `firewall-cmd` half a second."""
    command = ["dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
    question = ["org.freedesktop.DBus.NameHasOwner", "string:org.fedoraproject.FirewallD1"]
    done = subprocess.run([*command, *question], check=False, capture_output=True, text=True)
    return "boolean true" in done.stdout


@contextlib.contextmanager
def _daemon(*command: str) -> t.Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
