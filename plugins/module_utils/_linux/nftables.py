# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux import program

_OUTPUT_LIMIT: t.Final = 256 * 1024 * 1024


class NftRule(t.NamedTuple):
    """A rule with a comment.

    Attributes:
        family: ``ip``, ``ip6`` or ``inet``.
        handle: Its number in the table.
        addresses: Every address in it, but for those of the node itself.
        values: Every word and every number in it, these addresses included; no networks.
    """

    family: str
    table: str
    chain: str
    handle: int
    comment: str
    addresses: tuple[str, ...]
    values: frozenset[str | int]


def is_installed() -> bool:
    return program.find("nft") is not None


def rules(*names: str) -> list[NftRule]:
    """Return the rules with comments of all tables of these names; none where nft is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    tables = [one["table"] for one in _list("tables") if one.get("table", {}).get("name") in names]
    listed = [_list("table", table["family"], table["name"]) for table in tables]
    entries = [one["rule"] for entries in listed for one in entries if "rule" in one]
    return [_rule(entry) for entry in entries if entry.get("comment")]


def remove(rule: NftRule) -> None:
    """Remove a rule.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("nft")
    if path:
        program.output([path, "delete", "rule", rule.family, rule.table, rule.chain, "handle", str(rule.handle)])


def _list(*what: str) -> list[dict[str, t.Any]]:
    path = program.find("nft")
    found = program.json_output([path, "-j", "list", *what], limit=_OUTPUT_LIMIT) if path else None
    return t.cast("list[dict[str, t.Any]]", found["nftables"]) if found else []


def _rule(entry: t.Mapping[str, t.Any]) -> NftRule:
    values = dict.fromkeys(_values(entry.get("expr")))
    addresses = tuple(value for value in values if isinstance(value, str) and _is_address(value))
    place = (entry["family"], entry["table"], entry["chain"], entry["handle"])
    return NftRule(*place, entry["comment"], addresses, frozenset(values))


def _values(value: t.Any) -> t.Iterator[str | int]:
    """Look for words and numbers wherever they are in an expression."""
    if isinstance(value, dict):
        value = [] if "prefix" in value else list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _values(one)
    elif isinstance(value, (str, int)):
        yield value


def _is_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


__all__ = ("NftRule", "is_installed", "remove", "rules")
