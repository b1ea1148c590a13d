# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import ipaddress

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_lookup
from ansible_collections.cni.node.plugins.module_utils._linux.links.route_lookup import RouteAnswer

ADDRESS = ipaddress.ip_address("127.0.0.1")


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.EHOSTUNREACH])
def test_an_address_without_a_route_has_no_link(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(route_lookup, "look_up", lambda dummy: RouteAnswer(error=number))
    assert route_lookup.link_to(ADDRESS) is None


def test_a_failed_lookup_is_not_taken_for_a_missing_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_lookup, "look_up", lambda dummy: RouteAnswer(error=errno.ENOBUFS))
    with pytest.raises(CniError, match="cannot get the route to"):
        route_lookup.link_to(ADDRESS)
