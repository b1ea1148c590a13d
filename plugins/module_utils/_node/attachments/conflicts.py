# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue


def require_interface_free(state: RecordedState, network: NetworkConfiguration, attachment: Attachment) -> None:
    """Require that no other attachment and no unrecorded link has the interface (section 2, "ADD").

    A link counts only if the network's first plugin makes one. DEL follows a failed ADD and finds the link by its name:
    it would remove a link that belongs to something else.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``; ``IO_FAILURE`` for a network namespace that cannot be read.
    """
    other = find_interface_conflict(state, attachment)
    if other is not None:
        begun = f", whose {other.command} was not completed" if other.command else ""
        what = f"{attachment}: its interface belongs to the {other.attachment}{begun}"
        raise _conflict(what, "or remove the other attachment first")
    if catalogue.row(network.plugins[0].type).makes_interface and rtnetlink.link(attachment.ifname, attachment.netns):
        what = f"{attachment}: {attachment.netns} already has an interface of that name, which no record lists"
        raise _conflict(what, "or remove the interface if it is not in use")


def find_interface_conflict(state: RecordedState, attachment: Attachment) -> Record | None:
    """Return the record or intent of another network's attachment with the same interface, or None.

    An intent of a concurrent run is found only if the conf dir has a configuration of its network.
    """
    for store in (state.runtime.records, state.runtime.intents):
        for record in store.read_interface(attachment, state.conf_dir.networks):
            if record.attachment.network != attachment.network and state.may_be_attached(record):
                return record
    return None


def _conflict(what: str, alternative: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, what, f"give the attachment another ifname, {alternative}")


__all__ = ("find_interface_conflict", "require_interface_free")
