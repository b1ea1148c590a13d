# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.transition import CniResult, Transition
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, DesiredAttachment


class Prediction(Transition):
    """Predicts the result of the changes that were decided (check mode): runs no ADD and no DEL, and writes nothing."""

    def _attach(self, network: NetworkConfiguration, *, again: bool) -> None:
        try:
            self._runtime.require_plugins(network)
        except UnsafePlugin:
            raise
        except CniError as exc:
            self._note_missing(exc)

    def _detach(self, record: Record, successor: DesiredAttachment | None, *, is_name_needed: bool) -> None:
        """Raise what would prevent DEL from removing the attachment's link."""
        from ansible_collections.cni.node.plugins.module_utils._node.attachments.recorded_link import prepare

        prepare(record, is_name_needed=is_name_needed or successor is not None)

    def _remove(self, record: Record, replacement: DesiredAttachment | None) -> Action:
        action = super()._remove(record, replacement)
        self._prerequisites.state.removed.add(record.attachment.key)
        return action

    def _restore(self, record: Record) -> CniResult | None:
        return None

    def _update_record(self, record: Record) -> None:
        pass

    def _require_possible(self, desired: DesiredAttachment) -> None:
        self._prerequisites.require_values(desired)  # another task may be about to install plugins

    def _note_missing(self, error: CniError) -> None:
        self._missing = error


__all__ = ("Prediction",)
