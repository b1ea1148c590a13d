# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Limit the rates of links, by the library pyroute2: token buckets need tables that it computes."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import LATENCY, bound_burst

LIBRARY = "pyroute2"

# linux/pkt_sched.h, linux/if_ether.h
_ROOT, _TBF_HANDLE, _INGRESS_HANDLE = 0xFFFFFFFF, 0x10000, 0xFFFF0000
_FILTER_CLASS = 0x10001
_ETH_P_ALL = 3


@functools.lru_cache(maxsize=1)
def is_available() -> bool:
    """Return whether the library is installed."""
    return importlib.util.find_spec(LIBRARY) is not None


def limit_rate(ifindex: int, rate: int, burst: int) -> None:
    """Limit what a link of this thread's network namespace sends to a rate in bytes per second, with bursts in bytes.

    A burst that the kernel cannot count becomes the largest one that it can.

    Raises:
        CniError: ``NOT_AVAILABLE`` without pyroute2; ``IO_FAILURE``.
    """
    limits = {"rate": rate, "burst": bound_burst(rate, burst), "latency": f"{LATENCY * 1000:.0f}ms"}
    with _connect() as route, _wrap_errors("limit the rate"):
        route.tc("replace", "tbf", index=ifindex, handle=_TBF_HANDLE, parent=_ROOT, **limits)


def redirect(ifindex: int, target: int) -> None:
    """Redirect all that a link receives to another one; errors as `limit_rate`."""
    action = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": target}
    with _connect() as route:
        with _wrap_errors("stop the redirection of what the link receives", errno.ENOENT, errno.EINVAL):
            route.tc("del", "ingress", index=ifindex, handle=_INGRESS_HANDLE)
        with _wrap_errors("redirect what the link receives"):
            route.tc("add", "ingress", index=ifindex, handle=_INGRESS_HANDLE)
            route.tc(
                "add-filter",
                "u32",
                index=ifindex,
                parent=_INGRESS_HANDLE,
                prio=1,
                protocol=_ETH_P_ALL,
                target=_FILTER_CLASS,
                keys=["0x0/0x0+0"],
                action=[action],
            )


@contextlib.contextmanager
def _connect() -> t.Iterator[t.Any]:
    try:
        # Loading it takes longer than a run that writes nothing.
        import pyroute2
    except ImportError as exc:
        what = f"rate limits need the Python library {LIBRARY}, which the node lacks"
        raise CniError(Code.NOT_AVAILABLE, what, f"install the package python3-{LIBRARY}") from exc
    with _wrap_errors("open a netlink socket"):
        route = pyroute2.IPRoute()
    with route:
        yield route


@contextlib.contextmanager
def _wrap_errors(action: str, *ignored: int) -> t.Iterator[None]:
    from pyroute2.netlink.exceptions import NetlinkError  # the library has been loaded by then

    try:
        yield
    except (NetlinkError, OSError) as exc:
        number = exc.code if isinstance(exc, NetlinkError) else exc.errno
        if number not in ignored:
            reason = exc.args[1] if len(exc.args) > 1 else exc
            raise CniError(Code.IO_FAILURE, f"cannot {action}: {reason}") from exc
