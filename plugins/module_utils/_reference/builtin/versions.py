# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The versions of the specification that the built-in plugins support."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._cni import version

# The first version that a plugin supports, if it is not the first of all.
_SINCE = {"bandwidth": "0.3.0", "firewall": "0.4.0", "vrf": "0.3.1"}


def list_versions(plugin_type: str) -> tuple[str, ...]:
    """Return the versions that a built-in plugin supports, lowest first."""
    return version.KNOWN[version.KNOWN.index(_SINCE.get(plugin_type, version.KNOWN[0])) :]
