# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that redirect traffic, as the kernel lists them. Tests that make filters are in tests/integration."""

from __future__ import annotations

import struct
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.links import qdiscs
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import Connection, attribute

KIND, OPTIONS = 1, 2
EGRESS_REDIRECT, EGRESS_MIRROR = 1, 2
# The kinds of filters, and their attribute with the actions: linux/pkt_cls.h.
FILTERS = {"u32": 7, "matchall": 2, "flower": 3, "basic": 3, "bpf": 1, "fw": 4, "cgroup": 1, "flow": 9, "route": 6}
# Kernels before 6.3 have these, too.
FILTERS |= {"rsvp": 6, "rsvp6": 6, "tcindex": 7}


def _action(kind: str, direction: int, ifindex: int) -> bytes:
    parameters = attribute(2, struct.pack("=20xiI", direction, ifindex))
    return attribute(KIND, kind.encode() + b"\0") + attribute(OPTIONS, parameters)


def _filter(kind: str, actions: int, *listed: bytes) -> bytes:
    numbered = b"".join(attribute(number, action) for number, action in enumerate(listed, 1))
    options = attribute(OPTIONS, attribute(actions, numbered)) if listed else b""
    return bytes(20) + attribute(KIND, kind.encode() + b"\0") + options


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., None]:
    """Return a function with which the kernel lists filters."""

    def make(*filters: bytes) -> None:
        monkeypatch.setattr(Connection, "dump", lambda self, kind, body: [(each, 0, len(each)) for each in filters])

    return make


@pytest.mark.parametrize(("kind", "actions"), FILTERS.items(), ids=FILTERS)
def test_a_filter_of_each_kind_may_redirect(kernel: t.Callable[..., None], kind: str, actions: int) -> None:
    kernel(_filter(kind, actions, _action("gact", 0, 5), _action("mirred", EGRESS_REDIRECT, 7)))
    assert qdiscs.redirects(1) == {7}


def test_other_filters_and_actions_redirect_nothing(kernel: t.Callable[..., None]) -> None:
    kernel(
        _filter("u32", 7),
        _filter("unknown", 7, _action("mirred", EGRESS_REDIRECT, 7)),
        _filter("u32", 7, _action("mirred", EGRESS_MIRROR, 7)),
    )
    assert qdiscs.redirects(1) == set()
