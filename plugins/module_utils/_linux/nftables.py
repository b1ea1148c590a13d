# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ipaddress
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import nf_tables, program

_OUTPUT_LIMIT: t.Final = 256 * 1024 * 1024
# Entries that nft lists for every table.
_USUAL: t.Final = ("metainfo", "table", "chain", "rule")


class NftRule(t.NamedTuple):
    """An nftables rule.

    Attributes:
        family: ``ip``, ``ip6``, ``inet`` or ``bridge``.
        handle: Its number in the table.
        comment: An empty string if it has none.
        addresses: All addresses in it except loopback addresses.
        values: All words and numbers in it, addresses included, networks excluded.
        targets: The chains of its jumps and gotos.
    """

    family: str
    table: str
    chain: str
    handle: int
    comment: str
    addresses: tuple[str, ...]
    values: frozenset[str | int]
    targets: frozenset[str] = frozenset()


class NftTable(t.NamedTuple):
    """An nftables table.

    Attributes:
        hooks: The hook of each base chain, such as ``prerouting``; empty for a regular chain.
        others: Its other objects, as ``set`` or ``map`` with a name.
    """

    family: str
    name: str
    hooks: dict[str, str]
    rules: list[NftRule]
    others: tuple[str, ...] = ()

    def reached_from(self, hook: str) -> frozenset[str]:
        """Return the chains reached from a hook, directly or through jumps."""
        waiting = [chain for chain, entered in self.hooks.items() if entered == hook]
        reached: set[str] = set()
        while waiting:
            chain = waiting.pop()
            if chain not in reached:
                reached.add(chain)
                waiting += [target for rule in self.rules if rule.chain == chain for target in rule.targets]
        return frozenset(reached)


def is_installed() -> bool:
    return program.find("nft") is not None


def require_no_chain(table: str, is_own: t.Callable[[str], bool] | None = None) -> None:
    """Raise an error if the kernel has one of certain chains, by default any, in a table, and nft is not installed.

    Raises:
        CniError: ``NOT_AVAILABLE``.
    """
    nf_tables.require_none(
        "nft", "nftables", lambda chain: chain.table == table and (is_own is None or is_own(chain.name))
    )


def tables(*names: str, family: str = "") -> list[NftTable]:
    """Return the tables with these names, of one family or of all; none if nft is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    listed = _list("tables", *filter(None, [family]))
    matching = [entry["table"] for entry in listed if entry.get("table", {}).get("name") in names]
    return [_table(entry["family"], entry["name"]) for entry in matching]


def rules(*names: str) -> list[NftRule]:
    """Return the rules with comments in the tables with these names; none if nft is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return [rule for table in tables(*names) for rule in table.rules if rule.comment]


def remove(rule: NftRule) -> None:
    """Remove a rule.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("nft")
    if path:
        program.run_silent([path, "delete", "rule", rule.family, rule.table, rule.chain, "handle", str(rule.handle)])


def remove_chains(table: NftTable, chains: t.Iterable[str], jumps: t.Iterable[NftRule]) -> None:
    """Remove rules and then chains with their content, in one transaction.

    Raises:
        CniError: ``IO_FAILURE``, and nothing is removed, for example if another rule jumps to one of the chains.
    """
    place = {"family": table.family, "table": table.name}
    named = [{"chain": {**place, "name": chain}} for chain in chains]
    commands: list[t.Any] = [
        {"delete": {"rule": {**place, "chain": rule.chain, "handle": rule.handle}}} for rule in jumps
    ]
    commands += [{"flush": chain} for chain in named] + [{"delete": chain} for chain in named]
    path = program.find("nft")
    if path:
        program.run_silent([path, "-j", "-f", "-"], stdin=json.dumps({"nftables": commands}))


def remove_table(table: NftTable) -> None:
    """Remove a table with its content; do nothing if it no longer exists.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("nft")
    if path:
        try:
            program.run_silent([path, "delete", "table", table.family, table.name])
        except CniError:
            if tables(table.name, family=table.family):
                raise


def _list(*what: str) -> list[dict[str, t.Any]]:
    path = program.find("nft")
    listing = program.json_output([path, "-j", "list", *what], limit=_OUTPUT_LIMIT) if path else None
    if listing is None:
        return []
    entries = listing.get("nftables") if isinstance(listing, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CniError(Code.IO_FAILURE, f"the output of nft -j list {' '.join(what)} is not a listing")
    return entries


def _table(family: str, name: str) -> NftTable:
    return parse_table(family, name, _list("table", family, name))


def parse_table(family: str, name: str, entries: t.Sequence[t.Mapping[str, t.Any]]) -> NftTable:
    """Return a table from the entries of ``nft -j list table``."""
    chains = [entry["chain"] for entry in entries if "chain" in entry]
    hooks = {chain["name"]: chain.get("hook", "") for chain in chains}
    others = [(kind, keys) for entry in entries for kind, keys in entry.items() if kind not in _USUAL]
    names = tuple(f"{kind} {keys.get('name', '')}" for kind, keys in others)
    return NftTable(family, name, hooks, [_rule(entry["rule"]) for entry in entries if "rule" in entry], names)


def _rule(entry: t.Mapping[str, t.Any]) -> NftRule:
    values = dict.fromkeys(_values(entry.get("expr")))
    addresses = tuple(value for value in values if isinstance(value, str) and _is_address(value))
    place = (entry["family"], entry["table"], entry["chain"], entry["handle"])
    targets = frozenset(_targets(entry.get("expr")))
    return NftRule(*place, entry.get("comment", ""), addresses, frozenset(values), targets)


def _targets(value: t.Any) -> t.Iterator[str]:
    """Yield the targets of all jumps in an expression; a map has one for each value."""
    if isinstance(value, dict):
        yield from (value[word]["target"] for word in ("jump", "goto") if word in value)
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _targets(entry)


def _values(value: t.Any) -> t.Iterator[str | int]:
    """Yield all words and numbers in an expression."""
    if isinstance(value, dict):
        value = [] if "prefix" in value else list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _values(entry)
    elif isinstance(value, (str, int)):
        yield value


def _is_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def change(commands: t.Iterable[str]) -> None:
    """Apply commands in the syntax of nft in one transaction.

    Raises:
        CniError: ``IO_FAILURE``, and nothing is changed; also if nft is not installed.
    """
    path = program.find("nft")
    if path is None:
        raise CniError(
            Code.IO_FAILURE, "nft is not installed", "expected: the program nft; install the package nftables"
        )
    program.run_silent([path, "-f", "-"], stdin="".join(f"{command}\n" for command in commands))


__all__ = (
    "NftRule",
    "NftTable",
    "change",
    "is_installed",
    "parse_table",
    "remove",
    "remove_chains",
    "remove_table",
    "require_no_chain",
    "rules",
    "tables",
)
