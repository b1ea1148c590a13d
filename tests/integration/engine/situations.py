# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reproducible situations in which a run has work to do, and the node's state after it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import pathlib
import re
import shutil
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import LINK, UNIT
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    ModuleRun,
    attachment,
    remove,
    replace,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.state import State, link_lines, tree_lines

# Random values: names of veths on the node, MACs, and tuning's file with the previous MAC.
MADE_UP = re.compile(r"(?<=veth)[0-9a-f]{8}|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?<=31 bytes sha256 )[0-9a-f]{16}")

# Rules that no plugin has written.
OTHERS = (
    "-t nat -A POSTROUTING -p tcp -j ACCEPT",
    "-t nat -A PREROUTING -p tcp -j ACCEPT",
    "-A FORWARD -p udp -j DROP",
)


class Situation:
    """A node before a run, and the run; `prepare` establishes the node's state from any other."""

    module = "attachments"
    # With a single container address: a leaked lease prevents every further ADD.
    subnet = "10.1.0.0/30"

    def __init__(self, node: EngineNode, blue: Namespace) -> None:
        self.node, self.blue = node, blue
        self.engine = Engine(node)
        self.item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
        self.configure("500")

    def configure(self, somaxconn: str) -> None:
        tuning = {**reference_networks.TUNING, "sysctl": {"net.core.somaxconn": somaxconn}}
        ipam = reference_networks.host_local(self.subnet, routes=[{"dst": "0.0.0.0/0"}])
        self.node.write(
            reference_networks.network(
                reference_networks.bridge(ipMasq=True, ipam=ipam), tuning, reference_networks.PORTMAP
            )
        )

    def prepare(self) -> None:
        self.engine.ensure(self.item, present=False)

    @property
    def arguments(self) -> JsonObject:
        return {"attachments": [self.item]}

    def find_interrupted(self) -> str:
        """Return the operation that was interrupted, read from the disk."""
        intents = [path for path in self.node.intents() if not durable.is_temporary(path.name)]
        commands = {path.name: str(json.loads(path.read_bytes())["cni.node"]["command"]) for path in intents}
        results = self.node.cache_dir / "results"
        return "".join(
            command for name, command in commands.items() if command == "DEL" or not (results / name).exists()
        )

    def check_report(self, interrupted: str, was_wrong: bool, done: ModuleRun) -> None:
        """Check the report of a run that follows an interrupted one."""
        assert done.result["changed"] == was_wrong
        if interrupted:
            assert [entry["reason"] for entry in done.entries] == [f"an earlier run was interrupted at {interrupted}"]


class Add(Situation):
    """An attachment is requested and none exists."""


class SituationWithAttachment(Situation):
    def prepare(self) -> None:
        super().prepare()
        self.engine.ensure(self.item, check="never")


class Delete(SituationWithAttachment):
    """An existing attachment is requested as absent."""

    @property
    def arguments(self) -> JsonObject:
        return {"attachments": [{**self.item, "state": "absent"}]}


class DeleteLost(Delete):
    """An existing attachment is requested as absent, and its namespace was replaced."""

    def prepare(self) -> None:
        super().prepare()
        replace(self.blue)


class Purge(SituationWithAttachment):
    """A run purges and requests no attachments."""

    @property
    def arguments(self) -> JsonObject:
        return {"attachments": [], "purge": True}


class ChangedNetwork(SituationWithAttachment):
    """The attachment's network has changed."""

    def prepare(self) -> None:
        self.configure("500")
        super().prepare()
        self.configure("600")


