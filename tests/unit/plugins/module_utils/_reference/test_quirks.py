# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of released reference plugins that are wrong, and similar errors that are right."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import result
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import (
    is_false_alarm,
    is_input_rejection,
    should_repeat_del,
    with_advice,
)

V4, V6 = "10.1.0.2/16", "fd00::2/64"
MISSED_V6, MISSED_V4 = "could not check ipv6 dnat: rule [...]", "could not check ipv4 dnat: rule [...]"
# As the plugins print a route; before 1.4.0, a gateway was the last that it had.
TO_9, GW, MORE = "Dst:{IP:10.9.0.0 Mask:ffff0000}", "10.1.0.1", "MTU:0 AdvMSS:0 Priority:0 Table:"
IPAM: dict[str, object] = {"ipam": {"type": "host-local"}}


def _record(types: tuple[str, ...], addresses: tuple[str, ...] | None, **keys: object) -> Record:
    network = {
        "cniVersion": "1.0.0",
        "name": "net",
        "plugins": [{"type": plugin_type, **keys} for plugin_type in types],
    }
    given = None
    if addresses is not None:
        ips = [{"address": address} for address in addresses]
        given = result.from_keys({"cniVersion": "1.0.0", "ips": ips}, "1.0.0", "test")
    return Record(Attachment("net", "blue", "eth0"), json.dumps(network).encode(), given)


RULE = '-t nat -D POSTROUTING -s 10.1.0.4 -j CNI-c6552c4eb66f3dfcaf7de560 -m comment --comment name: "net" --wait]'
SHARED = "-t nat -X CNI-c6552c4eb66f3dfcaf7de560 --wait]"
ENDS = {
    "nft": (
        f"plugin bridge failed (DEL): running [iptables {RULE}: exit status 2: Chain 'CNI-c6' does not exist",
        True,
    ),
    "legacy": (
        f"plugin ptp failed (DEL): running [iptables {RULE}: exit status 2: Couldn't load target `CNI-c6'",
        True,
    ),
    "shared, nft": (
        f"plugin bridge failed (DEL): running [iptables {SHARED}: exit status 4: CHAIN_DEL failed (Device or resource busy)",
        True,
    ),
    "shared, legacy": (
        f"plugin ptp failed (DEL): running [iptables {SHARED}: exit status 1: iptables: Too many links.",
        True,
    ),
    "another plugin": (f"plugin lab failed (DEL): running [iptables {RULE}: Chain 'CNI-c6' does not exist", False),
    "ADD": (f"plugin bridge failed (ADD): running [iptables {RULE}: Chain 'CNI-c6' does not exist", False),
    "another reason": (f"plugin bridge failed (DEL): running [iptables {RULE}: exit status 4: busy", False),
    "another chain": (
        "plugin bridge failed (DEL): running [iptables -j LOG --wait]: Chain 'LOG' does not exist",
        False,
    ),
}


@pytest.mark.parametrize(("text", "expected"), ENDS.values(), ids=ENDS)
def test_a_del_that_failed_because_of_its_chain_is_recognized_by_its_message(text: str, expected: bool) -> None:
    what, dummy, details = text.partition(": ")
    assert should_repeat_del(CniError(999, what, details)) is expected


