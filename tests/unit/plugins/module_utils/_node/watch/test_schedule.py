# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When attachments are compared, with a clock that the tests set."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.watch.back_off import BackOff
from ansible_collections.cni.node.plugins.module_utils._node.watch.schedule import Schedule


@pytest.fixture
def back_off() -> BackOff[str]:
    return BackOff()


@pytest.fixture
def schedule(back_off: BackOff[str]) -> Schedule:
    return Schedule(back_off, 0.0)


def compare(schedule: Schedule, now: float, *, cost: float = 0.2, repaired: bool = False, failed: bool = False) -> None:
    schedule.start(now)
    schedule.end(now, cost, has_repaired=repaired, has_failed=failed)


def test_nothing_is_due_without_a_change(schedule: Schedule) -> None:
    assert schedule.due() is None
    compare(schedule, 1.0)
    assert schedule.due() is None


def test_a_change_is_due_when_it_has_settled(schedule: Schedule) -> None:
    schedule.note_change(10.0)
    assert schedule.due() == pytest.approx(10.3)
    schedule.note_change(10.2)
    assert schedule.due() == pytest.approx(10.5)


def test_changes_without_end_are_due_after_a_second(schedule: Schedule) -> None:
    for step in range(100):
        schedule.note_change(10 + step / 10)
    assert schedule.due() == pytest.approx(11)


def test_a_comparison_that_has_repaired_something_is_followed_by_another(schedule: Schedule) -> None:
    schedule.note_change(10.0)
    compare(schedule, 11.0, repaired=True)
    assert schedule.due() == pytest.approx(11.3)
    compare(schedule, 11.3)
    assert schedule.due() is None


def test_changes_during_a_comparison_are_compared_afterwards(schedule: Schedule) -> None:
    schedule.start(10.0)
    schedule.note_change(10.1)
    schedule.end(10.5, 0.2, has_repaired=False, has_failed=False)
    assert (schedule.due() or 0) <= 10.5


def test_changes_without_end_that_cost_nothing_take_a_twentieth_of_a_processor(schedule: Schedule) -> None:
    now, spent = 0.0, 0.0
    while now < 1000:
        schedule.note_change(now)
        now = max(now + 0.1, schedule.due() or 0.0)
        compare(schedule, now)
        spent += 0.2
    assert spent < 0.05 * now + 1.2


def test_the_budget_recovers(schedule: Schedule) -> None:
    for now in range(10):
        schedule.note_change(float(now))
        compare(schedule, float(now))
    schedule.note_change(10.0)
    assert schedule.due() == pytest.approx(19.0)
    schedule.start(100.0)
    schedule.note_change(100.0)
    assert schedule.due() == pytest.approx(100.3)


def test_four_comparisons_of_many_attachments_need_not_wait(schedule: Schedule) -> None:
    for now in range(10, 14):
        schedule.note_change(float(now))
        assert schedule.due() == pytest.approx(now + 0.3)
        compare(schedule, now + 0.3, cost=0.5)
    schedule.note_change(14.0)
    assert (schedule.due() or 0) > 20


def test_a_loss_waits_ten_seconds_at_most_on_a_slow_node(schedule: Schedule) -> None:
    now = 0.0
    for attempt in range(10):
        schedule.note_change(now)
        due = schedule.due() or 0.0
        assert due - now == pytest.approx(0.3) if attempt < 4 else due - now <= 10.1
        now = due
        compare(schedule, now, cost=9)


def test_a_repair_costs_nothing_of_the_budget(schedule: Schedule) -> None:
    for now in range(10):
        compare(schedule, float(now), cost=5, repaired=True)
    schedule.note_change(9.0)
    assert schedule.due() == pytest.approx(9.3)


def test_a_failure_is_tried_again_less_and_less_often(schedule: Schedule) -> None:
    now, waits = 100.0, []
    for _attempt in range(12):
        compare(schedule, now, failed=True)
        waits.append((schedule.due() or 0) - now)
        now = schedule.due() or 0
    assert waits == pytest.approx([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600])
    compare(schedule, now)
    assert schedule.due() is None
    compare(schedule, now, failed=True)
    assert schedule.due() == pytest.approx(now + 1)


def test_the_end_of_a_pause_is_due(schedule: Schedule, back_off: BackOff[str]) -> None:
    for now in (0.0, 1.0, 2.0):
        back_off.note_repair("rules", now)
    assert schedule.due() == 12
    compare(schedule, 12.0)
    assert schedule.due() is None
