# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_state import RecordedState
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import require_no_panic

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.host_ports import HostPorts

LookUp = t.Callable[[DesiredAttachment], DesiredAttachment]


@dataclasses.dataclass
class Prerequisites:
    """Checks the prerequisites of ADD before anything is changed. Modules that few attachments need are loaded on demand.

    Attributes:
        listed: All attachments of the task, whose host ports must not conflict; None to check no ports.
        look_up: Returns a desired attachment with its network, or with `problem` or `missing`; raises if it is invalid.
    """

    state: RecordedState
    policy: Policy
    listed: t.Sequence[DesiredAttachment] | None
    look_up: LookUp
    _ports: HostPorts | None = None
    _reading_ports: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def look_up_replacement(self, replacement: DesiredAttachment) -> DesiredAttachment:
        """Return a replacement with its network; the network is None only in a dry run.

        Raises:
            CniError: It cannot be added.
        """
        replacement = self.look_up(replacement)
        obstacle = replacement.problem or (None if self.policy.dry_run else replacement.missing)
        if obstacle is not None:
            raise obstacle
        return replacement

    def require_values(self, desired: DesiredAttachment) -> None:
        """Require that the network's plugins can decode the values given for an attachment."""
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

    def require_interface_free(self, desired: DesiredAttachment, handle: t.Callable[[CniError], None]) -> None:
        """Pass the error of `conflicts.require_interface_free` to a handler."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments import conflicts

        if desired.network is None:
            return
        try:
            conflicts.require_interface_free(self.state, desired.network, desired.attachment)
        except CniError as exc:
            handle(exc)

    def require_free_ports(self, desired: DesiredAttachment, record: Record | None) -> CniError | None:
        """Require that the host ports to map are free; return an error for those in use that the policy allows to map.

        Args:
            record: The attachment's record, if any. Ports that it maps already are no conflict.

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


__all__ = ("Prerequisites",)
