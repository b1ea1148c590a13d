# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Documentation of the option in which an action plugin names later tasks."""

from __future__ import annotations


class ModuleDocFragment:
    # Kept in step with plugins/module_utils/_module/arguments.py.
    DOCUMENTATION = r"""
options:
  _following:
    description:
      - Later tasks whose results the call may return as well. Only the action plugin sets it.
    type: list
    elements: dict
"""
