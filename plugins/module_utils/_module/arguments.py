# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

Spec = dict[str, dict[str, t.Any]]

# Kept in step with plugins/doc_fragments/_paths.py.
CONF_DIR: t.Final[Spec] = {"conf_dir": {"type": "path", "default": "/etc/cni/net.d"}}
PLUGIN_DIRS: t.Final[Spec] = {
    "plugin_dirs": {
        "type": "list",
        "elements": "path",
        "default": ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"],
    },
    "allow_world_writable_plugins": {"type": "bool", "default": False},
}
CACHE_DIR: t.Final[Spec] = {"cache_dir": {"type": "path", "default": "/var/lib/cni"}}
TIMEOUT: t.Final[Spec] = {"timeout": {"type": "float", "default": 60.0}}


def positive(name: str, value: float) -> float:
    """Return a number of seconds or workers if it is one to work with.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not 0 < value < float("inf"):
        raise CniError(Code.INVALID_CONFIG, f"{name}: {value:g}", "expected: a number above 0")
    return value


__all__ = ("CACHE_DIR", "CONF_DIR", "PLUGIN_DIRS", "TIMEOUT", "Spec", "positive")
