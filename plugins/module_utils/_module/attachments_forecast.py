# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Warnings in check mode about containers that would lose their network."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import (
    NETWORK_CHANGED,
    REQUEST_CHANGED,
)
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, AttachmentResult

_SHOWN = 10


def interruptions(runtime: Runtime, networks: ConfDir, outcomes: t.Sequence[AttachmentResult]) -> t.Iterator[str]:
    """Yield warnings about attachments that would lose their network briefly, or keep an old configuration."""
    groups: dict[tuple[str, str], list[Attachment]] = {}
    for outcome in outcomes:
        if outcome.action is Action.RECREATED and outcome.reason in REQUEST_CHANGED:
            groups.setdefault((outcome.attachment.network, outcome.reason), []).append(outcome.attachment)
    listed = {outcome.attachment.key for outcome in outcomes}
    for (name, reason), cut_off in groups.items():
        number = quantity(len(cut_off), "attachment")
        yield f"network {name}: {number} would lose the network for a short time and be recreated: {_names(cut_off)}; {reason}"
        if reason == NETWORK_CHANGED:
            records = runtime.records.read_network(name)[0]
            network = networks.networks[name]
            unlisted = [record for record in records if record.attachment.key not in listed]
            others = [record.attachment for record in unlisted if _differs(record, network)]
            if others:
                yield f"network {name}: attachments that are not listed keep its earlier configuration: {_names(others)}"


def _names(attachments: t.Sequence[Attachment]) -> str:
    shown = ", ".join(f"{shown.container_id} ({shown.ifname})" for shown in attachments[:_SHOWN])
    return f"{shown} and {len(attachments) - _SHOWN} more" if len(attachments) > _SHOWN else shown


def _differs(record: Record, network: NetworkConfiguration) -> bool:
    try:
        return record.network() != network
    except CniError:  # reported elsewhere
        return False
