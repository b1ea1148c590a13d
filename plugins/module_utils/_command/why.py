# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The subcommand `why`: find out why one address does not reach another, as the playbook `diagnose` does."""

from __future__ import annotations

import argparse

from ansible_collections.cni.node.plugins.module_utils._command.subcommand import Answer, Call, Subcommand, add_check
from ansible_collections.cni.node.plugins.module_utils._module import diagnose
from ansible_collections.cni.node.plugins.module_utils._module.call import call


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="node, a container or network namespace, or an address")
    parser.add_argument(
        "destination", metavar="TO", help="an address or a container, with :PORT and /PROTOCOL if needed"
    )
    add_check(parser)


def _run(request: Call) -> Answer:
    options = request.options
    given = {**request.select("cache_dir"), "from": options.source, "to": options.destination}
    result = call(diagnose.diagnose, diagnose.ARGUMENTS, given, request.paths, check_mode=options.check)
    return Answer(result, result.get("lines", ()), "broken" in result)


SUBCOMMAND = Subcommand("why", "find out why one address does not reach another", _add_options, _run)
