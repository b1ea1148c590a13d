# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The keys of options and results that only action plugins and modules exchange."""

from __future__ import annotations

# What only the controller knows: the state between the calls of one task, or the sources of plugins that it has.
CONTROLLER_KEY = "_controller"
# Later tasks whose results a call may return as well, and these results.
FOLLOWING_KEY = "_following"
ANSWERS_KEY = "cni_node_answers"
# The files of networks, for the levels of findings that the controller checks, and what `gather` calls findings.
CONFIGURATIONS_KEY = "configurations"
FINDINGS = "findings"
