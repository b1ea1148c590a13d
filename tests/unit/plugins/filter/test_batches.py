# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.batches import batches


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, ["25%"]),
        ("", ["25%"]),
        (2, [2]),
        ("2", ["2"]),
        ("50%", ["50%"]),
        ("1\n25%", ["1", "25%"]),
        ([1, "5%"], [1, "5%"]),
        (-1, [-1]),
    ],
)
def test_numbers_and_percentages_are_read(given: object, read: object) -> None:
    assert batches(given, "25%") == read


@pytest.mark.parametrize("given", ["abc", "x%", "5.5%", {"a": 1}, ["1", "many"], 2.5])
def test_what_ansible_cannot_read_is_refused_with_the_variable(given: object) -> None:
    with pytest.raises(AnsibleFilterError, match=r"cni_node_serial of a playbook\): .*; expected: a number"):
        batches(given)
