# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a record is what the reference plugins were seen to make: no more, and no less."""

from __future__ import annotations

import json
import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import attachment_drift
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, expected_state
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.support.reference_cases import Situation, situations
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.recorded_kernel import (
    HOST,
    RecordedKernel,
)

UNPREPARED = {situation.name: situation for situation in situations() if not situation.is_prepared}


def states(situation: Situation) -> t.Iterator[tuple[Record, resources.State]]:
    for record in situation.records:
        state = expected_state(RecordedRequests(record), NODE_PATHS.lease_dir)
        if state is not None:
            yield record, state


# Cases whose records describe their interfaces completely enough to derive the state.
DESCRIBED = {name: situation for name, situation in UNPREPARED.items() if any(states(situation))}


def test_the_recorded_kernel_has_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(situation: Situation) -> None:
        RecordedKernel(situation).install(monkeypatch)
        for record in situation.records:
            drift = attachment_drift.find_link_drift(RecordedRequests(record), NodeView())
            assert drift is None or drift[:3] == ((), (), ())

    check_each(UNPREPARED, check)


def require_recorded_state(situation: Situation) -> None:
    kernel = RecordedKernel(situation)
    made = {line for netns in kernel.indexes for line in recorded_lines(kernel, netns)}
    made |= {f"lease {path} {content}" for path, content in kernel.leases().items()}
    described = {
        line
        for record, state in states(situation)
        for resource in state
        for line in lines(resource, record.attachment.netns.rpartition("/")[2], kernel)
    }
    assert described <= made
    left_out = {line for line in made - described if not is_exception(line)}
    has_interfaces = all(record.result and record.result.keys.get("interfaces") for record in situation.records)
    assert {line for line in left_out if has_interfaces or not LINKS.match(line)} == set()


def test_the_expected_state_equals_what_the_plugins_made() -> None:
    check_each(DESCRIBED, require_recorded_state)


def test_each_missing_resource_is_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(situation: Situation) -> None:
        for record, state in states(situation):
            for resource in state:
                kernel = RecordedKernel(situation)
                kernel.install(monkeypatch)
                remove(kernel, record.attachment.netns.rpartition("/")[2] if resource.inside else HOST, resource)
                drift = attachment_drift.find_link_drift(RecordedRequests(record), NodeView())
                assert drift is not None
                assert any(difference.inside == resource.inside for difference in drift.differences), resource
                assert drift.inside or drift.on_node

    check_each(DESCRIBED, check)


def remove(kernel: RecordedKernel, netns: str, resource: resources.Resource) -> None:
    """Remove a resource from a recorded kernel, or a property of a link."""
    name = getattr(resource, "name", getattr(resource, "link", ""))
    if isinstance(resource, (resources.ExpectedLink, resources.Bridge, resources.Ifb)):
        del kernel.state[netns]["links"][name]
    elif isinstance(resource, resources.Port):
        kernel.state[netns]["links"][name].pop("master")
    elif isinstance(resource, resources.Sysctl):
        kernel.state[netns]["sysctls"][resource.path] = "7"
    elif isinstance(resource, resources.Rate):
        kernel.drop(netns, "tc", lambda line: line.get("qdisc", {}).get("dev") == name)
    elif isinstance(resource, resources.ExpectedRule):
        kernel.drop(netns, "rules", lambda line: f"from {resource.source} " in line)
    elif isinstance(resource, resources.ExpectedLease):
        del kernel.state["files"][f"{resource.directory}/{resource.address}"]
    elif isinstance(resource, resources.ExpectedAddress):
        kernel.drop(netns, "addresses", lambda line: f"{name} " in line and f" {resource.interface} " in line)
    elif isinstance(resource, resources.ExpectedRoute):
        words = route_line(resource, netns, kernel).split()
        kernel.drop(netns, "routes", lambda line: line.split()[:3] == words[2:5] and f"dev {name}" in line)


# A result of 0.2.0 and older names no interfaces.
LINKS = re.compile(r"\S+ link (eth0|VETH\d+)( |$)")
# What the plugins change, but the state leaves out on purpose.
EXCEPTIONS = {
    r"\S+ address \S+ fe80::": "link-local addresses come from the kernel",
    r"\S+ route .* proto kernel": "the kernel makes these routes for addresses",
    r"\S+ route inet6 \d+ fe80::": "copies of routes of the kernel",
    r"\S+ route inet6 \d+ \S+ dev \S+ proto kernel": "copies of routes of the kernel, in the table of another family",
    r"\S+ sysctl net/ipv4/conf/\S+/(arp_notify)": "announces an address only when the interface comes up",
    r"\S+ sysctl net/ipv6/conf/\S+/(accept_dad|ndisc_notify|keep_addr_on_down)": "matter only while ADD runs",
    r"\S+ sysctl net/ipv6/conf/\S+/(accept_ra)": "matters only in a network with router advertisements",
    r"host sysctl net/ipv4/conf/(all|default)/(accept_redirects|forwarding)": "follow ip_forward",
    r"host sysctl net/ipv6/conf/default/forwarding": "follows conf/all/forwarding",
    r"\S+ address lo (127\.0\.0\.1/8|::1/128)": "the kernel's, whenever the link is up",
    r"\S+ tc \S+ (pfifo_fast|fq_codel|mq)": "the kernel's default",
}


def is_exception(line: str) -> bool:
    return any(re.match(pattern, line) for pattern in EXCEPTIONS)


