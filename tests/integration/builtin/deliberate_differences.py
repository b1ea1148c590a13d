# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the built-in plugins differ from release 1.9.1 on purpose, and why.

`deliberate_differences.json` has by case, or pattern of cases, and by reason the paths whose values differ. A path stands
for everything below it. `docs/differences.md` explains each reason to the operator.
"""

from __future__ import annotations

import enum
import fnmatch
import json
import pathlib

_FILE = pathlib.Path(__file__).with_suffix(".json")


class Reason(enum.Enum):
    """Each value is in the documentation, word for word."""

    ADD_LEAVES_NOTHING = "an ADD that fails removes what it has made, except for the bridge"
    BRIDGE_IS_UP = "bridge switches off router advertisements only while the bridge is down"
    CHECK_FINDS = (
        "CHECK finds a lost address of the bridge, lost masquerading, a lost route to the container, "
        "a lost route of the kernel to the container's subnet, and forwarding that is switched off"
    )
    DEFAULT_ROUTE = "bridge adds the default route of the main table once, by the gateway of the address"
    DEL_COMPLETES = "DEL completes although ADD refuses the configuration"
    DEL_MISSING_LINK = "DEL of host-device succeeds when the device is not in the container"
    DEL_WITHOUT_NAMESPACE = (
        "DEL without the network namespace succeeds, and removes masquerading, leases, ifb links and the file of tuning"
    )
    GC_FREES = "GC of host-local frees the leases of attachments that are not listed as valid"
    LOOPBACK_RESULT = "loopback prints the result in the form of the requested version"
    MASQ_ALL = "`masqAll` of portmap masquerades every connection to a mapped port with nftables as well"
    MULTIQUEUE_MAC = "tap sets the configured MAC of a device with `multiQueue` too"
    NO_CRASH = "tuning applies these settings"
    NO_DHCP = "there is no built-in dhcp; its executable is needed"
    NO_FALSE_ALARM = (
        "CHECK accepts a bridge without IPAM, a route with a `table`, an address without a gateway, "
        "another MAC of the node's end of the pair, and a bridge that was made promiscuous"
    )
    NO_LOCK = "DEL and CHECK of host-local create no directory and no lock file"
    NOTHING_RESERVED = (
        "ADD of host-local refuses a requested address that is in no range before it reserves another one"
    )
    ONE_REDIRECT = "the filter of bandwidth redirects a packet once"
    OTHER_LINK = "DEL leaves a link that has the interface's name and is not the one that ADD made"
    OWN_NAMESPACE = "ADD refuses the node's own network namespace before it changes anything"
    SECOND_INTERFACE = "ptp adds a second interface to a container from the same range"
    SHARED_CHAIN = "DEL of one interface keeps the masquerading of the container's other interfaces"
    TAKEN_NAME = "tap refuses an interface name that the container already has"


def table() -> dict[str, dict[Reason, list[str]]]:
    """Return the paths that differ, by pattern of cases and reason."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return {pattern: {Reason[name]: paths for name, paths in reasons.items()} for pattern, reasons in content.items()}


def list_paths(case: str) -> list[str]:
    """Return the paths that differ in a case."""
    return [
        path
        for pattern, reasons in table().items()
        if fnmatch.fnmatchcase(case, pattern)
        for paths in reasons.values()
        for path in paths
    ]


def is_below(path: str, top: str) -> bool:
    """Return whether a path is another one or lies below it."""
    return f"{path}/".startswith(f"{top}/")
