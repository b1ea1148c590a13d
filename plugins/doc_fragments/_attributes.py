# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Documentation of the attributes that modules have in common."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
requirements:
  - python >= 3.9 on the node
attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  action_group:
    description: Use C(group/cni.node.all) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - cni.node.all
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
      - This assumes that the system controlled/queried by the module has not changed in a relevant way.
  platform:
    description: Operating systems of the nodes.
    platforms: linux
    support: full
"""

    # The modules that look for networks, plugins and records.
    ENGINE = r"""
options: {}
attributes:
  action_group:
    description:
      - Use C(group/cni.node.all) or C(group/cni.node.engine) in C(module_defaults) to set defaults for this module.
      - All modules of C(cni.node.engine) have the options O(conf_dir), O(plugin_dirs), O(allow_world_writable_plugins), O(builtin),
        O(cache_dir) and O(timeout).
    support: full
    membership:
      - cni.node.all
      - cni.node.engine
"""

    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This action does not modify state.
  diff_mode:
    support: N/A
    details:
      - This action does not modify state.
  idempotent:
    support: full
"""
