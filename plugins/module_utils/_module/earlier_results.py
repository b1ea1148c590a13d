# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key

REMOVED: t.Final = "removed"


def read_removed_attachments(entries: t.Iterable[t.Mapping[str, t.Any]]) -> frozenset[Key]:
    """Return the attachments that an earlier task removed, or would remove in check mode, read from its result.

    Raises:
        CniError: ``INVALID_CONFIG`` or ``INVALID_ENVIRONMENT``: an entry does not identify an attachment.
    """
    return frozenset(_key(entry) for entry in entries if entry.get("action") == REMOVED)


def _key(entry: t.Mapping[str, t.Any]) -> Key:
    network, container_id, ifname = (str(entry.get(name) or "") for name in ("network", "container_id", "ifname"))
    return Attachment(network, container_id, ifname).require_identity().key


__all__ = ("REMOVED", "read_removed_attachments")
