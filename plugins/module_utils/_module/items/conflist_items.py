# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The items of the option `conflists`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import config

# Kept in step with plugins/doc_fragments/_conflist_items.py.
CONFLISTS: t.Final[dict[str, dict[str, t.Any]]] = {
    "conflists": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "config": {"type": "dict"},
            "template": {"type": "path"},
            "vars": {"type": "dict", "default": {}},
            "content": {"type": "str"},
            "name": {"type": "str"},
            "priority": {"type": "int", "default": 10},
            "filename": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        "mutually_exclusive": [("config", "template", "content")],
        "required_if": [
            ("state", "present", ("config", "template", "content"), True),
            ("state", "absent", ("name", "filename"), True),
        ],
    }
}

# The results of the module conflists as an option of other modules.
RETURNED: t.Final[dict[str, t.Any]] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "network": {"type": "str"},
        "path": {"type": "path", "required": True},
        "action": {"type": "str", "required": True, "choices": ["created", "changed", "removed", "unchanged"]},
        "content": {"type": "str"},
    },
}
PLANNED: t.Final[dict[str, dict[str, t.Any]]] = {"planned_conflists": RETURNED}


def content_of(item: t.Mapping[str, t.Any], where: str) -> bytes | None:
    """Return the JSON text of an item, or None for state absent.

    Raises:
        CniError: ``INVALID_CONFIG``: the configuration cannot be represented in JSON; ``INTERNAL``.
    """
    if item["state"] != "present":
        return None
    if item["template"]:
        raise CniError(
            Code.INTERNAL,
            f"{where}: the template was not rendered",
            "the action plugin on the controller must render it",
        )
    if item["config"] is not None:
        return config.encode(item["config"])
    return t.cast(str, item["content"]).encode("utf-8", "surrogateescape")