DEL = "DEL of the attachment: {}"
PARSE = "plugin portmap failed (DEL): failed to parse config: json: cannot unmarshal object"
ARGS = 'plugin tuning failed (DEL): ARGS: unknown args ["A=1"]'
VERSION = 'plugin {} failed (DEL): incompatible CNI versions; config is "1.1.0", plugin supports ["0.4.0" "1.0.0"]'
BUSY = "plugin bridge failed (DEL): failed to delete: device or resource busy"
PANIC = "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:"
REFUSALS = {
    "one": (CniError(999, DEL.format(PARSE)), True),
    "all": (CniError(999, DEL.format("2 failures"), f"{PARSE}; exit status 1\n{ARGS}; exit status 1"), True),
    "by its code": (CniError(7, DEL.format("plugin lab failed (DEL): no")), True),
    "a version": (CniError(1, DEL.format("plugin lab failed (DEL): not that one")), True),
    "a version that several do not speak": (
        CniError(1, DEL.format("2 failures"), f"{VERSION.format('tuning')}\n{VERSION.format('bridge')}"),
        True,
    ),
    "a version, and another reason": (
        CniError(1, DEL.format("2 failures"), f"{VERSION.format('tuning')}\n{BUSY}"),
        False,
    ),
    "a panic of tuning": (CniError(999, DEL.format("plugin tuning failed (DEL): exit status 2"), PANIC), True),
    "another panic": (
        CniError(999, DEL.format("plugin tuning failed (DEL): exit status 2"), "panic: runtime error"),
        False,
    ),
    "another reason": (CniError(999, DEL.format(BUSY)), False),
    "of the kernel": (CniError(999, DEL.format("plugin lab failed (DEL): invalid argument")), False),
    "one of two": (CniError(999, DEL.format("2 failures"), f"{PARSE}\n{BUSY}"), False),
    "the other is missing": (CniError(7, DEL.format("2 failures"), f"{PARSE}\nplugin 'b' is not installed"), False),
    "missing": (CniError(7, DEL.format("plugin 'portmap' is not installed")), False),
    "ADD": (CniError(7, "plugin portmap failed (ADD): failed to parse config"), False),
}


