# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes of one link are sent to the kernel together, and an error names the change that failed."""

from __future__ import annotations

import ipaddress
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer, netlink, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root]

ADDRESS = ipaddress.ip_interface("10.1.0.2/24")
BEYOND = ipaddress.ip_network("10.9.0.0/16")
REACHED, UNREACHED = ipaddress.ip_address("10.1.0.1"), ipaddress.ip_address("10.2.0.1")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the batches that are sent, and 1 for each change that is sent alone."""
    sizes: list[int] = []
    change, change_all = netlink.Connection.change, netlink.Connection.change_all

    def note(connection: netlink.Connection, *request: t.Any) -> None:
        sizes.append(1)
        change(connection, *request)

    def note_all(connection: netlink.Connection, requests: t.Sequence[t.Any]) -> list[OSError | None]:
        sizes.append(len(requests))
        return change_all(connection, requests)

    monkeypatch.setattr(netlink.Connection, "change", note)
    monkeypatch.setattr(netlink.Connection, "change_all", note_all)
    return sizes


def test_changes_of_a_batch_are_sent_together_and_made_in_their_order(blue: Namespace, sent: list[int]) -> None:
    with kernel_writer.connect(str(blue.path)) as writer:
        loopback = rtnetlink.link("lo", str(blue.path))
        assert loopback is not None
        with writer.batch():
            writer.set_up(loopback.ifindex)
            for dummy in range(2):  # the second one is there already, which is not an error
                writer.add_address(loopback.ifindex, ADDRESS)
            writer.add_route(loopback.ifindex, BEYOND, MAIN_TABLE, replace=False, gateway=REACHED)
        with writer.batch():
            pass
        with writer.batch():
            for number in range(100):
                writer.add_address(loopback.ifindex, ADDRESS + 256 * number)
        assert sent == [4, 64, 36]
    found = rtnetlink.snapshot(str(blue.path))
    assert ADDRESS in [address.interface for address in found.addresses]
    assert len(found.addresses) > 100
    assert BEYOND in [route.destination for route in found.routes]


def test_the_error_of_a_batch_comes_from_the_first_change_that_failed(blue: Namespace) -> None:
    with kernel_writer.connect(str(blue.path)) as writer:
        loopback = rtnetlink.link("lo", str(blue.path))
        assert loopback is not None

        def configure() -> None:
            with writer.batch():
                writer.set_up(loopback.ifindex)
                writer.add_route(loopback.ifindex, BEYOND, MAIN_TABLE, replace=False, gateway=UNREACHED)
                writer.add_route(999, BEYOND, MAIN_TABLE, replace=False)
                writer.add_address(loopback.ifindex, ADDRESS)

        with pytest.raises(CniError, match=f"cannot add the route to {BEYOND}: Network is unreachable"):
            configure()
        writer.set_down(loopback.ifindex)  # the writer still works


def test_a_batch_that_is_left_with_an_error_sends_nothing(blue: Namespace, sent: list[int]) -> None:
    with kernel_writer.connect(str(blue.path)) as writer:

        def fail() -> None:
            with writer.batch():
                writer.set_up(1)
                raise LookupError

        with pytest.raises(LookupError):
            fail()
        assert sent == []
        writer.set_up(1)
        assert sent == [1]
