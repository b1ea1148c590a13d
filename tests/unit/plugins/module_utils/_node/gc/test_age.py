# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The age from which on a leak may be removed."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy

FUTURE = "its time is in the future, so that its age is unknown; with min_age 0, it is not kept for that"


@pytest.mark.parametrize(
    ("ago", "reason"),
    [(61, ""), (59, "it is younger than 60 s"), (-59, "it is younger than 60 s"), (-61, FUTURE), (-1e9, FUTURE)],
)
def test_the_reason_to_keep_a_resource_names_its_age(ago: float, reason: str) -> None:
    policy = GcPolicy(60, dry_run=True)
    assert policy.reason_for_age(policy.now - ago) == reason
    assert GcPolicy(0, dry_run=True).reason_for_age(policy.now - ago) == ""
