# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Queueing disciplines of this thread's network namespace: rates of links, and redirection of their traffic."""

from __future__ import annotations

import errno
import math
import struct
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.netlink import (
    Connection,
    attributes,
    list_entries,
    text,
)

# linux/rtnetlink.h, linux/pkt_sched.h, linux/pkt_cls.h, linux/tc_act/tc_mirred.h
_RTM_DELQDISC, _RTM_GETQDISC, _RTM_GETTFILTER = 37, 38, 46
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TCA_TBF_PARMS, _TCA_TBF_RATE64 = 1, 4
_TCA_ACT_KIND, _TCA_ACT_OPTIONS, _TCA_MIRRED_PARMS = 1, 2, 2
# The attribute with the actions, by the kind of a filter; rsvp and tcindex are those of kernels before 6.3.
_ACTIONS = {
    "basic": 3,
    "bpf": 1,
    "cgroup": 1,
    "flow": 9,
    "flower": 3,
    "fw": 4,
    "matchall": 2,
    "route": 6,
    "rsvp": 6,
    "rsvp6": 6,
    "tcindex": 7,
    "u32": 7,
}
_EGRESS_REDIRECT = 1
_TC_H_ROOT = 0xFFFFFFFF
# The qdisc ingress or clsact, and its filters for what the link receives.
_INGRESS_PARENT, _INGRESS = 0xFFFFFFF1, 0xFFFFFFF2
_MESSAGE = struct.Struct("=BxxxiIII")
# Offsets in struct tc_tbf_qopt, and in struct tc_mirred.
_RATE_AT, _BUFFER_AT = 8, 28
_MIRRED = struct.Struct("=20xiI")
_NUMBER = struct.Struct("=I")
_LARGE = struct.Struct("=Q")
# The kernel counts time in units of 64 ns.
_TICK = 64 / 1e9


_LAST_NUMBER = (1 << 32) - 1
# Seconds for which a packet may wait.
LATENCY = 0.025


class TokenBucket(t.NamedTuple):
    """A limit of a link's rate.

    Attributes:
        rate: In bytes per second.
        burst: In bytes; rounded by the kernel.
    """

    rate: int
    burst: int


def bound_burst(rate: int, burst: int) -> int:
    """Return a burst, limited to the largest that a token bucket can have: the kernel counts its time in 32 bits.

    Args:
        rate: In bytes per second.
        burst: In bytes.
    """
    longest = int(_LAST_NUMBER * _TICK * 1e6)  # microseconds
    return min(burst, rate * longest // 10**6, _LAST_NUMBER - math.ceil(rate * LATENCY))


def token_buckets() -> dict[int, TokenBucket]:
    """Return the limits of all links, by interface index.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return dict(_list(_RTM_GETQDISC, _MESSAGE.pack(0, 0, 0, 0, 0), _token_bucket))


def redirects(ifindex: int) -> set[int]:
    """Return the indexes of the links to which filters redirect what a link receives; none if there is no such link.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    filters = _list(_RTM_GETTFILTER, _MESSAGE.pack(0, ifindex, 0, _INGRESS, 0), _redirects)
    return {target for targets in filters for target in targets}


def stop_redirection(ifindex: int) -> None:
    """Remove all that is done with what a link receives; do nothing if there is nothing, or no such link.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        with Connection() as connection:
            connection.change(_RTM_DELQDISC, _MESSAGE.pack(0, ifindex, 0, _INGRESS_PARENT, 0))
    except OSError as exc:
        if exc.errno not in (errno.ENODEV, errno.ENOENT, errno.EINVAL):
            raise io_error("stop the redirection of", f"link number {ifindex}", exc) from exc


T = t.TypeVar("T")


# A limit of the kind htb, whose classes have the rates.
OTHER_LIMIT = TokenBucket(0, 0)


def _list(kind: int, body: bytes, decode: t.Callable[[bytes, int, int], T | None]) -> tuple[T, ...]:
    with rtnetlink.wrap_errors("the queueing disciplines of", "the network namespace"), Connection() as connection:
        return list_entries(connection, kind, body, decode)


def _token_bucket(answer: bytes, start: int, end: int) -> tuple[int, TokenBucket] | None:
    dummy, ifindex, dummy, parent, dummy = _MESSAGE.unpack_from(answer, start)
    places = attributes(answer, start + _MESSAGE.size, end)
    if parent != _TC_H_ROOT or _TCA_OPTIONS not in places:
        return None
    kind = text(answer, places[_TCA_KIND])
    if kind != "tbf":
        return (ifindex, OTHER_LIMIT) if kind == "htb" else None
    options = attributes(answer, *places[_TCA_OPTIONS])
    begin, dummy = options[_TCA_TBF_PARMS]
    rate = int(_NUMBER.unpack_from(answer, begin + _RATE_AT)[0])
    if _TCA_TBF_RATE64 in options:  # a rate of more than 32 bits
        rate = int(_LARGE.unpack_from(answer, options[_TCA_TBF_RATE64][0])[0])
    ticks = int(_NUMBER.unpack_from(answer, begin + _BUFFER_AT)[0])
    return ifindex, TokenBucket(rate, round(ticks * _TICK * rate))


def _redirects(answer: bytes, start: int, end: int) -> set[int]:
    places = attributes(answer, start + _MESSAGE.size, end)
    options = attributes(answer, *places[_TCA_OPTIONS]) if _TCA_OPTIONS in places else {}
    kind = _ACTIONS.get(text(answer, places[_TCA_KIND]), 0)
    actions = attributes(answer, *options[kind]) if kind in options else {}
    targets = (_target(answer, attributes(answer, *place)) for place in actions.values())
    return {target for target in targets if target}


def _target(answer: bytes, action: t.Mapping[int, tuple[int, int]]) -> int:
    if text(answer, action[_TCA_ACT_KIND]) != "mirred" or _TCA_ACT_OPTIONS not in action:
        return 0
    options = attributes(answer, *action[_TCA_ACT_OPTIONS])
    kind, ifindex = _MIRRED.unpack_from(answer, options[_TCA_MIRRED_PARMS][0])
    return int(ifindex) if kind == _EGRESS_REDIRECT else 0
