# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.tests.support.error_of import error_of

RELEASED = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


def test_every_released_version_is_known() -> None:
    assert version.KNOWN == RELEASED


@pytest.mark.parametrize("known", RELEASED)
def test_a_known_version_is_used_unchanged(known: str) -> None:
    assert version.require_known(known, "x") == known


def test_a_missing_version_means_the_first_version() -> None:
    assert version.require_known("", "x") == "0.1.0"


@pytest.mark.parametrize("unknown", ["1.2.0", "9.9.9", "1", "1.0", "v1.0.0", "1.0.0 ", "0.3.2", "1.0.0-rc1", "x"])
def test_the_error_of_an_unknown_version_lists_known_ones(unknown: str) -> None:
    error = error_of(version.require_known, unknown, "10-net.conflist: /cniVersion")
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert error.msg.startswith("10-net.conflist: /cniVersion: ")
    assert repr(unknown) in error.msg
    assert all(known in error.details for known in RELEASED)


def test_versions_are_compared_in_the_order_of_their_release() -> None:
    assert all(
        version.at_least(first, second) == (RELEASED.index(first) >= RELEASED.index(second))
        for first, second in itertools.product(RELEASED, repeat=2)
    )


def test_sort_known_drops_unknown_versions_and_duplicates() -> None:
    assert version.sort_known(["1.1.0", "0.4.0", "2.0.0", "1.1.0", "0.3.1"]) == ("0.3.1", "0.4.0", "1.1.0")


@pytest.mark.parametrize("own", RELEASED)
def test_each_operation_exists_since_its_version(own: str) -> None:
    since_0_4_0, since_1_1_0 = own in ("0.4.0", "1.0.0", "1.1.0"), own == "1.1.0"
    assert (version.has_check(own), version.has_prev_result_on_delete(own)) == (since_0_4_0, since_0_4_0)
    assert version.has_gc_and_status(own) == since_1_1_0
