# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The VLANs of a container in the configuration of bridge."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse

_LAST = 4094
# The access VLAN of a port that has tagged VLANs and no configured access VLAN.
_NATIVE = 1


class VlanConfig(t.NamedTuple):
    """The VLANs of a container on its bridge.

    Attributes:
        vlan: The configured access VLAN, or 0.
        trunk: The VLANs of ``vlanTrunk``, in order.
        has_trunk: Whether ``vlanTrunk`` is there, even if it is empty: the bridge then filters VLANs.
        leaves_default: Whether the port is taken out of the bridge's default VLAN.
    """

    vlan: int
    trunk: tuple[int, ...]
    has_trunk: bool
    leaves_default: bool

    @property
    def access(self) -> int:
        """The access VLAN of the container's port, or 0 if it is that of every port."""
        return self.vlan or (_NATIVE if self.trunk else 0)

    @property
    def tagged(self) -> tuple[int, ...]:
        """The tagged VLANs of the container's port. The access VLAN has no tags, even if it is in the trunk."""
        return tuple(vlan for vlan in self.trunk if vlan != self.access)

    @property
    def is_filtered(self) -> bool:
        """Return whether the bridge keeps VLANs apart."""
        return bool(self.vlan or self.has_trunk)


def read_vlans(keys: Keys) -> VlanConfig:
    """Return the VLANs of a configuration of bridge.

    Raises:
        CniError: A number is not a VLAN, or a range is not complete.
    """
    vlan, trunk = _read_vlan(keys, "vlan"), _read_trunk(keys)
    # By default, the port leaves it, although the documentation of the plugin says otherwise.
    leaves_default = bool(vlan or trunk) and not keys.flag("preserveDefaultVlan")
    return VlanConfig(vlan, trunk, "vlanTrunk" in keys, leaves_default)


def _read_vlan(keys: Keys, key: str, first: int = 0) -> int:
    number = keys.integer(key)
    if not first <= number <= _LAST:
        raise refuse(f"{keys.pointer(key)}: {number} is not a VLAN", f"expected: {first} to {_LAST}")
    return number


def _read_trunk(keys: Keys) -> tuple[int, ...]:
    vlans: set[int] = set()
    for item in keys.sections("vlanTrunk"):
        ends = [key for key in ("minID", "maxID") if key in item]
        if len(ends) == 1:
            raise refuse(f"{item.path}: only {ends[0]} is set", "expected: both minID and maxID, or id")
        if ends:
            first, last = (_read_vlan(item, key, 1) for key in ends)
            if first > last:
                raise refuse(f"{item.path}: minID {first} is greater than maxID {last}")
            vlans.update(range(first, last + 1))
        if "id" in item:
            vlans.add(_read_vlan(item, "id", 1))
    return tuple(sorted(vlans))
