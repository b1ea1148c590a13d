# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import read_removed_attachments

BLUE = {"network": "net", "container_id": "blue", "ifname": "eth0"}


def test_only_removed_attachments_of_a_result_are_read() -> None:
    entries: list[JsonObject] = [
        {**BLUE, "action": "removed"},
        {**BLUE, "container_id": "red", "action": "unchanged"},
        {**BLUE, "container_id": "green", "action": None},
        {},
    ]
    assert read_removed_attachments(entries) == {("net", "blue", "eth0")}


@pytest.mark.parametrize("key", BLUE)
def test_an_entry_that_identifies_no_attachment_is_refused(key: str) -> None:
    with pytest.raises(CniError):
        read_removed_attachments([{**BLUE, key: None, "action": "removed"}])
