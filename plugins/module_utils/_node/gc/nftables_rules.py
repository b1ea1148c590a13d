# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import nftables
from ansible_collections.cni.node.plugins.module_utils._linux.nftables import NftRule
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names

# The digests of network and of interface and container tell the owner; the words after them may be cut off.
_COMMENT: t.Final = re.compile(r"([0-9a-f]{16}-[0-9a-f]{16}), net: ([^,]+), if: ([^,]+), id: (.*)")


class NftLeaks:
    """Finds rules of nftables that masquerade or map ports for a container that is not there any more."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.unlisted: list[Leak] = []
        try:
            self._at_first = nftables.rules(firewall_names.MASQUERADE_TABLE, firewall_names.PORTS_TABLE)
        except CniError as exc:
            self._at_first = []
            self.unlisted.append(Leak("chain", "", "nft", f"its rules cannot be listed: {exc}"))

    def networks(self) -> set[str]:
        """Return the networks that have rules; those of port mappings do not tell theirs."""
        return {named[2] for named in map(_named, self._at_first) if named}

    def of(self, claims: Claims) -> t.Iterator[Leak]:
        """Collect the rules of a network that masquerade."""
        staying = {firewall_names.instance(claims.network, *names) for names in claims.staying}
        going = {firewall_names.instance(claims.network, *names) for names in claims.going}
        return self._collect(
            firewall_names.MASQUERADE_TABLE,
            claims,
            lambda rule: _network(rule) != claims.network or _owner(rule) in staying | going,
        )

    def without_network(self, claims: Claims) -> t.Iterator[Leak]:
        """Collect the rules that map ports, by all attachments of the node."""
        return self._collect(
            firewall_names.PORTS_TABLE, claims, lambda rule: claims.has(rule.comment) or claims.frees(rule.comment)
        )

    def _collect(self, table: str, claims: Claims, is_claimed: t.Callable[[NftRule], bool]) -> t.Iterator[Leak]:
        rules = [rule for rule in self._at_first if rule.table == table and not is_claimed(rule)]
        if rules and not self._scope.dry_run:
            # DEL may have removed some since. What is new may be that of a container that claims do not know.
            now = {_identity(rule) for rule in nftables.rules(table)}
            rules = [rule for rule in rules if _identity(rule) in now]
        by_owner: dict[tuple[str, str], list[NftRule]] = {}
        for rule in rules:
            by_owner.setdefault((rule.family, rule.comment), []).append(rule)
        yield from (self._rules(claims, owned) for owned in by_owner.values())

    def _rules(self, claims: Claims, rules: list[NftRule]) -> Leak:
        first, named = rules[0], _named(rules[0])
        container_id = named[4] if named else first.comment
        evidence = f"no runtime has a record of container {container_id}, which its comment names"
        leak = Leak("chain", claims.network, f"nft {first.family} {first.table}: {first.comment}", evidence)
        doubt = claims.doubt(container_id, [address for rule in rules for address in rule.addresses])

        def collect() -> None:
            for rule in rules:
                nftables.remove(rule)

        return self._scope.settle(leak, doubt, collect)


def _identity(rule: NftRule) -> tuple[t.Any, ...]:
    """Tell a rule by what stays the same; a counter in it does not."""
    return rule.family, rule.chain, rule.handle, rule.comment, rule.addresses


def _named(rule: NftRule) -> re.Match[str] | None:
    return _COMMENT.fullmatch(rule.comment) if rule.table == firewall_names.MASQUERADE_TABLE else None


def _network(rule: NftRule) -> str:
    named = _named(rule)
    return named[2] if named else ""


def _owner(rule: NftRule) -> str:
    named = _named(rule)
    return named[1] if named else ""


__all__ = ("NftLeaks",)