def recorded_lines(kernel: RecordedKernel, netns: str) -> t.Iterator[str]:
    """Return what a recorded run has added to a namespace, one thing a line."""
    for name, keys in kernel.section(netns, "links", {}).items():
        if keys is not None and not (netns == HOST and name in ("up0", "up1")):
            yield f"{netns} link {name}"
            yield from (f"{netns} link {name} {flag}" for flag in keys["flags"] if flag != "NOARP")
            if "master" in keys:
                yield f"{netns} link {name} master {keys['master']}"
            yield from (f"{netns} link {name} {flag}" for flag, value in keys.get("port", {}).items() if value is True)
    for line in kernel.lines(netns, "addresses"):
        name, dummy, address, *dummy2 = line.split()
        yield f"{netns} address {name} {address}"
    yield from (f"{netns} route {line}" for line in kernel.lines(netns, "routes"))
    yield from (f"{netns} rule {re.sub(' [0-9]+: ', ' ', line)}" for line in kernel.lines(netns, "rules"))
    yield from (f"{netns} sysctl {path} {value}" for path, value in kernel.section(netns, "sysctls", {}).items())
    for entry in kernel.lines(netns, "tc"):
        ((kind, keys),) = entry.items()
        if keys["kind"] == "tbf":
            yield f"{netns} tc {keys['dev']} tbf {keys['options']['rate']} {keys['options']['burst']}"
        elif kind == "filter":
            targets = {action["to_dev"] for action in keys["options"]["actions"]}
            yield from (f"{netns} tc {keys['dev']} redirect {target}" for target in targets)
        elif keys["kind"] != "ingress":
            yield f"{netns} tc {keys['dev']} {keys['kind']}"


FORMATS = {
    resources.ExpectedAddress: "{netns} address {0.link} {0.interface}",
    resources.ExpectedLease: "lease {0.directory}/{0.address} {0.container_id}\r\n{0.ifname}",
    resources.Rate: "{netns} tc {0.link} tbf {0.rate} {0.burst}",
    resources.Sysctl: "{netns} sysctl {0.path} {0.value}",
}


def lines(resource: resources.Resource, container: str, kernel: RecordedKernel) -> t.Iterator[str]:
    """Return a resource as the lines of `recorded_lines`."""
    netns = container if resource.inside else HOST
    if isinstance(resource, resources.ExpectedLink):
        yield from link_lines(resource, netns)
    elif isinstance(resource, resources.Bridge):
        yield from link_lines(
            resources.ExpectedLink(resource.name, False, is_up=True, is_promiscuous=resource.is_promiscuous), HOST
        )
    elif isinstance(resource, resources.Port):
        yield f"{netns} link {resource.name} master {resource.master}"
        yield from (f"{netns} link {resource.name} hairpin" for dummy in range(resource.is_hairpin))
        yield from (f"{netns} link {resource.name} isolated" for dummy in range(resource.is_isolated))
    elif isinstance(resource, resources.ExpectedRoute):
        yield route_line(resource, netns, kernel)
    elif isinstance(resource, resources.ExpectedRule):
        yield f"{netns} rule {family(resource.source)} from {resource.source} lookup {table(resource, netns, kernel)}"
    elif isinstance(resource, resources.Ifb):
        yield from link_lines(resources.ExpectedLink(resource.name, False, is_up=True), HOST)
        yield f"{HOST} tc {resource.host_end} redirect {resource.name}"
    elif type(resource) in FORMATS:
        yield FORMATS[type(resource)].format(resource, netns=netns)


def link_lines(link: resources.ExpectedLink, netns: str) -> t.Iterator[str]:
    yield f"{netns} link {link.name}"
    flags = {"UP": link.is_up, "PROMISC": link.is_promiscuous, "ALLMULTI": link.all_multicast}
    yield from (f"{netns} link {link.name} {flag}" for flag, is_set in flags.items() if is_set)


def family(address: t.Any) -> str:
    return "inet" if address.version == 4 else "inet6"


def table(rule: resources.ExpectedRule, netns: str, kernel: RecordedKernel) -> int:
    tables = (known.table for known in kernel.rules(netns) if known.source and rule.source in known.source)
    return rule.table or next(tables)


def route_line(route: resources.ExpectedRoute, netns: str, kernel: RecordedKernel) -> str:
    number = table(resources.ExpectedRule(route.moved_for), netns, kernel) if route.moved_for else route.table
    destination = str(route.destination)
    if route.destination.prefixlen == 0:
        destination = "default"
    elif route.destination.prefixlen == route.destination.max_prefixlen:
        destination = destination.partition("/")[0]
    is_moved = route.moved_for is not None and route.gateway is None and route.destination.prefixlen != 32
    is_network = is_moved or route.made_for is not None
    words = [family(route.destination), str(number or "main"), destination]
    words += ["via", str(route.gateway)] if route.gateway else []
    words += ["dev", route.link]
    words += ["proto", "kernel"] if is_network else []
    words += ["scope", {253: "link", 254: "host"}[route.scope]] if route.scope else []
    words += ["src", str(route.source)] if route.source else []
    if route.destination.version == 6:
        words += ["metric", "256" if is_network else str(route.priority or 1024)]
    elif route.priority:
        words += ["metric", str(route.priority)]
    return f"{netns} route {' '.join(words)}"


def test_every_exception_is_needed() -> None:
    made = {
        line
        for situation in UNPREPARED.values()
        for netns in RecordedKernel(situation).indexes
        for line in recorded_lines(RecordedKernel(situation), netns)
    }
    assert [pattern for pattern in EXCEPTIONS if not any(re.match(pattern, line) for line in made)] == []


def test_most_cases_are_compared() -> None:
    assert len(DESCRIBED) > 100, json.dumps(sorted(UNPREPARED))
