# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record is compared as a whole, or not at all."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import compare
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

RESULT = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "eth0", "mac": "aa:bb:cc:dd:ee:ff", "sandbox": "/run/netns/blue"}],
    "ips": [{"address": "10.1.0.2/16", "interface": 0}],
}
REFUSED: dict[str, tuple[JsonObject, ...]] = {
    "the maker": ({"type": "bridge", "mtu": -1},),
    "a chained plugin": ({"type": "bridge"}, {"type": "tuning", "mtu": "large"}),
}


@pytest.mark.parametrize("plugins", REFUSED.values(), ids=REFUSED)
def test_a_configuration_that_only_executables_accept_is_not_drift(plugins: tuple[JsonObject, ...]) -> None:
    """Recreating the attachment would not change it."""
    content = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": plugins}).encode()
    attachment = Attachment("net", "blue", "eth0", "/run/netns/blue")
    drift = compare(Record(attachment, content, Result("1.0.0", RESULT)), NodeView())
    assert (drift.is_compared, drift.is_whole, drift.messages) == (False, False, ())
    assert not drift.rules.is_readable
    assert drift.rules.unlisted.startswith("it cannot be compared: attachment ")
    assert "/mtu: " in drift.rules.unlisted
