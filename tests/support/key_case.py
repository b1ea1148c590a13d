# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the keys of a configuration in another case."""

from __future__ import annotations

import typing as t

# Names of capabilities and of settings are not keys of the plugin; the engine reads `type` as written.
_NAMES = ("capabilities", "sysctl")
_EXACT = ("type", "capabilities", "cniVersion", "name")


def in_other_case(value: t.Any) -> t.Any:
    """Return a plugin's configuration with its keys, however deep, in capitals."""
    if isinstance(value, list):
        return [in_other_case(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key if key in _EXACT else key.upper(): entry if key in _NAMES else in_other_case(entry)
        for key, entry in value.items()
    }
