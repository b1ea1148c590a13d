# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The chains of nf_tables in the kernel, for a node that lacks the program which lists them."""

from __future__ import annotations

import errno
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink

# linux/netfilter.h, linux/netfilter/nf_tables.h
FAMILIES = {1: "inet", 2: "ip", 7: "bridge", 10: "ip6"}
_GET_CHAIN, _GET_GENERATION = 10 << 8 | 4, 10 << 8 | 16
_TABLE, _NAME = 1, 3
_GENERATION_ID = 1
# The kernel was built without nfnetlink, or without nf_tables.
_WITHOUT = (errno.EPROTONOSUPPORT, errno.EOPNOTSUPP, errno.EINVAL)
_ATTEMPTS = 5


class Chain(t.NamedTuple):
    """A chain; that of iptables, too, unless it is a legacy one."""

    family: str
    table: str
    name: str


def list_chains() -> tuple[Chain, ...]:
    """Return all chains of this thread's network namespace; none if the kernel has no nf_tables.

    Raises:
        CniError: ``IO_FAILURE``: the kernel does not list them; ``TRY_AGAIN``: rules were changed during each attempt, so that
            some may be missing.
    """
    for _attempt in range(_ATTEMPTS):
        begun = generation()
        chains = _read_chains()
        if generation() == begun:
            return chains
    raise CniError(Code.TRY_AGAIN, "the chains of nf_tables were changed while they were listed", "run the task again")


def _read_chains() -> tuple[Chain, ...]:
    try:
        with netlink.Connection(netlink.NETFILTER) as connection:
            return netlink.list_entries(connection, _GET_CHAIN, netlink.NETFILTER_HEADER.pack(0, 0, 0), _decode)
    except OSError as exc:
        if exc.errno in _WITHOUT:
            return ()
        raise io_error("list", "the chains of nf_tables", exc) from exc


def generation() -> int | None:
    """Return how often the rules of this thread's network namespace have been changed; None if the kernel does not tell.

    Each transaction counts as one, whichever program commits it. nft compares the count, too, before it trusts a listing.
    """
    try:
        with netlink.Connection(netlink.NETFILTER) as connection:
            answer, start, end = connection.get(_GET_GENERATION, netlink.NETFILTER_HEADER.pack(0, 0, 0))
            place = netlink.attributes(answer, start + netlink.NETFILTER_HEADER.size, end).get(_GENERATION_ID)
    except OSError:
        return None
    return None if place is None else int.from_bytes(answer[slice(*place)], "big")


def _decode(answer: bytes, start: int, end: int) -> Chain | None:
    family = FAMILIES.get(answer[start], "")
    places = netlink.attributes(answer, start + netlink.NETFILTER_HEADER.size, end)
    if not family or not {_TABLE, _NAME} <= places.keys():
        return None
    return Chain(family, netlink.text(answer, places[_TABLE]), netlink.text(answer, places[_NAME]))


def require_none(name: str, package: str, is_own: t.Callable[[Chain], bool]) -> None:
    """Raise an error if the kernel has certain chains, and the node lacks the program that lists and removes them.

    Raises:
        CniError: ``NOT_AVAILABLE``; or as `list_chains`.
    """
    if program.find(name):
        return
    chain = next(filter(is_own, list_chains()), None)
    if chain is not None:
        what = f"{name} is not installed, and the kernel has the chain {chain.name}, which may be the attachment's"
        advice = f"expected: the program {name}; install the package {package}"
        raise CniError(Code.NOT_AVAILABLE, what, advice)