class Collect(Situation):
    """One attachment lost its namespace, one also its record, and a run was killed while writing a file."""

    module = "gc"
    subnet = "10.1.0.0/29"
    arguments: t.ClassVar[JsonObject] = {"min_age": 0}

    def prepare(self) -> None:
        shutil.rmtree("/var/lib/cni/networks", ignore_errors=True)  # host-local starts with its first address again
        for name in ("green", "red"):
            subprocess.run(["ip", "netns", "add", name], check=True)
            item = attachment("net", Namespace(name))
            self.engine.ensure(item, check="never")
            remove(Namespace(name))
        self.node.record_of(item).unlink()
        (self.node.cache_dir / "results" / ".cni.node-0123456789abcdef.tmp").touch()

    def check_report(self, interrupted: str, was_wrong: bool, done: ModuleRun) -> None:
        assert done.result["changed"] or not was_wrong
        collected = {
            finding["kind"] for finding in done.result["findings"] if finding["action"] in ("deleted", "removed")
        }
        assert "intent" in collected or not interrupted


class Repair(Situation):
    """The rules of an attachment are lost in each tool, and rules of others have come in between."""

    module = "repair"
    arguments: t.ClassVar[JsonObject] = {}

    def configure(self, somaxconn: str) -> None:
        ipam = reference_networks.host_local(self.subnet, "fd00:1::/64")
        bridge = reference_networks.bridge(ipMasq=True, macspoofchk=True, ipam=ipam)
        self.node.write(reference_networks.network(bridge, reference_networks.PORTMAP, reference_networks.FIREWALL))

    def prepare(self) -> None:
        self.engine.ensure(self.item, check="never")
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        for tool in ("iptables", "ip6tables"):
            for rule in OTHERS:
                subprocess.run([tool, "-w", *rule.split()], check=True)
        subprocess.run(
            ["nft", "-f", "-"], input="add table bridge nat\nadd chain bridge nat other\n", text=True, check=True
        )


class AddPersistent(Situation):
    """An attachment with `persist` is requested."""

    def prepare(self) -> None:
        self.node.detach(self.item)

    @property
    def arguments(self) -> JsonObject:
        return {"attachments": [{**self.item, "persist": True}], "check": "never"}


class DeletePersistent(Delete):
    """The only attachment with `persist` is requested as absent."""

    def prepare(self) -> None:
        self.node.attach({**self.item, "persist": True}, check="never")


class Verify(Situation):
    """A network is verified in a throw-away namespace."""

    module = "verify"
    arguments: t.ClassVar[JsonObject] = {"gateway_timeout": 0}

    def find_interrupted(self) -> str:
        """Return where the run was interrupted, or an empty string."""
        is_attached = any((self.node.cache_dir / "results").glob("[!.]*"))
        return (
            f"at {interrupted}" if (interrupted := super().find_interrupted()) else "before DEL" if is_attached else ""
        )

    def check_report(self, interrupted: str, was_wrong: bool, done: ModuleRun) -> None:
        (entry,) = done.result["networks"]
        assert entry["reason"] == (f"an earlier run was interrupted {interrupted}" if interrupted else "")


def state_of(situation: Situation) -> State:
    """Return a comparable state of the node and the namespace."""
    node, blue = situation.node, situation.blue
    with inside(blue.path):
        links = link_lines()
        sysctl = pathlib.Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii").split()
    sections = {
        **node.state().sections,
        "records": [_record(path) for path in sorted((node.cache_dir / "results").glob("[!.]*"))],
        "links inside": links,
        "routes inside": sorted(json.dumps(route, sort_keys=True) for route in blue.routes()),
        "sysctls inside": sysctl,
        "files for a reboot": [line for path in (UNIT, LINK) for line in tree_lines(path)],
        "locks that are held": _list_held_locks(node.cache_dir / "cni.node" / "locks"),
    }
    return State({name: [_without_random_values(line) for line in lines] for name, lines in sections.items()})


def _record(path: pathlib.Path) -> str:
    record = json.loads(path.read_bytes())
    return f"{path.name} {json.dumps(record, sort_keys=True)}"


def _without_random_values(line: str) -> str:
    return MADE_UP.sub(lambda match: match[0] if match[0] == reference_networks.MAC else "*", line)


def _list_held_locks(directory: pathlib.Path) -> list[str]:
    held = []
    for path in directory.glob("*"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(path.name)
    return held
