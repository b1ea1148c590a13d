# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command that repairs attachments without a playbook."""

from __future__ import annotations

import argparse
import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource

_LOCK_TIMEOUT = 60.0
_FIREWALLD = ("org.fedoraproject.FirewallD1", "/org/fedoraproject/FirewallD1")
_PING = ("org.freedesktop.DBus.Peer", "Ping")


def main(arguments: t.Sequence[str], paths: NodePaths = NODE_PATHS) -> int:
    """Repair the node's attachments, and print a line for each that was repaired or failed; return 0 if none failed."""
    options = _parse(arguments)
    resources = frozenset(map(Resource, options.resource)) if options.resource else None
    selection = Selection(frozenset(options.network), frozenset(options.owner), resources)
    try:
        _await_firewalld()
        repairs, unreadable = repair_node(paths, options.cache_dir, _LOCK_TIMEOUT, selection, dry_run=False)
    except Exception as exc:
        write_line(f"failed: {as_error(exc)}")
        return 1
    for line in (*filter(None, map(_format, repairs)), *(f"not repaired: {error}" for error in unreadable)):
        write_line(line)
    return 1 if any(repair.error for repair in repairs) else 0


def _parse(arguments: t.Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("repair", description="Repair what recorded attachments have lost.")
    parser.add_argument("--network", action="append", default=[], help="a network to repair, instead of all")
    parser.add_argument("--owner", action="append", default=[], help="a runtime, instead of all")
    parser.add_argument("--resource", action="append", default=[], choices=[resource.value for resource in Resource])
    parser.add_argument("cache_dir", nargs="?", default=NODE_PATHS.state_dir)
    return parser.parse_args(arguments)


def _await_firewalld() -> None:
    """Wait until firewalld, if it runs, has written its rules.

    For systemd, it has started or reloaded before that. It answers when it is done.
    """
    busctl = program.find("busctl")
    if busctl:
        with contextlib.suppress(CniError):  # it does not run, or there is no message bus
            program.output([busctl, "--system", "--auto-start=no", "call", *_FIREWALLD, *_PING])


def _format(repair: Repair) -> str:
    """Return the line of an attachment, or an empty string if nothing happened to it."""
    if repair.error:
        return f"failed: the {repair.record.attachment}: {repair.error}"
    return f"repaired: the {repair.record.attachment}: {'; '.join(repair.repaired)}" if repair.changed else ""
