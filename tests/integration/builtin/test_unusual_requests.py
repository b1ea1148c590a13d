# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins do with unusual requests what release 1.9.1 does, or refuse them before they change the node."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import NoExecutor, Parameters
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import ALWAYS, BuiltinExecutor
from ansible_collections.cni.node.tests.support import state
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links

pytestmark = [pytest.mark.requires_root]

STATIC: JsonObject = {"type": "static", "addresses": [{"address": "10.1.0.2/24", "gateway": "10.1.0.1"}]}
BRIDGE: JsonObject = {"type": "bridge", "ipam": STATIC}
PREV: JsonObject = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "veth7"}, {"name": "eth0", "sandbox": "/run/netns/blue"}],
    "ips": [{"address": "10.1.0.2/24", "interface": 1}],
}


class Executables:
    """Runs built-in plugins as executables for one container."""

    def __init__(self, programs: pathlib.Path, container: Namespace) -> None:
        self._programs = programs
        self._container = container

    def run(
        self, command: str, keys: JsonObject, *, content: str = "", before: t.Sequence[str] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the plugin of a configuration; `content` replaces the request, and `before` is a command that runs it."""
        environment = {
            **os.environ,
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": "blue",
            "CNI_NETNS": str(self._container.path),
            "CNI_IFNAME": "eth0",
            "CNI_PATH": str(self._programs),
            **variables,
        }
        request = content or json.dumps({"cniVersion": "1.0.0", "name": "net", **keys})
        argv = [*before, str(self._programs / keys["type"])]
        return subprocess.run(argv, input=request, env=environment, capture_output=True, text=True, check=False)

    def result(self, command: str, keys: JsonObject, **options: t.Any) -> JsonObject:
        """Return what a plugin that succeeds prints."""
        done = self.run(command, keys, **options)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return dict(json.loads(done.stdout)) if done.stdout else {}

    def refusal(self, command: str, keys: JsonObject, **options: t.Any) -> JsonObject:
        """Return the error of a plugin that leaves the node as it was."""
        before = state.network_state()
        done = self.run(command, keys, **options)
        assert (done.returncode, done.stderr) == (1, ""), done.stdout
        assert before.difference(state.network_state()) == ""
        return dict(json.loads(done.stdout))


@pytest.fixture
def executables(programs: pathlib.Path, blue: Namespace) -> Executables:
    return Executables(programs, blue)


@pytest.mark.parametrize("plugin_type", ["bridge", "ptp"])
@pytest.mark.parametrize(
    ("dns", "expected"),
    [
        ({}, {"nameservers": ["10.1.2.3"]}),
        ({"nameservers": []}, {}),
        ({"search": ["a.example"]}, {"search": ["a.example"]}),
    ],
    ids=["missing", "empty list", "another list"],
)
def test_dns_settings_replace_those_of_the_ipam_plugin_even_if_their_lists_are_empty(
    executables: Executables, plugin_type: str, dns: JsonObject, expected: JsonObject
) -> None:
    ipam = {**STATIC, "dns": {"nameservers": ["10.1.2.3"]}}
    keys = {"type": plugin_type, "ipam": ipam, "dns": dns}
    assert executables.result("ADD", keys).get("dns", {}) == expected
    executables.result("DEL", keys)


def test_tuning_refuses_a_setting_that_is_given_twice(executables: Executables) -> None:
    keys: JsonObject = {"type": "tuning", "cniVersion": "1.0.0", "name": "net", "prevResult": PREV}
    settings = '{"net.ipv4.conf.all.log_martians": "1", "net.ipv4.conf.all.log_martians": "1"}'
    for key in (f'"sysctl": {settings}', f'"args": {{"cni": {{"sysctl": {settings}}}}}'):
        content = f"{json.dumps(keys)[:-1]}, {key}}}"
        error = executables.refusal("ADD", keys, content=content)
        assert error["msg"].endswith("/sysctl/net.ipv4.conf.all.log_martians is given twice")
        executables.result("DEL", keys, content=content)


def test_former_values_of_another_type_are_named_with_their_file(
    executables: Executables, blue: Namespace, tmp_path: pathlib.Path
) -> None:
    result = executables.result("ADD", BRIDGE)
    tuning: JsonObject = {"type": "tuning", "mtu": 1400, "dataDir": str(tmp_path), "prevResult": result}
    executables.result("ADD", tuning)
    file = tmp_path / "blue_eth0.json"
    file.write_text('{"mtu": "many"}')
    error = executables.refusal("DEL", tuning)
    assert error["msg"].startswith(f"{file}: ")
    assert "remove the file" in error["details"]
    assert blue.links()["eth0"]["mtu"] == 1400
    file.unlink()
    executables.result("DEL", tuning)
    executables.result("DEL", {**BRIDGE, "prevResult": result})
    subprocess.run(["ip", "link", "delete", "cni0"], check=True)


READERS: dict[str, JsonObject] = {
    "bridge": BRIDGE,
    "host-local": {"type": "host-local", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}},
    "tuning": {"type": "tuning", "prevResult": PREV},
}


@pytest.mark.parametrize("args", ["none", "FOO=a=b"])
@pytest.mark.parametrize("plugin_type", READERS)
def test_del_does_not_read_cni_args(executables: Executables, plugin_type: str, args: str) -> None:
    keys = READERS[plugin_type]
    assert executables.refusal("ADD", keys, CNI_ARGS=args)["msg"] == "CNI_ARGS is not a list of pairs"
    executables.result("DEL", keys, CNI_ARGS=args)


OTHERS: dict[str, JsonObject] = {
    "firewall": {"prevResult": PREV},
    "portmap": {"prevResult": PREV},
    "bandwidth": {"prevResult": PREV},
    "loopback": {},
}


@pytest.mark.parametrize("plugin_type", OTHERS)
def test_cni_args_do_not_concern_a_plugin_that_reads_none(executables: Executables, plugin_type: str) -> None:
    keys = {"type": plugin_type, **OTHERS[plugin_type]}
    for command in ("ADD", "DEL"):
        executables.result(command, keys, CNI_ARGS="none")


@pytest.mark.parametrize(
    ("keys", "variables", "expected"),
    [
        (
            {"addresses": [{"address": "::ffff:10.1.0.5/120", "gateway": "10.1.0.1"}]},
            {},
            {"address": "10.1.0.5/24", "gateway": "10.1.0.1"},
        ),
        ({}, {"CNI_ARGS": "IP=::ffff:10.2.0.9/120"}, {"address": "10.2.0.9/24", "gateway": "10.2.0.1"}),
    ],
    ids=["configuration", "CNI_ARGS"],
)
def test_a_container_gets_an_ipv4_address_that_is_written_in_ipv6_form(
    executables: Executables, keys: JsonObject, variables: dict[str, str], expected: JsonObject
) -> None:
    bridge = {"type": "bridge", "isGateway": True, "ipam": {"type": "static", **keys}}
    if variables:
        variables["CNI_ARGS"] += ";IgnoreUnknown=1"
    (ip,) = executables.result("ADD", bridge, **variables)["ips"]
    assert {"address": ip["address"], "gateway": ip["gateway"]} == expected
    executables.result("DEL", bridge)
    subprocess.run(["ip", "link", "delete", "cni0"], check=True)


@pytest.mark.parametrize("plugin_type", ["bridge", "ptp"])
def test_a_route_that_is_given_twice_is_added_once(executables: Executables, plugin_type: str, blue: Namespace) -> None:
    ipam = {**STATIC, "routes": [{"dst": "192.0.2.0/24"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.1"}]}
    plugin = {"type": plugin_type, "ipam": ipam}
    executables.result("ADD", plugin)
    routes = ["ip", "-n", blue.name, "route", "show", "192.0.2.0/24"]
    listed = subprocess.run(routes, check=True, capture_output=True, text=True).stdout
    assert listed.splitlines() == ["192.0.2.0/24 via 10.1.0.1 dev eth0 "]
    executables.result("DEL", plugin)


def test_host_local_reads_the_ends_of_a_range_in_ipv6_form_and_refuses_such_a_subnet(executables: Executables) -> None:
    ipam = {"type": "host-local", "subnet": "10.1.0.0/24", "rangeStart": "::ffff:10.1.0.7"}
    keys = {"type": "host-local", "ipam": ipam}
    (ip,) = executables.result("ADD", keys)["ips"]
    assert ip["address"] == "10.1.0.7/24"
    executables.result("DEL", keys)
    error = executables.refusal("ADD", {**keys, "ipam": {**ipam, "subnet": "::ffff:10.1.0.0/120"}})
    assert error["msg"] == "/ipam/subnet: ::ffff:10.1.0.0/120 is a network of IPv4"


LINK_NAMES: dict[str, JsonObject] = {
    "bridge": {"bridge": "x%d"},
    "macvlan": {"master": "x%d", "ipam": STATIC},
    "ipvlan": {"master": "x%d", "ipam": STATIC},
    "vlan": {"master": "x%d", "vlanId": 7, "ipam": STATIC},
    "tap": {"bridge": "x%d"},
    "vrf": {"vrfname": "x%d", "prevResult": PREV},
    "host-device": {"device": "x%d"},
}


@pytest.mark.parametrize("plugin_type", LINK_NAMES)
def test_a_template_is_refused_as_the_name_of_a_link(executables: Executables, plugin_type: str) -> None:
    error = executables.refusal("ADD", {"type": plugin_type, **LINK_NAMES[plugin_type]})
    assert "'x%d' is not the name of a link" in error["msg"]
    assert (
        "'eth%d' is not an interface name"
        in executables.refusal("ADD", {"type": plugin_type, **LINK_NAMES[plugin_type]}, CNI_IFNAME="eth%d")["msg"]
    )


def test_without_a_master_the_link_of_the_default_route_in_the_main_table_is_taken(
    executables: Executables, blue: Namespace
) -> None:
    for name in ("other0", "up0"):
        subprocess.run(["ip", "link", "add", name, "up", "type", "bridge"], check=True)
    for route in ("dev other0 table 100", "nexthop dev other0 nexthop dev up0", "dev up0 metric 1000"):
        subprocess.run(["ip", "route", "add", "default", *route.split()], check=True)
    keys: JsonObject = {"type": "macvlan", "ipam": STATIC}
    executables.result("ADD", keys)
    made = blue.links()["eth0"]
    assert made["link_index"] == links()["up0"]["ifindex"]
    executables.result("DEL", keys)
    subprocess.run(["ip", "route", "flush", "table", "main"], check=True)
    assert "there is no default route" in executables.refusal("ADD", keys)["msg"]


def test_a_mac_with_dots_is_set_and_compared_in_the_form_of_the_kernel(
    executables: Executables, blue: Namespace
) -> None:
    result = executables.result("ADD", BRIDGE, CNI_ARGS="IgnoreUnknown=1;MAC=0200.5E10.0001")
    assert blue.links()["eth0"]["address"] == "02:00:5e:10:00:01"
    assert "02:00:5e:10:00:01" in [interface["mac"] for interface in result["interfaces"]]
    tuning: JsonObject = {"type": "tuning", "mac": "0200.5e10.0002", "prevResult": result}
    result = executables.result("ADD", tuning)
    assert blue.links()["eth0"]["address"] == "02:00:5e:10:00:02"
    executables.result("CHECK", {**tuning, "prevResult": result})
    executables.result("CHECK", {**BRIDGE, "prevResult": result})
    executables.result("DEL", tuning)
    executables.result("DEL", {**BRIDGE, "prevResult": result})
    subprocess.run(["ip", "link", "delete", "cni0"], check=True)


IPAM_USERS: dict[str, JsonObject] = {
    "bridge": {},
    "ptp": {},
    "macvlan": {"master": "lo"},
    "tap": {},
    "host-device": {"device": "lo"},
}


@pytest.mark.parametrize("plugin_type", IPAM_USERS)
def test_a_plugin_that_names_itself_as_its_ipam_plugin_is_refused_and_deleted(
    executables: Executables, plugin_type: str
) -> None:
    keys = {"type": plugin_type, "ipam": {"type": plugin_type}, **IPAM_USERS[plugin_type]}
    assert executables.refusal("ADD", keys)["msg"] == f"/ipam/type: plugin {plugin_type} assigns no addresses"
    executables.result("DEL", keys)


CLOSED = {
    "closed standard input": ("exec 0<&-", "standard input is closed"),
    "standard input for writing": ("exec 0>/dev/null", "cannot read standard input: Bad file descriptor"),
    "closed standard output": ("exec 1>&-", "standard output is closed"),
    "full standard output": ("exec 1>/dev/full", "cannot write standard output: No space left on device"),
}


@pytest.mark.parametrize(("redirection", "message"), CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_a_descriptor_that_cannot_be_used_is_one_error(
    executables: Executables, command: str, redirection: str, message: str
) -> None:
    if command == "DEL" and "full" in redirection:
        executables.result(command, BRIDGE, before=("sh", "-c", f'{redirection}; exec "$0"'))
        return  # DEL has no output
    done = executables.run(command, BRIDGE, before=("sh", "-c", f'{redirection}; exec "$0"'))
    error = json.loads(done.stdout or done.stderr)
    assert (done.returncode, bool(done.stdout), error["msg"]) == (1, "0" in redirection, message)
    executables.result("DEL", BRIDGE)


@pytest.mark.parametrize("value", ["true", "TRUE", "1"])
def test_cni_netns_override_allows_the_plugins_own_namespace(executables: Executables, value: str) -> None:
    own = {"CNI_NETNS": "/proc/self/ns/net", "CNI_IFNAME": "own0", "CNI_NETNS_OVERRIDE": value}
    before = links()
    result = executables.result("ADD", BRIDGE, **own)
    assert "own0" in links()
    tuning: JsonObject = {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1"}, "prevResult": result}
    for command in ("ADD", "CHECK", "DEL"):
        executables.result(command, tuning, **own)
    executables.result("CHECK", {**BRIDGE, "prevResult": result}, **own)
    executables.result("DEL", {**BRIDGE, "prevResult": result}, **own)
    assert set(links()) == {*before, "cni0"}


@pytest.mark.parametrize("value", ["", "0", "yes"])
def test_another_cni_netns_override_allows_nothing(executables: Executables, value: str) -> None:
    own = {"CNI_NETNS": "/proc/self/ns/net", "CNI_NETNS_OVERRIDE": value}
    assert "is the node's own network namespace" in executables.refusal("ADD", BRIDGE, **own)["msg"]


def test_the_gateway_of_a_vlan_that_an_add_has_left_half_made_is_completed(
    blue: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    # This kernel may be without VLANs of bridges.
    monkeypatch.setattr(kernel_writer, "vlan_filtering_data", bytes)
    monkeypatch.setattr(KernelWriter, "remove_vlan", lambda *dummy: None)
    monkeypatch.setattr(KernelWriter, "add_vlan", lambda self, ifindex, vlan, is_access: ports.append(ifindex))
    executor = BuiltinExecutor(NoExecutor(), ALWAYS)
    keys = {**BRIDGE, "cniVersion": "1.0.0", "name": "net", "vlan": 5, "isGateway": True}

    def run(command: str) -> None:
        attachment = Attachment("net", "blue", "eth0", str(blue.path))
        executor.execute("bridge", json.dumps(keys).encode(), Parameters(command, attachment))

    run("ADD")
    run("DEL")
    subprocess.run(["ip", "link", "set", "cni0.5", "down"], check=True)
    ports.clear()
    run("ADD")
    assert "UP" in links()["cni0.5"]["flags"]
    assert links()[links()["cni0.5"]["link"]]["ifindex"] in ports
    run("DEL")
    run("ADD")
    assert len(ports) == 3


def test_a_bridge_keeps_its_mac_although_the_first_add_could_not_set_it(
    blue: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, macs, change = BuiltinExecutor(NoExecutor(), ALWAYS), list[str](), KernelWriter.set_mac
    request = json.dumps({**BRIDGE, "cniVersion": "1.0.0", "name": "net", "isGateway": True}).encode()
    parameters = Parameters("ADD", Attachment("net", "blue", "eth0", str(blue.path)))

    def set_mac(writer: KernelWriter, ifindex: int, mac: str) -> None:
        macs.append(mac)
        if len(macs) == 1:
            raise CniError(Code.IO_FAILURE, "no")
        change(writer, ifindex, mac)

    monkeypatch.setattr(KernelWriter, "set_mac", set_mac)
    with pytest.raises(CniError):
        executor.execute("bridge", request, parameters)
    executor.execute("bridge", request, parameters)
    assert len(macs) == 2


def test_a_bridge_that_has_lost_its_mac_with_its_last_port_becomes_a_gateway(blue: Namespace) -> None:
    executor = BuiltinExecutor(NoExecutor(), ALWAYS)

    def run(command: str, **keys: t.Any) -> None:
        request = json.dumps({**BRIDGE, **keys, "cniVersion": "1.0.0", "name": "net"}).encode()
        executor.execute("bridge", request, Parameters(command, Attachment("net", "blue", "eth0", str(blue.path))))

    run("ADD")
    run("DEL")
    assert links()["cni0"]["address"] == "00:00:00:00:00:00"
    run("ADD", isGateway=True)
    assert links()["cni0"]["address"] != "00:00:00:00:00:00"
