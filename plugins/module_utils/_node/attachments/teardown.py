# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run DEL, and remove what plugins leave behind."""

from __future__ import annotations

import functools

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import prepare, remove_host_end
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import (
    is_input_rejection,
    should_repeat_del,
)


def detach(
    runtime: Runtime,
    networks: ConfDir,
    record: Record,
    successor: DesiredAttachment | None,
    *,
    is_name_needed: bool = False,
) -> None:
    """Run DEL, and repeat it if a leak or a missing resource made it fail.

    If a plugin rejects the values of an interrupted operation, DEL gets the current ones. A renamed link gets its recorded
    name again first: otherwise DEL would free its address and keep the link.

    Args:
        successor: The attachment to add in its place.
        is_name_needed: Whether another attachment needs the interface's name.

    Raises:
        CniError: DEL failed, a rule that it leaks cannot be removed, or another link has the name.
    """
    records = AllRecords(runtime.records, runtime.paths.state_dir)
    record = prepare(record, records, is_name_needed=is_name_needed or successor is not None).carry_out()
    try:
        _delete(runtime, record, successor)
    except CniError as exc:
        if not record.command:
            raise
        updated = _with_current_values(runtime, networks, record, successor)
        if updated == record or not is_input_rejection(exc):
            raise _with_advice(runtime, record, exc) from exc
        try:
            _delete(runtime, updated, successor)
        except CniError as second:
            detail = f"DEL with the current configuration and arguments failed too: {second}"
            raise _with_advice(runtime, record, exc.with_detail(detail)) from second


def clean_up(runtime: Runtime, record: Record, error: CniError | None) -> bool:
    """Remove the veth pair, rules and files that DEL leaks; return whether a DEL that failed may succeed now.

    Raises:
        CniError: A leak cannot be removed.
    """
    # A run without a DEL does not load them.
    from ansible_collections.cni.node.plugins.module_utils._node.attachments import del_leaks

    if error is None:
        remove_host_end(record, AllRecords(runtime.records, runtime.paths.state_dir))
    removed = del_leaks.remove_del_leaks(record, runtime.records, runtime.paths, is_deleted=error is None)
    return bool(removed) or (error is not None and should_repeat_del(error))


def _delete(runtime: Runtime, record: Record, successor: DesiredAttachment | None) -> None:
    restoration = successor.restoration if successor else None
    runtime.delete(record, restoration, functools.partial(clean_up, runtime, record))


def _with_current_values(
    runtime: Runtime, networks: ConfDir, record: Record, successor: DesiredAttachment | None
) -> Record:
    """Return the record with the network's current configuration, if any, and with the successor's arguments, if any."""
    values = successor.attachment if successor else Attachment(*record.attachment.key)
    attachment = record.attachment._replace(
        args=values.args, capability_args=values.capability_args, config_args=values.config_args
    )
    network = networks.networks.get(attachment.network)
    if network is None:
        return record._replace(attachment=attachment)
    version = runtime.versions.select(network)
    return record._replace(attachment=attachment, config=network.content, version=version)


def _with_advice(runtime: Runtime, record: Record, error: CniError) -> CniError:
    path = runtime.intents.path_of(record.attachment.key)
    return error.with_detail(
        f"{path} records the operation; if DEL can never succeed, remove what is left of the attachment, then this file"
    )
