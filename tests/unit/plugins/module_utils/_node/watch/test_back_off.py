# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resources that are removed again and again are repaired less and less often."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.watch.back_off import BackOff


def test_the_third_repair_within_a_minute_is_followed_by_a_pause() -> None:
    back_off: BackOff[str] = BackOff()
    assert [back_off.note_repair("rules", now) for now in (0.0, 10.0, 20.0)] == [0, 0, 10]
    assert back_off.list_held() == ["rules"]
    assert back_off.next_release() == 30


def test_repairs_that_are_far_apart_are_not_counted_together() -> None:
    back_off: BackOff[str] = BackOff()
    assert [back_off.note_repair("rules", 31.0 * place) for place in range(10)] == [0] * 10


def test_the_pause_doubles_up_to_ten_minutes() -> None:
    back_off: BackOff[str] = BackOff()
    now, delays = 0.0, []
    for _repair in range(12):
        delays.append(back_off.note_repair("rules", now))
        now = (back_off.next_release() or now) + 1
        back_off.release(now)
    assert delays == [0, 0, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600]


def test_nothing_is_held_after_a_comparison_that_begins_at_the_end_of_the_pause() -> None:
    back_off: BackOff[str] = BackOff()
    for now in (0.0, 1.0, 2.0):
        back_off.note_repair("rules", now)
    back_off.release(11.9)
    assert back_off.list_held() == ["rules"]
    back_off.release(12.0)
    assert (back_off.list_held(), back_off.next_release()) == ([], None)


@pytest.mark.parametrize(("calm", "delay"), [(59.0, 20.0), (61.0, 0.0)])
def test_a_pause_is_forgotten_after_a_calm_minute(calm: float, delay: float) -> None:
    back_off: BackOff[str] = BackOff()
    for now in (0.0, 1.0, 2.0):
        back_off.note_repair("rules", now)
    back_off.release(12.0)
    assert back_off.note_repair("rules", 12.0 + calm) == delay


def test_items_are_independent() -> None:
    back_off: BackOff[str] = BackOff()
    for now in (0.0, 1.0, 2.0):
        back_off.note_repair("rules", now)
    assert back_off.note_repair("interfaces", 3.0) == 0
    assert back_off.list_held() == ["rules"]


def test_only_what_was_repaired_lately_is_remembered() -> None:
    back_off: BackOff[int] = BackOff()
    for item in range(1000):
        back_off.note_repair(item, float(item))
    assert len(back_off._histories) <= 61
