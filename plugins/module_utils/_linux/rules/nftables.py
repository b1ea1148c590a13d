# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Tables, chains and rules of nftables, read and written by the program nft."""

from __future__ import annotations

import functools
import ipaddress
import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables, rule_cache

_OUTPUT_LIMIT = 256 * 1024 * 1024
# Entries that nft lists for every table.
_USUAL = ("metainfo", "table", "chain", "rule")

# The commands of this collection, and the parts of rules.
_COMMAND = re.compile(
    r"(?P<what>add table|(?:add|flush|delete) chain|(?:add|delete) rule) (?P<family>\S+) (?P<table>\S+)"
    r"(?: (?P<chain>\S+)(?: (?:handle (?P<handle>\d+)|(?P<text>.*)))?)?"
)
# Words of which a listing makes keys instead of values.
_STATEMENTS = frozenset(("dnat", "drop", "fib", "goto", "jump", "masquerade", "return", "to"))
_HOOK = re.compile(r" hook (\w+) ")
_COMMENT = re.compile(r' comment "([^"]*)"$')
_WORD = re.compile(r'"([^"]*)"|([^\s",{}]+)')
_TARGET = re.compile(r"\b(?:jump|goto) (\S+)")
_ADDRESS_AND_PORT = re.compile(r"(?:(\d+(?:\.\d+){3})|\[([0-9a-f:.]+)\]):(\d+)")


class NftRule(t.NamedTuple):
    """An nftables rule.

    Attributes:
        family: ``ip``, ``ip6``, ``inet`` or ``bridge``.
        handle: Its number in the table; 0 if this run has written it since the last listing.
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


def tables(*names: str, family: str = "", with_handles: bool = True) -> list[NftTable]:
    """Return the tables with these names, which a run keeps, of one family or of all; none if nft is not installed.

    Args:
        with_handles: Whether each rule has its handle, with which it can be removed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    found = _read_tables(names, family)
    if with_handles and not all(rule.handle for table in found for rule in table.rules):
        rule_cache.forget(rule_cache.NFT)
        found = _read_tables(names, family)
    return found


def _read_tables(names: t.Collection[str], family: str) -> list[NftTable]:
    return [_table(*pair) for pair in _pairs() if pair[1] in names and family in ("", pair[0])]


def remove(*rules: NftRule) -> None:
    """Remove rules in one transaction.

    Raises:
        CniError: ``IO_FAILURE``, and nothing is removed.
    """
    change(_deletion(rule) for rule in rules)


def _deletion(rule: NftRule) -> str:
    return f"delete rule {rule.family} {rule.table} {rule.chain} handle {rule.handle}"


def remove_chains(table: NftTable, chains: t.Sequence[str], jumps: t.Sequence[NftRule]) -> None:
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
    removed = [_deletion(rule) for rule in jumps]
    removed += [f"{verb} chain {table.family} {table.name} {chain}" for verb in ("flush", "delete") for chain in chains]
    path = program.find("nft")
    if path:
        rule_cache.write(
            lambda: program.run_silent([path, "-j", "-f", "-"], stdin=json.dumps({"nftables": commands})),
            functools.partial(_add, tuple(removed)),
        )


def remove_table(table: NftTable) -> None:
    """Remove a table with its content; do nothing if it no longer exists.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("nft")
    if path:
        try:
            # No run that keeps listings does so.
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


def _pairs() -> tuple[tuple[str, str], ...]:
    """Return family and name of all tables."""

    def list_pairs() -> tuple[tuple[tuple[str, str], ...], bool]:
        found = (entry["table"] for entry in _list("tables") if "table" in entry)
        return tuple((table["family"], table["name"]) for table in found), True

    return rule_cache.read(rule_cache.TABLES, list_pairs)


def _table(family: str, name: str) -> NftTable:
    return rule_cache.read(_key(family, name), lambda: (parse_table(family, name, _list("table", family, name)), True))


def _key(family: str, name: str) -> tuple[str, str, str]:
    return rule_cache.NFT, family, name


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
    script = tuple(commands)
    rule_cache.write(
        lambda: program.run_silent([path, "-f", "-"], stdin="".join(f"{command}\n" for command in script)),
        functools.partial(_add, script),
    )


def _add(commands: t.Iterable[str], listings: rule_cache.Listings) -> None:
    """Add to kept tables what commands have written; forget all tables after a command of another kind."""
    editors: dict[tuple[str, str], _Editor] = {}
    for command in commands:
        match = _COMMAND.fullmatch(command)
        if match is None:
            for key in [key for key in listings if key[0] == rule_cache.NFT]:
                del listings[key]
            return
        place = match["family"], match["table"]
        if place not in editors:
            editors[place] = _Editor(_find_kept(listings, *place))
        editors[place].apply(match)
    changed = ((place, editor.table()) for place, editor in editors.items())
    listings.update({_key(*place): table for place, table in changed if table is not None})


def _find_kept(listings: rule_cache.Listings, family: str, name: str) -> NftTable | None:
    """Return a kept table, or a new one that has just been made; None if it is not known."""
    kept: NftTable | None = listings.get(_key(family, name))
    is_new = kept is None and rule_cache.note_table(listings, family, name)
    return NftTable(family, name, {}, []) if is_new else kept


class _Editor:
    """Applies commands to a copy of a table, if it is known."""

    def __init__(self, table: NftTable | None) -> None:
        self._table = table
        self._hooks = dict(table.hooks) if table else {}
        self._rules = list(table.rules) if table else []
        self._removed: set[int] = set()

    def table(self) -> NftTable | None:
        rules = [rule for rule in self._rules if rule.handle not in self._removed]
        return self._table and self._table._replace(hooks=self._hooks, rules=rules)

    def apply(self, command: re.Match[str]) -> None:
        what, chain, text = command["what"], command["chain"], command["text"] or ""
        if self._table is None or what == "add table":
            return
        if what == "add chain":
            hook = _HOOK.search(text)
            self._hooks.setdefault(chain, hook[1] if hook else "")
        elif what == "add rule":
            self._rules.append(_make_rule(self._table, chain, text))
        elif what == "delete rule":
            self._removed.add(int(command["handle"]))
        else:
            self._rules = [rule for rule in self._rules if rule.chain != chain]
            if what == "delete chain":
                self._hooks.pop(chain, None)


def _make_rule(table: NftTable, chain: str, text: str) -> NftRule:
    """Return a rule that has been written in the syntax of nft, as far as it can be known without a listing."""
    comment = _COMMENT.search(text)
    statements = text[: comment.start()] if comment else text
    values: dict[str | int, None] = {}
    for quoted, word in _WORD.findall(statements):
        if word not in _STATEMENTS:
            values.update(dict.fromkeys(_split(word) if word else [quoted]))
    addresses = tuple(value for value in values if isinstance(value, str) and _is_address(value))
    return NftRule(
        table.family,
        table.name,
        chain,
        0,
        comment[1] if comment else "",
        addresses,
        frozenset(values),
        frozenset(_TARGET.findall(statements)),
    )


def _split(word: str) -> list[str | int]:
    """Return what a listing has for a word: networks are omitted."""
    pair = _ADDRESS_AND_PORT.fullmatch(word)
    if pair:
        return [pair[1] or pair[2], int(pair[3])]
    return [] if "/" in word else [int(word) if word.isdigit() else word]
