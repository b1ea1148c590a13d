# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write the firewall rules of an attachment, and remove them again."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit, commit_together
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nftables
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import remove_groups
from ansible_collections.cni.node.plugins.module_utils._reference.rules import (
    firewall_names,
    firewall_removal,
    firewall_repair,
    spoof_checks,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import require_comparison
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    ContainerAddress,
    FirewallPart,
    container_address,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_removal import RuleRemoval


class RulePlugin(Plugin):
    """A plugin with firewall rules, which it describes once for ADD, CHECK, drift and repair."""

    def describe_rules(self, request: PluginRequest, mac: str = "") -> list[FirewallPart]:
        """Return the rules that ADD has written for the container.

        Args:
            request: It has the result of ADD, or that of the plugin before this one.
            mac: The MAC that the container's interface has had since ADD; an empty string if it is not known.

        Raises:
            CniError: The plugin does not accept its configuration, or the result has values that no rule can have.
        """
        raise NotImplementedError


def write(parts: t.Sequence[FirewallPart], undo: Undo) -> None:
    """Write rules; those that are there stay. If the caller fails later, those of this attachment alone are removed.

    Raises:
        CniError: A rule could not be written.
    """
    if parts:
        undo.add(lambda: remove_own(parts))
        _WRITES.submit(parts)


def remove_own(parts: t.Sequence[FirewallPart]) -> None:
    """Remove the rules that belong to an attachment alone, together with those of other threads.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    if parts:
        _UNDOS.submit(parts)


def require(parts: t.Iterable[FirewallPart]) -> None:
    """Raise an error if a rule is missing, for CHECK."""
    wanted = tuple(parts)
    if wanted:
        _CHECKS.submit(wanted)


def container_addresses(interfaces: t.Iterable[IpInterface]) -> list[ContainerAddress]:
    return [container_address(interface) for interface in interfaces]


def remove_masquerading(attachment: Attachment, addresses: frozenset[str] | None) -> None:
    """Remove the rules that masquerade a container's addresses, together with those of other threads.

    Args:
        addresses: The addresses of this attachment; None for all rules of the container in the network.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    _REMOVALS.submit(RuleRemoval(attachment, firewall_removal.MASQUERADE, addresses))


def remove_port_mappings(attachment: Attachment, addresses: frozenset[str] | None) -> None:
    """Remove the rules that map ports to a container; arguments and errors as `remove_masquerading`."""
    _REMOVALS.submit(RuleRemoval(attachment, firewall_removal.PORTS, addresses))


def remove_spoof_checks(attachment: Attachment) -> None:
    """Remove the rules that check the MAC of a container, together with those of other threads.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    owner = firewall_names.spoof_owner(*attachment.key[1:])
    nftables.require_no_chain(firewall_names.SPOOF_TABLE, firewall_names.spoof_chains(owner).__contains__)
    _SPOOF_CHECKS.submit(owner)


def _remove_spoof_checks(owners: t.Sequence[str]) -> dict[int, Exception]:
    """Remove the checks of several containers by their owners, and return the errors by their numbers."""
    view = NodeView(with_handles=True)
    items = {item.owner: [item] for item in spoof_checks.list_owned(view, owners)}
    return remove_groups([items.get(owner, ()) for owner in owners], view)


def _write_missing(groups: t.Sequence[t.Sequence[FirewallPart]]) -> dict[int, Exception]:
    """Write the rules of several attachments together, and return the errors by their numbers."""
    failed = {
        id(part): error for part, error in firewall_repair.write_missing([part for group in groups for part in group])
    }
    errors: dict[int, Exception] = {}
    for number, group in enumerate(groups):
        own = [failed[id(part)] for part in group if id(part) in failed]
        if own:
            errors[number] = own[0]
    return errors


def _remove_own(groups: t.Sequence[t.Sequence[FirewallPart]]) -> dict[int, Exception]:
    """Remove the rules of several attachments, and return the errors by their numbers."""
    return commit_together(lambda own: firewall_repair.remove_own([part for group in own for part in group]), groups)


def _find_missing(groups: t.Sequence[t.Sequence[FirewallPart]]) -> dict[int, Exception]:
    """Compare the rules of several attachments with one listing, and return the errors by their numbers."""
    view = NodeView()
    errors: dict[int, Exception] = {}
    for number, group in enumerate(groups):
        try:
            drifts = [require_comparison(part, view) for part in group]
        except CniError as exc:
            # A runtime that takes this for drift would make the attachment anew, without rules.
            errors[number] = CniError(Code.NOT_AVAILABLE, exc.msg, exc.details)
            continue
        messages = [message for drift in drifts for message in drift.messages]
        if messages:
            errors[number] = refuse(messages[0], "\n".join(messages[1:]))
    return errors


# The rules of all threads that wait are written, removed, or compared with one listing, together.
_WRITES = GroupCommit(_write_missing)
_UNDOS = GroupCommit(_remove_own)
_REMOVALS = GroupCommit(firewall_removal.remove)
_SPOOF_CHECKS = GroupCommit(_remove_spoof_checks)
_CHECKS = GroupCommit(_find_missing)
