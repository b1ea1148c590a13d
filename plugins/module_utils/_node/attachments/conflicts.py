# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._reference.interface_drift import MAKE_INTERFACES


def require_interface_free(known: RecordedState, network: NetworkConfiguration, attachment: Attachment) -> None:
    """Refuse an interface that somebody has (section 2, "ADD").

    That is another attachment of the container, be it only begun; or whoever has made it without a record, where the
    network's first plugin is to make it. An ADD that fails is followed by DEL, and DEL goes by the interface's name: it
    would take away what somebody else has made.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``; ``IO_FAILURE`` for a namespace that cannot be looked into.
    """
    other = known.find_interface_conflict(attachment)
    if other is not None:
        begun = f", whose {other.command} was not completed" if other.command else ""
        what = f"{attachment}: it is the interface of the {other.attachment}{begun}"
        raise _taken(what, "or remove that one first")
    if network.plugins[0].type in MAKE_INTERFACES and rtnetlink.link(attachment.ifname, attachment.netns):
        what = f"{attachment}: {attachment.netns} has an interface of that name, and no record tells whose it is"
        raise _taken(what, "or remove it, if nobody needs it")


def _taken(what: str, otherwise: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, what, f"give the attachment an ifname of its own, {otherwise}")


__all__ = ("require_interface_free",)
