# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built-in plugins do what release 1.9.1 of the reference plugins was recorded to do, except where they improve on it."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.tests.integration.builtin.deliberate_differences import DEFECTS, is_below, listed
from ansible_collections.cni.node.tests.support.reference_replay import Replays, case_names

pytestmark = [pytest.mark.requires_root, pytest.mark.slow]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=[pytest.mark.xfail(strict=True, reason=DEFECTS[name])] if name in DEFECTS else [])
        for name in case_names()
    ],
)
def test_a_builtin_plugin_does_what_release_1_9_1_did(replays: Replays, case: str) -> None:
    allowed = listed(case)
    differences = replays.differences(case)
    unlisted = [str(found) for found in differences if not any(is_below(found.path, path) for path in allowed)]
    assert not unlisted, "\n".join(unlisted)
    gone = [path for path in allowed if not any(is_below(found.path, path) for found in differences)]
    assert not gone, f"these differences do not occur any more; remove them from the list: {gone}"
