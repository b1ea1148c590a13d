# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac, parse_mac

FORMS = ["02:00:5e:10:00:0a", "02-00-5E-10-00-0A", "0200.5e10.000A"]
# Go also accepts those of 8 and 20 bytes, which no link of the plugins can have.
NOT_MACS: list[object] = [
    None, 1, b"02:00:5e:10:00:0a", "", "02005e10000a", "02:00:5e-10:00:0a", "02.00.5e.10.00.0a", "0200:5e10:000a",
    "02:00:5e:10:00", "02:00:5e:10:00:0g", " 02:00:5e:10:00:0a", "02:00:5e:10:00:0a\n", "\u0660\u0662:00:5e:10:00:0a",
    "02:00:5e:10:00:0a:00:01", "0200.5e10.000a.0001",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_a_mac_may_have_colons_hyphens_or_dots(text: str) -> None:
    assert parse_mac(text) == normalize_mac(text) == "02:00:5e:10:00:0a"


@pytest.mark.parametrize("value", NOT_MACS)
def test_a_value_that_go_rejects_is_not_a_mac(value: object) -> None:
    assert parse_mac(value) == ""


def test_a_longer_hardware_address_is_only_put_in_lower_case() -> None:
    address = ":".join(["FE"] * 20)
    assert normalize_mac(address) == address.lower()
    assert normalize_mac(None) == ""
