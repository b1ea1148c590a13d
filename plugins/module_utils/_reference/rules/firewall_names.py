# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The names of chains, links and comments that the reference plugins derive from an attachment."""

from __future__ import annotations

import functools
import re

# The nftables tables that only the reference plugins use.
MASQUERADE_TABLE = "cni_plugins_masquerade"
PORTS_TABLE = "cni_hostport"

# Where bridge checks the source MAC of a container (macspoofchk). Other programs may use the table as well.
SPOOF_FAMILY = "bridge"
SPOOF_TABLE = "nat"
SPOOF_CHAIN_PREFIX = "cni-br-iface-"
SPOOF_COMMENT_PREFIX = "macspoofchk-"

# The iptables chains that all containers share, and the built-in chains that jump to them.
PORTS_CHAIN = "CNI-HOSTPORT-DNAT"
PORTS_HOOKS = ("PREROUTING", "OUTPUT")
MASQUERADE_HOOK = "POSTROUTING"
# The chains with jumps to the chain of a single container, and how the name of the latter begins.
ENTRANCES = (MASQUERADE_HOOK, PORTS_CHAIN)
CHAIN_PREFIX = "CNI-"

FORWARD_CHAIN = "CNI-FORWARD"
ADMIN_CHAIN = "CNI-ADMIN"
ISOLATION_CHAINS = ("CNI-ISOLATION-STAGE-1", "CNI-ISOLATION-STAGE-2")

# How comments of iptables rules name their owner, and how iptables-save prints that.
_COMMENT = re.compile(r'(?:dnat )?name: "([^"]+)" id: "([^"]+)"')
_PRINTED = re.compile(r'name: \\"([^"\\]+)\\" id: \\"([^"\\]+)\\"')

_CHAIN = re.compile(r"CNI-(DN-[0-9a-f]{21}|[0-9a-f]{24})")
_IFB = re.compile(r"bwp[0-9a-f]{12}")
# Digests of the network and of the interface and container identify the owner. The names after them may be cut off.
_INSTANCE = re.compile(r"([0-9a-f]{16}-[0-9a-f]{16}), net: ([^,]+), if: [^,]+, id: (.*)")

_CHAIN_LENGTH = 28
_LINK_LENGTH = 15


def masquerade_chain(network: str, container_id: str) -> str:
    """Return the iptables chain that bridge and ptp make for a container."""
    return _digest(CHAIN_PREFIX, network + container_id, _CHAIN_LENGTH)


def ports_chain(network: str, container_id: str) -> str:
    """Return the iptables chain that portmap makes for a container."""
    return _digest(f"{CHAIN_PREFIX}DN-", network + container_id, _CHAIN_LENGTH)


def container_chains(network: str, container_id: str) -> tuple[str, str]:
    """Return the iptables chains that belong to a container."""
    return masquerade_chain(network, container_id), ports_chain(network, container_id)


def is_container_chain(name: str) -> bool:
    """Return whether a chain has a name of `container_chains`."""
    return _CHAIN.fullmatch(name) is not None


def ifb(network: str, container_id: str) -> str:
    """Return the name of the link that bandwidth makes for a container."""
    return _digest("bwp", network + container_id, _LINK_LENGTH)


def is_ifb(name: str) -> bool:
    """Return whether a link has a name of `ifb`."""
    return _IFB.fullmatch(name) is not None


def first_link(network: str, container_id: str, ifname: str) -> str:
    """Return the name of a link of an attachment until it gets that of the interface."""
    return _digest("cni", f"{network}/{container_id}/{ifname}", _LINK_LENGTH)


def parse_instance(comment: str) -> tuple[str, str, str] | None:
    """Return the `instance`, the network and the container in a comment of `MASQUERADE_TABLE`, None for another comment."""
    match = _INSTANCE.fullmatch(comment)
    return (match[1], match[2], match[3]) if match else None


def instance(network: str, container_id: str, ifname: str) -> str:
    """Return the text before the first comma in the comment of an attachment's rules in `MASQUERADE_TABLE`.

    In `PORTS_TABLE`, the comment is the container's id.
    """
    return f"{_digest('', network, 16)}-{_digest('', f'{ifname}:{container_id}', 16)}"


def spoof_owner(container_id: str, ifname: str) -> str:
    """Return the name of a container's interface in the chains and comments of `SPOOF_TABLE`."""
    return f"{container_id}-{ifname}"


def spoof_chains(owner: str) -> tuple[str, str]:
    """Return the chain for the traffic of an interface, and the chain to which it jumps to check the MAC."""
    return f"{SPOOF_CHAIN_PREFIX}{owner}", f"{SPOOF_CHAIN_PREFIX}{owner}-mac"


def spoof_names(container_id: str, ifname: str) -> tuple[str, str, str]:
    """Return the chains of an interface in `SPOOF_TABLE`, and the comment of their rules."""
    name = spoof_owner(container_id, ifname)
    return (*spoof_chains(name), f"{SPOOF_COMMENT_PREFIX}{name}")


def owner(comment: str) -> tuple[str, str] | None:
    """Return the network and the container in the comment of an iptables rule, None for another comment."""
    match = _COMMENT.fullmatch(comment)
    return (match[1], match[2]) if match else None


def owner_in(line: str) -> tuple[str, str] | None:
    """Return the network and the container that a rule seems to name, as iptables-save prints it; None for another rule.

    It is the quick way to find the few rules among many whose comments are worth to be read.
    """
    match = _PRINTED.search(line)
    return (match[1], match[2]) if match else None


# A comparison needs the names of an attachment once for each of its addresses.
@functools.lru_cache(maxsize=64)
def _digest(prefix: str, text: str, length: int) -> str:
    # The import takes a twentieth of the start of a built-in executable, and most of them need no such name.
    import hashlib

    return (prefix + hashlib.sha512(text.encode("utf-8")).hexdigest())[:length]
