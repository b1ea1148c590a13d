# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import hashlib
import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.plugin_utils._validation.addresses import Network


def node_subnets(
    cluster: str, hosts: t.Sequence[str], prefix: int, assigned: t.Mapping[str, str] | None = None
) -> dict[str, str]:
    """Cut a subnet for each host out of a range.

    A host that has one keeps it. Any other gets the one that its name leads to, or the next that is free. What is
    assigned to a host that is not asked for stays with that host.

    Args:
        cluster: The range, as a network.
        prefix: Length of the subnets' prefix.
        assigned: What hosts have from before.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument does not do, or there are fewer subnets than hosts.
    """
    whole = _network(cluster, "the range")
    if not whole.prefixlen <= prefix <= whole.max_prefixlen:
        raise _invalid(f"prefix: {prefix}", f"expected: {whole.prefixlen} to {whole.max_prefixlen}, to cut {whole}")
    step = 1 << (whole.max_prefixlen - prefix)
    taken = {_slot(host, subnet, whole, prefix, step): host for host, subnet in (assigned or {}).items()}
    if len(taken) != len(assigned or {}):
        raise _invalid(
            f"assigned: {_twice(assigned or {})} is assigned to two hosts", "expected: one host for a subnet"
        )
    slots = {host: slot for slot, host in taken.items()}
    for host in sorted(set(hosts) - slots.keys()):
        slots[host] = _free(host, taken, 1 << (prefix - whole.prefixlen), whole)
        taken[slots[host]] = host
    return {host: f"{whole.network_address + slots[host] * step}/{prefix}" for host in hosts}


def _slot(host: str, subnet: str, whole: Network, prefix: int, step: int) -> int:
    found = _network(subnet, f"assigned to {host}")
    offset = int(found.network_address) - int(whole.network_address)
    if found.version != whole.version or found.prefixlen != prefix or not 0 <= offset < whole.num_addresses:
        raise _invalid(f"assigned to {host}: {subnet}", f"expected: a /{prefix} of {whole}")
    return offset // step


def _free(host: str, taken: t.Mapping[int, str], slots: int, whole: Network) -> int:
    if len(taken) >= slots:
        raise _invalid(
            f"{whole} has {slots} subnets, which are all taken; {host} gets none", "widen the range, or cut it finer"
        )
    slot = int.from_bytes(hashlib.sha256(host.encode("utf-8", "surrogatepass")).digest(), "big") % slots
    while slot in taken:
        slot = (slot + 1) % slots
    return slot


def _network(text: str, what: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as exc:
        raise _invalid(f"{what}: {text!r}: {exc}", "expected: a network such as 10.244.0.0/16") from exc


def _twice(assigned: t.Mapping[str, str]) -> str:
    subnets = list(assigned.values())
    return next((subnet for subnet in subnets if subnets.count(subnet) > 1), "a subnet")


def _invalid(problem: str, expected: str) -> CniError:
    return CniError(Code.INVALID_CONFIG, problem, expected)


__all__ = ("node_subnets",)
