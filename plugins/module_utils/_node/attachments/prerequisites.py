# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check what ADD requires before anything is changed: valid values, a free interface, free ports."""

from __future__ import annotations

import dataclasses
import functools
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import require_no_panic

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.host_ports import HostPorts
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.acceptance import Acceptance

LookUp = t.Callable[[DesiredAttachment], DesiredAttachment]


@dataclasses.dataclass
class Prerequisites:
    """Checks the prerequisites of ADD before anything is changed. Modules that few attachments need are loaded on demand.

    Attributes:
        listed: All attachments of the task, whose interfaces and host ports must not conflict; None to compare none.
        look_up: Returns a desired attachment with its network, or with `problem` or `missing`; raises if it is invalid.
    """

    state: RecordedState
    policy: Policy
    listed: t.Sequence[DesiredAttachment] | None
    look_up: LookUp
    _ports: HostPorts | None = None
    _reading_ports: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    _acceptance: Acceptance | None = None

    def look_up_replacement(self, replacement: DesiredAttachment) -> DesiredAttachment:
        """Return a replacement with its network; the network is None only in a dry run.

        Raises:
            CniError: The replacement cannot be added.
        """
        replacement = self.look_up(replacement)
        obstacle = replacement.problem or (None if self.policy.dry_run else replacement.missing)
        if obstacle is not None:
            raise obstacle
        return replacement

    def require_values(self, desired: DesiredAttachment) -> None:
        """Require that the network's plugins can decode the values given for an attachment, and accept their configuration.

        Raises:
            CniError: ``INVALID_CONFIG``; or the error of a built-in plugin.
        """
        network, attachment = desired.network, desired.attachment
        if network is None:
            return
        if attachment.capability_args:
            from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import check_capability_args

            check_capability_args(network, attachment.capability_args)
        if attachment.config_args:
            from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import check_config_args

            check_config_args(attachment.config_args)
        require_no_panic(network, attachment.config_args)
        self._require_accepted(network, attachment)

    def _require_accepted(self, network: NetworkConfiguration, attachment: Attachment) -> None:
        """Require that built-in plugins accept their requests."""
        runtime = self.state.runtime
        try:
            version = runtime.versions.select(network)
        except CniError:  # reported by ADD; another task may be about to install plugins
            return
        if self._acceptance is None:
            from ansible_collections.cni.node.plugins.module_utils._reference.builtin.acceptance import Acceptance

            self._acceptance = Acceptance(runtime.executor)
        self._acceptance.require(network, version, attachment)

    def require_interface_free(self, desired: DesiredAttachment, handle: t.Callable[[CniError], None]) -> None:
        """Require that no other attachment and no unrecorded link has the interface (section 2, "ADD").

        Links are checked only if the network's first plugin makes one. The DEL after a failed ADD finds the link by its
        name, and would remove a link that belongs to something else.

        Args:
            handle: Gets an error that another task may still resolve: the attachment is then removed, or the network namespace made.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``: an unrecorded link has the interface, or the task requests it twice.
        """
        if desired.network is None:
            return
        attachment = desired.attachment
        other = find_interface_conflict(self.state, attachment)
        if other is not None:
            begun = f", whose {other.command} was not completed" if other.command else ""
            what = f"{attachment}: its interface belongs to the {other.attachment}{begun}"
            handle(_conflict(what, "or remove the other attachment first"))
        elif _makes_interface(desired.network):
            self._require_requested_once(attachment)
            try:
                link = rtnetlink.link(attachment.ifname, attachment.netns)
            except CniError as exc:
                handle(exc)
                return
            if link is not None and not _is_predicted_to_leave(self.state, attachment):
                what = f"{attachment}: {attachment.netns} already has an interface of that name, which no record lists"
                raise _conflict(what, "or remove the interface if it is not in use")

    def _require_requested_once(self, attachment: Attachment) -> None:
        """Require that the task requests an interface of a network namespace for one attachment, whichever containers it names."""
        for other in self._requested.get((attachment.netns, attachment.ifname), ()):
            network = self.state.conf_dir.networks.get(other.network)
            if other.key != attachment.key and network is not None and _makes_interface(network):
                what = f"{attachment}: its interface in {attachment.netns} is requested for the {other} as well"
                raise _conflict(what, "or remove one of the two")

    @functools.cached_property
    def _requested(self) -> dict[tuple[str, str], list[Attachment]]:
        """The attachments that the task requests, by network namespace and interface."""
        requested: dict[tuple[str, str], list[Attachment]] = {}
        for attachment in (desired.attachment for desired in self.listed or () if desired.present):
            requested.setdefault((attachment.netns, attachment.ifname), []).append(attachment)
        return requested

    def require_free_ports(self, desired: DesiredAttachment, record: Record | None) -> CniError | None:
        """Require that the host ports to map are free; return an error for those in use that the policy allows to map.

        Args:
            record: The attachment's record, if any. Ports that it maps already are not a conflict.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``.
        """
        attachment = desired.attachment
        network = desired.network or self.state.conf_dir.networks.get(attachment.network)
        if network is None or self.listed is None or not attachment.capability_args.get("portMappings"):
            return None
        mapped, in_use = self._host_ports(self.listed).find_conflicts(network, attachment, record)
        conflict = mapped or (None if self.policy.allow_ports_in_use else in_use)
        if conflict is not None:
            raise conflict
        return in_use

    def _host_ports(self, listed: t.Sequence[DesiredAttachment]) -> HostPorts:
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.host_ports import HostPorts

        with self._reading_ports:
            self._ports = self._ports or HostPorts(self.state.runtime, self.state.conf_dir, listed)
        return self._ports


def _makes_interface(network: NetworkConfiguration) -> bool:
    return catalogue.find_plugin_type(network.plugins[0].type).makes_interface


def find_interface_conflict(state: RecordedState, attachment: Attachment) -> Record | None:
    """Return the record or intent of another network's attachment with the same interface, or None.

    An intent of a concurrent run is found only if the conf dir has a configuration of its network.
    """
    others = (record for record in _list_others(state, attachment) if state.may_be_attached(record))
    return next(others, None)


def _is_predicted_to_leave(state: RecordedState, attachment: Attachment) -> bool:
    """Return whether a dry run would have removed the interface, with another network's attachment."""
    return any(record.attachment.key in state.removed for record in _list_others(state, attachment))


def _list_others(state: RecordedState, attachment: Attachment) -> t.Iterator[Record]:
    """Yield the records and intents of other networks' attachments with the same interface."""
    for store in (state.runtime.records, state.runtime.intents):
        for record in store.read_interface(attachment, state.conf_dir.networks):
            if record.attachment.network != attachment.network:
                yield record


def _conflict(what: str, alternative: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, what, f"give the attachment another ifname, {alternative}")
