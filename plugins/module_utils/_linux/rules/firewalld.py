# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The sources of firewalld's zones at runtime: traffic from such an address gets the rules of its zone."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import process_table, program

_PROGRAM = "firewall-cmd"
_SERVICE = ("org.fedoraproject.FirewallD1", "/org/fedoraproject/FirewallD1")
_PING = ("org.freedesktop.DBus.Peer", "Ping")
_SOURCES = "  sources:"


def is_running() -> bool:
    """Return whether firewalld is running in the node's network namespace."""
    return bool(process_table.find_by_name("firewalld", "/proc/self/ns/net"))


def await_rules() -> None:
    """Wait until firewalld, if it runs, has written its rules.

    For systemd, it has started or reloaded before that. It answers when it is done.
    """
    busctl = program.find("busctl")
    if busctl:
        with contextlib.suppress(CniError):  # it does not run, or there is no message bus
            program.output([busctl, "--system", "--auto-start=no", "call", *_SERVICE, *_PING])


def list_sources() -> frozenset[str]:
    """Return the sources of all zones, as they were added: addresses, networks, MACs, names of sets.

    Raises:
        CniError: ``IO_FAILURE``; ``NOT_AVAILABLE`` without ``firewall-cmd``.
    """
    lines = _run("--get-active-zones").splitlines()
    return frozenset(source for line in lines if line.startswith(_SOURCES) for source in line.split()[1:])


def add_sources(zone: str, sources: t.Iterable[str]) -> None:
    """Add sources to a zone until firewalld is reloaded. Some may have been added although there is an error.

    Raises:
        CniError: As `list_sources`.
    """
    _change(f"--zone={zone}", *(f"--add-source={source}" for source in sources))


def remove_sources(zone: str, sources: t.Iterable[str]) -> None:
    """Remove sources from a zone; errors as `list_sources`."""
    _change(f"--zone={zone}", *(f"--remove-source={source}" for source in sources))


def _change(*arguments: str) -> None:
    printed = _run(*arguments).split()
    if printed[-1:] != ["success"]:
        what = f"{_PROGRAM} has not confirmed the change"
        raise CniError(Code.IO_FAILURE, what, f"expected: success, found: {' '.join(printed)[:100]!r}")


def _run(*arguments: str) -> str:
    path = program.find(_PROGRAM)
    if path is None:
        raise CniError(Code.NOT_AVAILABLE, f"{_PROGRAM} is not installed", "install the package firewalld")
    return program.output([path, *arguments])
