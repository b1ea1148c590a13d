# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import typing as t

import pytest

from ansible_collections.cni.node.tests.support.reference_replay import Replays


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that cannot run here; the reason says what to do."""
    if item.get_closest_marker("requires_root") and (os.geteuid() != 0 or "CNI_SANDBOX" not in os.environ):
        pytest.skip("it changes the node: run it as root, inside tests/support/sandbox")


@pytest.fixture(scope="session")
def replays(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Replays]:
    """Return the runs of the cases whose tests are selected."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    names = [str(item.callspec.params["case"]) for item in items if "replays" in item.fixturenames]
    started = Replays(tmp_path_factory.mktemp("plugins"), names)
    yield started
    started.close()
