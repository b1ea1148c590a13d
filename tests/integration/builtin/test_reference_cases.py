# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built-in plugins do what release 1.9.1 of the reference plugins was recorded to do, except where they improve on it."""

from __future__ import annotations

import fnmatch
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.builtin.deliberate_differences import (
    Reason,
    is_below,
    list_paths,
    table,
)
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.reference_replay import Replays, case_names

_DOCUMENTATION = pathlib.Path(__file__).resolve().parents[3] / "docs/differences.md"

SAMPLE = ring.sample(case_names(), 2, key=lambda name: name.partition("/")[0])


@pytest.fixture(scope="module")
def replays(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Replays]:
    """Return the runs of the cases whose tests are selected."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    names = [str(item.callspec.params["case"]) for item in items if "replays" in item.fixturenames]
    started = Replays(tmp_path_factory.mktemp("plugins"), names)
    yield started
    started.close()


@pytest.mark.requires_root
@pytest.mark.skipif(
    os.geteuid() != 0 or "CNI_SANDBOX" not in os.environ,
    reason="it changes the node: run it as root, inside tests/support/sandbox",
)
@pytest.mark.parametrize("case", SAMPLE)
def test_a_builtin_plugin_does_what_release_1_9_1_did(replays: Replays, case: str) -> None:
    allowed = list_paths(case)
    differences = replays.differences(case)
    unlisted = [str(found) for found in differences if not any(is_below(found.path, path) for path in allowed)]
    assert not unlisted, "\n".join(unlisted)
    gone = [path for path in allowed if not any(is_below(found.path, path) for found in differences)]
    assert not gone, f"these differences do not occur any more; remove them from the list: {gone}"


def test_each_pattern_of_the_list_matches_a_case() -> None:
    names = case_names()
    assert [pattern for pattern in table() if not fnmatch.filter(names, pattern)] == []


def test_each_reason_is_used_and_is_documented_once() -> None:
    text = _DOCUMENTATION.read_text(encoding="utf-8")
    assert {reason for reasons in table().values() for reason in reasons} == set(Reason)
    assert {reason.name: text.count(f"| {reason.value} |") for reason in Reason} == {
        reason.name: 1 for reason in Reason
    }
