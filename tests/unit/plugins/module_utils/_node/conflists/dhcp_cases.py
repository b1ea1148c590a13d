# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of networks whose addresses come from dhcp."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    host_local,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_nodes import PLAIN
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import present
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    Corpus,
    NodeCase,
    expect,
    on,
)

CODE = "dhcp-daemon-missing"
SOCKET = "/run/cni/dhcp.sock"
OTHER = "/run/lan/dhcp.sock"
NO_FILE = {SOCKET: f"{SOCKET} does not exist"}
NO_PROCESS = {SOCKET: f"no process listens on {SOCKET}"}
NO_OTHER = {OTHER: f"{OTHER} does not exist"}


def macvlan(**ipam: str) -> JsonObject:
    return {"type": "macvlan", "master": "eth0", "ipam": {"type": "dhcp", **ipam}}


BROKEN: t.Final[Corpus] = {
    CODE: {
        "there is no socket": on(
            PLAIN,
            macvlan(),
            daemon_faults=NO_FILE,
            expected=[expect(CODE, "/plugins/0/ipam/type", f"{SOCKET} does not exist", "ADD fails", "cni_node_dhcp")],
        ),
        "the daemon has ended": on(
            PLAIN,
            bridge("", ipam={"type": "dhcp"}),
            daemon_faults=NO_PROCESS,
            expected=[expect(CODE, "/plugins/0/ipam/type", f"no process listens on {SOCKET}")],
        ),
        "a socket of its own": on(
            PLAIN,
            macvlan(daemonSocketPath=OTHER),
            daemon_faults=NO_OTHER,
            expected=[
                expect(CODE, "/plugins/0/ipam/daemonSocketPath", OTHER, "leave out daemonSocketPath", f"on {SOCKET}")
            ],
        ),
        "an empty path means the default": on(
            PLAIN,
            macvlan(daemonSocketPath=""),
            daemon_faults=NO_FILE,
            expected=[expect(CODE, "/plugins/0/ipam/type", SOCKET)],
        ),
        "of what Multus runs": on(
            PLAIN,
            {"type": "multus", "delegates": [{"name": "lan", "plugins": [macvlan()]}]},
            daemon_faults=NO_FILE,
            expected=[expect(CODE, "/plugins/0/delegates/0/plugins/0/ipam/type", SOCKET)],
        ),
        "of a single plugin's configuration": NodeCase(
            [
                present(
                    "net",
                    b'{"cniVersion": "0.4.0", "name": "net", "type": "macvlan", "master": "eth0", "ipam": {"type": "dhcp"}}',
                )
            ],
            [expect(CODE, "/ipam/type", SOCKET, file="10-net.conf")],
            daemon_faults=NO_FILE,
        ),
    },
}

FINE: t.Final[Corpus] = {
    CODE: {
        "the daemon runs": on(PLAIN, macvlan(), daemon_faults=NO_OTHER),
        "the daemon of its own runs": on(PLAIN, macvlan(daemonSocketPath=OTHER), daemon_faults=NO_FILE),
        "the addresses come from host-local": on(
            PLAIN, bridge("", ipam=host_local("10.1.0.0/16")), daemon_faults=NO_FILE
        ),
        "the path depends on the directory of the runtime": on(
            PLAIN, macvlan(daemonSocketPath="dhcp.sock"), daemon_faults={"dhcp.sock": "it does not exist", **NO_FILE}
        ),
    },
}
