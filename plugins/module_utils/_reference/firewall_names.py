# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import hashlib
import re
import typing as t

# What the reference plugins call the tables of nftables that are theirs alone.
MASQUERADE_TABLE: t.Final = "cni_plugins_masquerade"
PORTS_TABLE: t.Final = "cni_hostport"

# Where bridge checks the MAC of what a container sends (macspoofchk), in a table that others may use as well.
SPOOF_FAMILY: t.Final = "bridge"
SPOOF_TABLE: t.Final = "nat"
SPOOF_CHAIN_PREFIX: t.Final = "cni-br-iface-"
SPOOF_COMMENT_PREFIX: t.Final = "macspoofchk-"

# The chains of iptables that all containers share, and where the kernel looks first.
PORTS_CHAIN: t.Final = "CNI-HOSTPORT-DNAT"
PORTS_HOOKS: t.Final = ("PREROUTING", "OUTPUT")
MASQUERADE_HOOK: t.Final = "POSTROUTING"
# Where the rules are that lead to the chain of a single container, and how the name of that begins.
ENTRANCES: t.Final = (MASQUERADE_HOOK, PORTS_CHAIN)
CHAIN_PREFIX: t.Final = "CNI-"

# How rules of iptables name their owner, those that masquerade and those that map ports alike.
_COMMENT: t.Final = re.compile(r'(?:dnat )?name: "([^"]+)" id: "([^"]+)"')

_CHAIN_LENGTH: t.Final = 28
_LINK_LENGTH: t.Final = 15


def masquerade_chain(network: str, container_id: str) -> str:
    """Return the chain of iptables that bridge and ptp make for a container."""
    return _digest(CHAIN_PREFIX, network + container_id, _CHAIN_LENGTH)


def ports_chain(network: str, container_id: str) -> str:
    """Return the chain of iptables that portmap makes for a container."""
    return _digest(f"{CHAIN_PREFIX}DN-", network + container_id, _CHAIN_LENGTH)


def ifb(network: str, container_id: str) -> str:
    """Return the link that bandwidth makes for a container."""
    return _digest("bwp", network + container_id, _LINK_LENGTH)


def instance(network: str, container_id: str, ifname: str) -> str:
    """Return what the comment of an attachment's rules in `MASQUERADE_TABLE` begins with, before a comma.

    In `PORTS_TABLE`, the comment is the container's id.
    """
    return f"{_digest('', network, 16)}-{_digest('', f'{ifname}:{container_id}', 16)}"


def spoof_owner(container_id: str, ifname: str) -> str:
    """Return what the chains and comments of `SPOOF_TABLE` call a container's interface."""
    return f"{container_id}-{ifname}"


def spoof_chains(owner: str) -> tuple[str, str]:
    """Return the chain for what an interface sends, and the one for the MAC, which that leads to."""
    return f"{SPOOF_CHAIN_PREFIX}{owner}", f"{SPOOF_CHAIN_PREFIX}{owner}-mac"


def owner(comment: str) -> tuple[str, str] | None:
    """Return the network and the container that a comment in iptables names."""
    named = _COMMENT.fullmatch(comment)
    return (named[1], named[2]) if named else None


# An attachment's names are asked for once for each of its addresses.
@functools.lru_cache(maxsize=64)
def _digest(prefix: str, text: str, length: int) -> str:
    return (prefix + hashlib.sha512(text.encode("utf-8")).hexdigest())[:length]


__all__ = (
    "CHAIN_PREFIX",
    "ENTRANCES",
    "MASQUERADE_HOOK",
    "MASQUERADE_TABLE",
    "PORTS_CHAIN",
    "PORTS_HOOKS",
    "PORTS_TABLE",
    "SPOOF_CHAIN_PREFIX",
    "SPOOF_COMMENT_PREFIX",
    "SPOOF_FAMILY",
    "SPOOF_TABLE",
    "ifb",
    "instance",
    "masquerade_chain",
    "owner",
    "ports_chain",
    "spoof_chains",
    "spoof_owner",
)
