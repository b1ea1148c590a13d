# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The subcommand `repair`: repair what attachments have lost, as the playbook `repair` does."""

from __future__ import annotations

import argparse

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._command.subcommand import (
    Answer,
    Call,
    Subcommand,
    add_check,
    add_networks,
)
from ansible_collections.cni.node.plugins.module_utils._module import repair
from ansible_collections.cni.node.plugins.module_utils._module.call import call


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_check(parser)
    add_networks(parser)


def _run(request: Call) -> Answer:
    options = request.options
    given = {**request.select("cache_dir"), **request.select_with_prefix("repair_")}
    if options.network:
        given["networks"] = options.network
    result = call(repair.repair, repair.ARGUMENTS, given, request.paths, check_mode=options.check)
    entries = result.get("attachments", ())
    remains = any(entry["action"] == "drifted" for entry in entries) or (options.check and result.get("changed"))
    return Answer(result, [result["msg"], *map(_format, entries)], bool(remains or result.get("failed")))


def _format(entry: JsonMapping) -> str:
    """Return the line that the role shows of an attachment."""
    attachment = Attachment(entry["network"], entry["container_id"], entry["ifname"])
    found = f"found: {'; '.join(entry['drift'])}" if entry["drift"] else ""
    return f"{attachment}: {'; '.join(filter(None, (entry['action'], found, entry['reason'])))}"


SUBCOMMAND = Subcommand("repair", "repair what attachments have lost", _add_options, _run)
