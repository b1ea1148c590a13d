# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `command`: it refuses unknown variables of a role."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.plugin_utils._role_action import ModuleAction

ActionModule = ModuleAction
