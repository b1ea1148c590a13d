# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The subcommand `gc`: remove leaks and show the evidence, as the playbook `gc` does."""

from __future__ import annotations

import argparse

from ansible_collections.cni.node.plugins.module_utils._command.subcommand import (
    DIRECTORIES,
    Answer,
    Call,
    Subcommand,
    add_check,
    add_networks,
)
from ansible_collections.cni.node.plugins.module_utils._module import gc
from ansible_collections.cni.node.plugins.module_utils._module.call import call
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import FAILED, KEPT


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_check(parser)
    add_networks(parser)


def _run(request: Call) -> Answer:
    options = request.options
    given = {**request.select(*DIRECTORIES), **request.select_with_prefix("gc_"), "networks": options.network}
    result = call(gc.collect, gc.ARGUMENTS, given, request.paths, check_mode=options.check)
    findings = result.get("findings", ())
    remains = any(options.check or finding["action"] in (KEPT, FAILED) for finding in findings)
    lines = [result["msg"], *(f"{finding['subject']}: {finding['evidence']}" for finding in findings)]
    return Answer(result, lines, bool(remains or result.get("failed")))


SUBCOMMAND = Subcommand("gc", "remove leaks, and show the evidence", _add_options, _run)
