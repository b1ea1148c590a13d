# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes made of namespaces, reached over SSH, for tests of a fleet; works inside tests/support/sandbox only."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.fleet import archives, life, snapshot
from ansible_collections.cni.node.tests.fleet.place import (
    DIRECTORY,
    DOOR,
    PYTHON,
    FleetNode,
    FleetRefused,
    client_key,
    known_hosts,
    place,
    places,
)
from ansible_collections.cni.node.tests.support import ring, sandbox, warm_python


def inventory(fleet: pathlib.Path) -> JsonObject:
    """Return the inventory for Ansible's script plugin; every node is in the group `fleet`."""
    nodes = places(fleet)
    return {
        "fleet": {"hosts": [node.name for node in nodes], "vars": _connection(fleet)},
        "_meta": {"hostvars": {node.name: {"ansible_host": node.address} for node in nodes}},
    }


def _connection(fleet: pathlib.Path) -> JsonObject:
    """Return SSH options that ignore the user's own configuration, keys and agent."""
    options = {
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "UserKnownHostsFile": known_hosts(fleet),
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        # A node without power does not even close its connections.
        "ServerAliveInterval": 5,
        "ServerAliveCountMax": 3,
    }
    return {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(client_key(fleet)),
        "ansible_control_path_dir": str(fleet / "ssh"),
        # Without Ansible's -C: payloads are compressed already, and the nodes are near.
        "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=60s",
        "ansible_ssh_common_args": " ".join(["-F none", *(f"-o {name}={value}" for name, value in options.items())]),
        "ansible_python_interpreter": PYTHON if ring.IS_OUTER else str(DOOR / warm_python.PYTHON),
    }


def run(arguments: argparse.Namespace) -> int:
    fleet: pathlib.Path = arguments.dir
    if arguments.command == "up":
        life.up(fleet, arguments.count)
    elif arguments.command == "down":
        life.down(fleet)
    elif arguments.command == "lose":
        life.lose(_select(fleet, arguments.nodes))
    elif arguments.command == "start":
        life.start([node for node in _select(fleet, arguments.nodes) if not life.pid_of(node)])
    elif arguments.command == "inventory":
        print(json.dumps(inventory(fleet), indent=2))
    elif arguments.command == "archives":
        archives.make(arguments.into)
    elif arguments.command == "snapshot":
        snapshot.take(places(fleet))
    else:
        return _compare(places(fleet), arguments.ignore, arguments.without)
    return 0


def _compare(nodes: t.Sequence[FleetNode], ignored: t.Sequence[str], without: t.Sequence[str]) -> int:
    difference = snapshot.compare(nodes, ignored, without)
    print(difference, end="")
    return 1 if difference else 0


def _select(fleet: pathlib.Path, names: t.Sequence[str]) -> list[FleetNode]:
    return [place(fleet, name) for name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fleet", description=__doc__)
    parser.add_argument("--dir", type=pathlib.Path, default=DIRECTORY, help="the fleet's own directory (%(default)s)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("up", help="make so many nodes").add_argument("count", type=int)
    commands.add_parser("down", help="take all of them away")
    commands.add_parser("lose", help="nodes lose their power").add_argument("nodes", nargs="+")
    commands.add_parser("start", help="nodes that were lost come back").add_argument("nodes", nargs="+")
    commands.add_parser("inventory", help="print Ansible's inventory")
    making = commands.add_parser("archives", help="make release archives of the plugins that the machine has")
    making.add_argument("into", type=pathlib.Path)
    commands.add_parser("snapshot", help="keep in mind what each node is like")
    compare = commands.add_parser(
        "compare", help="print what has changed since the snapshot; exit with 1 if anything has"
    )
    compare.add_argument("--ignore", action="append", default=[], metavar="REGEX", help="lines that do not count")
    compare.add_argument(
        "--without", action="append", default=[], metavar="SECTION", help="a section that does not count"
    )
    return parser


def main(argv: t.Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        if "CNI_SANDBOX" not in os.environ:
            raise FleetRefused("it makes links and mounts: run it inside tests/support/sandbox")
        return run(arguments)
    except (FleetRefused, sandbox.SandboxRefused, TimeoutError) as error:
        print(f"fleet: {error}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"fleet: {error}: {error.stderr or ''}".rstrip(": "), file=sys.stderr)
    return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
