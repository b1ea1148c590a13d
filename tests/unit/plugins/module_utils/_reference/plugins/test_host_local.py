# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""host-local assigns addresses in a real directory: never one twice, and nothing remains of an ADD that fails."""

from __future__ import annotations

import pathlib
import tempfile
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_index
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.host_local import HostLocal
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request

POOL: JsonObject = {"subnet": "10.1.0.0/29", "rangeStart": "10.1.0.2", "rangeEnd": "10.1.0.4"}
POOL6: JsonObject = {"subnet": "fd00::/126"}
BOTH: JsonObject = {"ranges": [[POOL], [POOL6]]}
FREE = {"10.1.0.2", "10.1.0.3", "10.1.0.4"}


class Pools:
    """The plugin with a directory of its own for the leases of one network."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._plugin = HostLocal(str(directory))
        self._directory = directory / "dbnet"

    def _request(
        self, command: str, container: str, ipam: JsonObject | None = None, cni_args: t.Any = (), **keys: t.Any
    ) -> PluginRequest:
        attachment = Attachment("dbnet", container, "eth0", "/run/netns/x", dict(cni_args))
        return read_request(
            command, attachment, ipam={"type": "host-local", "ranges": [[POOL]], **(ipam or {})}, **keys
        )

    def result(self, container: str = "blue", **keys: t.Any) -> JsonObject:
        return dict(self._plugin.add(self._request("ADD", container, **keys)).keys)

    def add(self, container: str = "blue", **keys: t.Any) -> list[str]:
        """Return the addresses of a container."""
        return [ip["address"].partition("/")[0] for ip in self.result(container, **keys)["ips"]]

    def delete(self, container: str = "blue", **keys: t.Any) -> None:
        self._plugin.delete(self._request("DEL", container, **keys))

    def check(self, container: str = "blue", address: str = "10.1.0.2") -> None:
        self._plugin.check(self._request("CHECK", container, prevResult=make_result(address)))

    def names(self) -> list[str]:
        return sorted(path.name for path in self._directory.iterdir())

    def collect(self, *valid: str) -> None:
        names = [{"containerID": name, "ifname": "eth0"} for name in valid]
        keys: JsonObject = {"cni.dev/valid-attachments": names}
        self._plugin.gc(self._request("GC", "x", **keys))

    def status(self) -> None:
        self._plugin.status(self._request("STATUS", "x"))

    def owners(self) -> dict[str, str]:
        """Return the container of each lease by address."""
        files = [path for path in self._directory.glob("*") if path.name[0].isdigit() or ":" in path.name]
        return {path.name: path.read_bytes().decode().partition("\r\n")[0] for path in files}


def make_result(address: str) -> JsonObject:
    return {"cniVersion": "1.1.0", "ips": [{"address": f"{address}/29"}]}


@pytest.fixture
def pools(tmp_path: pathlib.Path) -> Pools:
    return Pools(tmp_path)


steps = st.tuples(st.sampled_from(["add", "add", "delete", "collect"]), st.sampled_from("abcde"))


@settings(max_examples=40)
@given(st.lists(steps, max_size=20))
def test_an_address_belongs_to_one_container_until_it_is_freed(operations: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        pools, owners = Pools(pathlib.Path(directory)), dict[str, str]()
        for operation, container in operations:
            if operation == "delete":
                pools.delete(container)
                owners = {address: owner for address, owner in owners.items() if owner != container}
            elif operation == "collect":
                pools.collect(container)
                owners = {address: owner for address, owner in owners.items() if owner == container}
            elif container in owners.values():
                assert "is already the address of" in str(error_of(pools.add, container))
            elif set(owners) == FREE:
                assert "range set 0 has no free address" in str(error_of(pools.add, container))
            else:
                (address,) = pools.add(container)
                assert address in FREE - set(owners)
                owners[address] = container
            assert pools.owners() == owners
        if set(owners) == FREE:
            assert error_of(pools.status).code == Code.NOT_AVAILABLE
        else:
            pools.status()


def test_a_freed_address_is_assigned_last(pools: Pools) -> None:
    assert pools.add("a") == ["10.1.0.2"]
    pools.delete("a")
    assert [pools.add(name) for name in ("b", "c", "d")] == [["10.1.0.3"], ["10.1.0.4"], ["10.1.0.2"]]


def test_an_add_that_fails_in_a_later_range_set_keeps_no_lease(pools: Pools) -> None:
    assert [pools.add(name, ipam=BOTH) for name in "ab"] == [["10.1.0.2", "fd00::2"], ["10.1.0.3", "fd00::3"]]
    before = pools.owners()
    assert "range set 1 has no free address" in str(error_of(pools.add, "c", ipam=BOTH))
    assert pools.owners() == before


def test_an_add_that_cannot_note_its_last_address_keeps_no_lease(pools: Pools, tmp_path: pathlib.Path) -> None:
    (tmp_path / "dbnet" / "last_reserved_ip.1").mkdir(parents=True)
    assert error_of(pools.add, ipam=BOTH).code == Code.IO_FAILURE
    assert pools.owners() == {}


REQUESTS: dict[str, JsonObject] = {
    "CNI_ARGS": {"cni_args": {"IP": "10.1.0.3"}},
    "CNI_ARGS with a length": {"cni_args": {"IP": "10.1.0.3/29"}},
    "args.cni": {"args": {"cni": {"ips": ["10.1.0.3"]}}},
    "the capability": {"runtimeConfig": {"ips": ["10.1.0.3/16"]}},
    "IPv4 in the form of IPv6": {"runtimeConfig": {"ips": ["::ffff:10.1.0.3"]}},
    "twice": {"cni_args": {"IP": "10.1.0.3"}, "runtimeConfig": {"ips": ["10.1.0.3"]}},
}


@pytest.mark.parametrize("keys", REQUESTS.values(), ids=REQUESTS)
def test_a_requested_address_is_assigned_once_with_the_length_of_its_subnet(pools: Pools, keys: JsonObject) -> None:
    assert pools.result("a", **keys)["ips"] == [{"address": "10.1.0.3/29", "gateway": "10.1.0.1"}]
    assert "10.1.0.3 is in use by container a (eth0)" in str(error_of(pools.add, "b", **keys))
    assert pools.owners() == {"10.1.0.3": "a"}


def test_an_address_can_be_requested_of_each_range_set(pools: Pools) -> None:
    wanted = {"ips": ["fd00::3", "10.1.0.4"]}
    assert pools.add(ipam=BOTH, runtimeConfig=wanted) == ["10.1.0.4", "fd00::3"]


REFUSED: dict[str, tuple[str, str]] = {
    "10.1.0.5": ("", "no range set has the requested addresses 10.1.0.5"),
    "fd00::2": ("", "no range set has the requested addresses fd00::2"),
    "10.1.0.3": ("10.1.0.3", "range set 0: the requested address 10.1.0.3 is the gateway"),
    "blue": ("", "/runtimeConfig/ips: 'blue' is not an address"),
}


@pytest.mark.parametrize(("wanted", "gateway", "message"), [(key, *REFUSED[key]) for key in REFUSED])
def test_an_address_that_cannot_be_requested_is_refused(pools: Pools, wanted: str, gateway: str, message: str) -> None:
    pool = {**POOL, **({"gateway": gateway} if gateway else {})}
    error = error_of(pools.add, ipam={"ranges": [[pool]]}, runtimeConfig={"ips": [wanted]})
    assert error.msg == message
    assert pools.owners() == {}


def test_check_names_a_lease_that_is_missing_or_belongs_to_another_container(pools: Pools) -> None:
    pools.add("a")
    pools.check("a")
    assert "the lease of 10.1.0.2 in" in str(error_of(pools.check, "b"))
    assert str(error_of(pools.check, "b")).endswith("belongs to container a (eth0)")
    pools.delete("a")
    assert str(error_of(pools.check, "a")).endswith("is missing")


def test_check_without_a_recorded_address_accepts_any_lease_of_the_container(pools: Pools) -> None:
    pools.add("a")
    pools.check("a", "192.0.2.9")
    assert "the container has no lease in" in str(error_of(pools.check, "b", "192.0.2.9"))


@pytest.mark.parametrize("keys", [{}, {"prevResult": make_result("10.1.0.3")}], ids=["killed", "complete"])
def test_del_frees_what_another_run_has_assigned_since_this_one_read_the_leases(
    pools: Pools, tmp_path: pathlib.Path, keys: JsonObject
) -> None:
    with lease_index.keep():
        pools.add("red")
        (tmp_path / "dbnet" / "10.1.0.3").write_bytes(b"blue\r\neth0")
        pools.delete("blue", **keys)
    assert FREE.intersection(pools.names()) == {"10.1.0.2"}


def test_del_keeps_a_recorded_address_that_belongs_to_another_container_now(pools: Pools) -> None:
    pools.add("red")
    pools.delete("blue", prevResult=make_result("10.1.0.2"))
    assert FREE.intersection(pools.names()) == {"10.1.0.2"}


def test_nothing_is_deleted_or_collected_without_a_directory(pools: Pools, tmp_path: pathlib.Path) -> None:
    pools.delete()
    pools.collect()
    assert list(tmp_path.iterdir()) == []


RESOLV_CONF = """\
# nameserver 192.0.2.9
; nameserver 192.0.2.8
nameserver 10.1.0.1
nameserver fd00::1 # the second
domain example.org
domain example.net
search a.example b.example
options ndots:2 rotate
sortlist 10.0.0.0
nameserver
"""


def test_dns_settings_come_from_the_named_file(pools: Pools, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(RESOLV_CONF, encoding="utf-8")
    assert pools.result(ipam={"resolvConf": str(path)})["dns"] == {
        "nameservers": ["10.1.0.1", "fd00::1"],
        "domain": "example.net",
        "search": ["a.example", "b.example"],
        "options": ["ndots:2", "rotate"],
    }
    missing = f"{tmp_path}/nowhere"
    error = error_of(pools.add, "b", ipam={"resolvConf": missing})
    assert error.msg == f"/ipam/resolvConf: {missing} does not exist"
    assert set(pools.owners().values()) == {"blue"}


def test_del_makes_no_lock_in_a_directory_without_leases(pools: Pools, tmp_path: pathlib.Path) -> None:
    """The directory may belong to another program, because a record names it."""
    (tmp_path / "dbnet").mkdir()
    (tmp_path / "dbnet" / "program.conf").touch()
    pools.delete()
    assert pools.names() == ["program.conf"]