@pytest.mark.parametrize(("error", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_a_refused_del_is_recognized_only_if_no_other_plugin_failed(error: CniError, expected: bool) -> None:
    assert is_input_rejection(error) is expected


def test_known_errors_get_advice() -> None:
    what = 'plugin bridge failed (ADD): failed to set bridge addr: "cni0" already has an IP address different from 10.9.0.1/16'
    assert '"forceAddress": true' in with_advice(CniError(999, what)).details
    assert with_advice(CniError(999, "plugin bridge failed (ADD): no", "at all")).details == "at all"


CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None, dict[str, object], str, bool]] = {
    "portmap, IPv6 without such an address": (("portmap",), (V4,), {}, MISSED_V6, True),
    "portmap, IPv4 without such an address": (("portmap",), (V6,), {}, MISSED_V4, True),
    "portmap, IPv4 that it has": (("portmap",), (V4,), {}, MISSED_V4, False),
    "portmap, IPv6 that it has": (("portmap",), (V4, V6), {}, MISSED_V6, False),
    "portmap, one family's address among the other's": (
        ("portmap",), (V4, V6), {}, "could not check ipv6 dnat: rule [-t nat -s 10.1.0.2/16 -j X] missing", True
    ),
    "portmap, no result": (("portmap",), None, {}, MISSED_V6, True),
    "portmap, another complaint": (("portmap",), (V4,), {}, "could not check hostports", False),
    "another plugin's of the same words": (("firewall",), (V4,), {}, MISSED_V6, False),
    "bridge without IPAM": (("bridge",), (), {}, "no plugin name provided", True),
    "bridge with IPAM": (("bridge",), (V4,), IPAM, "no plugin name provided", False),
    "bridge behind sbr": (("bridge", "sbr"), (V4,), IPAM, "Expected Route {...} not found", True),
    "bridge behind sbr, its gateway": (("bridge", "sbr"), (V4,), IPAM, "Failed to find Gateway", True),
    "bridge, the node's end has another MAC": (
        ("bridge",), (V4,), IPAM, "Interface vethdc2249d1 Mac doesn't match: 46:fe:ba:18:20:cc not found", True
    ),
    "bridge, it has another MAC": (
        ("bridge",), (V4,), IPAM, "Bridge interface cni0 Mac doesn't match: 46:fe:ba:18:20:cc", True
    ),
    "bridge, the container has another MAC": (
        ("bridge",), (V4,), IPAM, "Interface eth0 Mac a:b doesn't match container Mac: c:d", False
    ),
    "bridge, the container's MAC in upper case": (
        ("bridge",), (V4,), IPAM, "Interface eth0 Mac 02:AB doesn't match container Mac: 02:ab", True
    ),
    "bridge, the container's MAC in upper case, and more": (
        ("bridge",), (V4,), IPAM, "Interface eth0 Mac 02:AB doesn't match container Mac: 02:ab:00", False
    ),
    "bridge without sbr": (("bridge",), (V4,), IPAM, "Expected Route {...} not found", False),
    "macvlan behind sbr": (("macvlan", "sbr"), (V4,), IPAM, "Failed to find Gateway 10.1.0.1", True),
    "bridge behind vrf": (("bridge", "tuning", "vrf"), (V4,), IPAM, "Failed to find Gateway 10.1.0.1", True),
    "ptp behind sbr, another complaint": (
        ("ptp", "sbr"), (V4,), IPAM, "Failed to match addr 10.1.0.2/16 on interface eth0", False
    ),
    "tuning, a setting of the interface": (
        ("tuning",), (V4,), {}, "open /proc/sys/net/ipv4/conf/IFNAME/arp_filter: no such file or directory", True
    ),
    "tuning, a setting that is gone": (
        ("tuning",), (V4,), {}, "open /proc/sys/net/ipv4/conf/eth0/arp_filter: no such file or directory", False
    ),
    "tuning, a setting of several values": (
        ("tuning",), (V4,), {}, "Tuning configured value of /proc/sys/x is 1 2, current value is 1\t2", True
    ),
    "tuning, a setting of one value": (
        ("tuning",), (V4,), {}, "Tuning configured value of /proc/sys/x is 1, current value is 2", False
    ),
    "tuning, a MAC in upper case": (
        ("tuning",), (V4,), {}, "Tuning configured Ethernet of eth0 is 02:AB, current value is 02:ab", True
    ),
    "tuning, another MAC": (
        ("tuning",), (V4,), {}, "Tuning configured Ethernet of eth0 is 02:AB, current value is 02:ac", False
    ),
    "a plugin that is not known, behind sbr": (("calico", "sbr"), (V4,), {}, "Expected Route {...} not found", False),
    "a route with a table": (("ipvlan",), (V4,), IPAM, f"Expected Route {{{TO_9} GW:{GW} {MORE}200 Scope:<nil>}} not found", True),
    "a route of the main table": (
        ("ipvlan",), (V4,), IPAM, f"Expected Route {{{TO_9} GW:{GW} {MORE}254 Scope:<nil>}} not found", False
    ),
    "a route without a table": (
        ("ipvlan",), (V4,), IPAM, f"Expected Route {{{TO_9} GW:<nil> {MORE}<nil> Scope:<nil>}} not found", False
    ),
    "a route without gw, 1.2.0 and before": (
        ("host-device",), (V4,), IPAM, f"Expected Route {{{TO_9} GW:<nil>}} not found in routing table", True
    ),
    "a route with gw, 1.2.0 and before": (
        ("host-device",), (V4,), IPAM, f"Expected Route {{{TO_9} GW:{GW}}} not found in routing table", False
    ),
    "an IPv4 address without a network": (("tap",), ("10.1.0.2/32",), IPAM, "Failed to find Gateway <nil>", True),
    "an IPv6 address without a network": (("tap",), ("fd00::2/128",), IPAM, "Failed to find Gateway <nil>", False),
    "an address with a network": (("tap",), (V4,), IPAM, "Failed to find Gateway <nil>", False),
}  # fmt: skip


def test_the_family_of_an_address_follows_from_its_text() -> None:
    given = result.from_keys({"cniVersion": "0.4.0", "ips": [{"address": V4}]}, "0.4.0", "test")
    record = _record(("portmap",), None)._replace(result=given)
    assert is_false_alarm(record, record.network().plugins[0], CniError(0, MISSED_V6))


@pytest.mark.parametrize(("types", "addresses", "keys", "complaint", "expected"), CASES.values(), ids=CASES)
def test_a_false_alarm_is_recognized_by_the_record(
    types: tuple[str, ...], addresses: tuple[str, ...] | None, keys: dict[str, object], complaint: str, expected: bool
) -> None:
    record = _record(types, addresses, **keys)
    plugin = record.network().plugins[0]
    for error in (CniError(0, complaint), CniError(0, "plugin failed (CHECK)", complaint)):
        assert is_false_alarm(record, plugin, error) is expected
