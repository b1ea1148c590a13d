# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many addresses a network can allocate, and how many it has allocated."""

from __future__ import annotations

import ipaddress
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.info.address_pools import Pool, list_pools


class LeaseDirectory:
    def __init__(self, directory: pathlib.Path) -> None:
        self.conf_dir, self.leases = directory / "net.d", directory / "networks" / "net"
        self.conf_dir.mkdir()
        self.leases.mkdir(parents=True)
        self._data_dir = str(self.leases.parent)

    def pools(self, **ipam: t.Any) -> list[Pool]:
        plugin = {"type": "bridge", "ipam": {"type": "host-local", "dataDir": self._data_dir, **ipam}}
        network = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
        (self.conf_dir / "10-net.conflist").write_text(json.dumps(network), encoding="utf-8")
        return list_pools(str(self.conf_dir), self._data_dir)

    def give(self, first: str, count: int) -> None:
        start = ipaddress.ip_address(first)
        for number in range(count):
            (self.leases / str(start + number)).touch()


@pytest.fixture
def place(tmp_path: pathlib.Path) -> LeaseDirectory:
    return LeaseDirectory(tmp_path)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ({"subnet": "10.1.0.0/24"}, 253),
        ({"subnet": "10.1.0.0/30"}, 1),
        ({"subnet": "fd00::/120"}, 254),
        ({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.19"}, 10),
        ({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.19", "gateway": "10.1.0.10"}, 9),
        ({"subnet": "10.1.0.0/24", "gateway": "10.2.0.1"}, 254),
    ],
)
def test_gateway_and_broadcast_address_are_not_counted(place: LeaseDirectory, written: JsonObject, size: int) -> None:
    for ipam in (written, {"ranges": [[written]]}):
        (pool,) = place.pools(**ipam)
        assert (pool.size, pool.taken, pool.free) == (size, 0, size)


def test_each_set_of_ranges_is_one_pool(place: LeaseDirectory) -> None:
    place.give("10.1.0.2", 3)
    place.give("10.2.0.2", 1)
    place.give("fd00::2", 2)
    (place.leases / "lock").touch()
    (place.leases / "last_reserved_ip.0").touch()
    first, second = place.pools(
        ranges=[[{"subnet": "10.1.0.0/29"}, {"subnet": "10.2.0.0/29"}], [{"subnet": "fd00::/64"}]]
    )
    assert (first.text, first.size, first.taken) == ("10.1.0.1-10.1.0.6, 10.2.0.1-10.2.0.6", 10, 4)
    assert (second.taken, second.warning) == (2, "")


@pytest.mark.parametrize(
    ("taken", "words"), [(240, ""), (241, "only 12 of 253 addresses are free"), (253, "all 253 addresses are taken")]
)
def test_a_scarce_pool_has_a_warning(place: LeaseDirectory, taken: int, words: str) -> None:
    place.give("10.1.0.2", taken)
    (pool,) = place.pools(subnet="10.1.0.0/24")
    assert (words in pool.warning, bool(pool.warning)) == (True, bool(words))


def test_full_pools_come_first(place: LeaseDirectory) -> None:
    place.give("10.1.0.2", 250)
    place.give("10.3.0.2", 5)
    pools = place.pools(
        ranges=[[{"subnet": f"10.{number}.0.0/{bits}"}] for number, bits in ((1, 24), (2, 24), (3, 29))]
    )
    assert [(pool.text.partition("-")[0], pool.free) for pool in pools] == [
        ("10.3.0.1", 0),
        ("10.1.0.1", 3),
        ("10.2.0.1", 253),
    ]


@pytest.mark.parametrize(
    "ipam",
    [
        {"subnet": "nonsense"},
        {"subnet": 7},
        {"ranges": "10.1.0.0/24"},
        {"ranges": ["10.1.0.0/24", [None, {}]]},
        {"subnet": "10.1.0.0/32"},
        {"subnet": "10.1.0.0/24", "rangeStart": "x"},
        {"type": "dhcp", "subnet": "10.1.0.0/24"},
    ],
    ids=str,
)
def test_pools_of_unknown_size_are_left_out(place: LeaseDirectory, ipam: JsonObject) -> None:
    assert place.pools(**ipam) == []


def test_address_pools_are_counted_without_reading_leases(
    place: LeaseDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.give("10.1.0.2", 20000)
    read, seen = durable.read, []

    def watch_read(path: str, **limit: int) -> bytes | None:
        seen.append(path)
        return read(path, **limit)

    monkeypatch.setattr(durable, "read", watch_read)
    (pool,) = place.pools(subnet="10.1.0.0/16")
    assert (pool.taken, [path for path in seen if path.startswith(str(place.leases))]) == (20000, [])
