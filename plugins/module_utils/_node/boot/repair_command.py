# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command that repairs attachments without a playbook."""

from __future__ import annotations

import argparse
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Resource, describe

_LOCK_TIMEOUT = 60.0


def main(arguments: t.Sequence[str], paths: NodePaths = NODE_PATHS) -> int:
    """Repair the node's attachments, and print a line for each that was repaired or failed; return 0 if none failed."""
    selection, cache_dir = parse(arguments)
    try:
        firewalld.await_rules()
        repairs, unreadable = repair_node(paths, cache_dir, _LOCK_TIMEOUT, selection, dry_run=False)
    except Exception as exc:
        write_line(f"failed: {as_error(exc)}")
        return 1
    for line in (*filter(None, map(describe, repairs)), *(f"not repaired: {error}" for error in unreadable)):
        write_line(line)
    return 1 if any(repair.error for repair in repairs) else 0


def parse(arguments: t.Sequence[str]) -> tuple[Selection, str]:
    """Return the attachments that options select, and the cache directory."""
    parser = argparse.ArgumentParser("repair", description="Repair what recorded attachments have lost.")
    parser.add_argument("--network", action="append", default=[], help="a network to repair, instead of all")
    parser.add_argument("--owner", action="append", default=[], help="a runtime, instead of all")
    parser.add_argument("--resource", action="append", default=[], choices=[resource.value for resource in Resource])
    parser.add_argument("cache_dir", nargs="?", default=NODE_PATHS.state_dir)
    options = parser.parse_args(arguments)
    resources = frozenset(map(Resource, options.resource)) if options.resource else None
    return Selection(frozenset(options.network), frozenset(options.owner), resources), options.cache_dir
