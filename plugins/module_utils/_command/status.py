# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The subcommand `status`: show networks and attachments with their drift, as the playbook `report` does."""

from __future__ import annotations

import os

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._command.subcommand import (
    DIRECTORIES,
    Answer,
    Call,
    Subcommand,
    add_nothing,
)
from ansible_collections.cni.node.plugins.module_utils._module import node_info
from ansible_collections.cni.node.plugins.module_utils._module.call import call
from ansible_collections.cni.node.plugins.module_utils._node.info.problems import list_problems
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import ALL, format_nodes, format_runtimes

_PARTS = ["releases", "networks", "attachments", "leases", "runtimes"]


def _run(request: Call) -> Answer:
    given = {**request.select(*DIRECTORIES), "gather": _PARTS}
    result = call(node_info.ensure, node_info.ARGUMENTS, given, request.paths)
    if result.get("failed"):
        return Answer(result, (), is_wrong=True)
    # The last line of the message counts what the tables show.
    *scarce, dummy = result["msg"].split("\n")
    lines = format_nodes({printable.line(os.uname().nodename): result}, ALL)
    if result["runtimes"]:
        lines += ["", *format_runtimes(result["runtimes"])]
    if scarce:
        lines += ["", *scarce]
    return Answer(result, lines, bool(list_problems(result) or scarce))


SUBCOMMAND = Subcommand("status", "show networks, attachments with their drift, and runtimes", add_nothing, _run)
