# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import program

FAMILIES: t.Final = (4, 6)

# A node with many containers has many rules of some hundred bytes each.
_OUTPUT_LIMIT: t.Final = 256 * 1024 * 1024

# A comment may contain anything, including line breaks. The name of an interface is never quoted and may contain quotes.
_TEXT: t.Final = r'(?<= )"([^"\\]*(?:\\.[^"\\]*)*)"(?=[ \n]|\Z)'
_LINE: t.Final = re.compile(rf'(?:[^"\n]+|{_TEXT}|")+', re.DOTALL)
_WORD: t.Final = re.compile(rf"{_TEXT}|([^ ]+)", re.DOTALL)
_ESCAPED: t.Final = re.compile(r"\\(.)", re.DOTALL)


class Table(t.NamedTuple):
    """The rules of a table, as iptables-save prints them.

    Attributes:
        rules: The rules in each chain.
        jumps: The rules that jump to each chain.
    """

    rules: dict[str, list[str]]
    jumps: dict[str, list[str]]


class Listing(t.NamedTuple):
    """A snapshot of all tables.

    Attributes:
        tables: By family and name.
        errors: The error of each family that could not be listed. The tool may fail on a node without IPv6.
    """

    tables: dict[tuple[int, str], Table]
    errors: dict[int, CniError]

    def table(self, family: int, name: str) -> Table:
        return self.tables.get((family, name)) or Table({}, {})


def listing() -> Listing:
    """Return all tables of the families whose tool is installed."""
    snapshot = Listing({}, {})
    for family in FAMILIES:
        try:
            tables = parse(_run(f"{tool(family)}-save"))
        except CniError as exc:
            snapshot.errors[family] = exc
        else:
            snapshot.tables.update({(family, name): table for name, table in tables.items()})
    return snapshot


def table(family: int, name: str) -> Table | None:
    """Return a table of family 4 or 6; None if the tool is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return _table(f"{tool(family)}-save", name) if program.find(f"{tool(family)}-save") else None


def legacy_table(family: int, name: str) -> Table | None:
    """Return the legacy table that the default nft-based tool does not show; None without such a table or tool.

    The table is looked up in /proc first, because the legacy tool would create a missing table.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    default, other = (program.find(f"{tool(family)}{kind}-save") for kind in ("", "-legacy"))
    if not default or not other or _is_same(default, other) or name not in _legacy_names(family):
        return None
    return _table(f"{tool(family)}-legacy-save", name)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError as exc:
        raise io_error("follow the link", other, exc) from exc


def parse(text: str) -> dict[str, Table]:
    """Return the tables in the output of iptables-save, by name."""
    tables: dict[str, Table] = {}
    table = Table({}, {})
    for line in (match[0] for match in _LINE.finditer(text)):
        if line.startswith("*"):
            table = tables.setdefault(line[1:], Table({}, {}))
        elif line.startswith(":"):
            table.rules.setdefault(line[1:].partition(" ")[0], [])
        elif line.startswith("-A "):
            table.rules.setdefault(line.split(" ", 2)[1], []).append(line)
            table.jumps.setdefault(line[max(line.rfind(" -j "), line.rfind(" -g ")) + 4 :], []).append(line)
    return tables


def words(rule: str) -> tuple[str, ...]:
    """Return the arguments of a rule as they were given to iptables."""
    return tuple(_ESCAPED.sub(r"\1", text) if text else word for text, word in _WORD.findall(rule))


def value(words: t.Sequence[str], option: str) -> str:
    """Return the value of a rule's option, or an empty string."""
    return next((after for word, after in zip(words, words[1:]) if word == option), "")


def change(family: int, name: str, *commands: t.Sequence[str]) -> None:
    """Apply commands to a table in one transaction; do nothing if the tool is not installed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    if program.find(f"{tool(family)}-restore"):
        restore(family, {name: [" ".join(map(_quote, command)) for command in commands]})


def restore(family: int, tables: t.Mapping[str, t.Iterable[str]]) -> None:
    """Apply commands in the form of iptables-save to tables, each table in one transaction.

    Raises:
        CniError: ``IO_FAILURE``; a table whose commands fail is not changed. Also if the tool is not installed.
    """
    name = f"{tool(family)}-restore"
    if program.find(name) is None:
        what = f"expected: the program {name}; install the package iptables"
        raise CniError(Code.IO_FAILURE, f"{name} is not installed", what)
    lines = [line for table, commands in tables.items() for line in (f"*{table}", *commands, "COMMIT")]
    _run(name, "-w", "--noflush", stdin="\n".join([*lines, ""]))


def _legacy_names(family: int) -> list[str]:
    try:
        with open(f"/proc/net/{'ip' if family == 4 else 'ip6'}_tables_names", encoding="ascii") as lines:
            return lines.read().split()
    except OSError:  # the kernel has no such tables, or only root may read the list
        return []


def deletion(line: str) -> str:
    """Return the command that deletes a rule that iptables-save has printed, or the first one of several."""
    return f"-D {line[len('-A ') :]}"


def _quote(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def tool(family: int) -> str:
    """Return the name of the program for family 4 or 6."""
    return "iptables" if family == 4 else "ip6tables"


def _table(program_name: str, name: str) -> Table:
    return parse(_run(program_name, "-t", name)).get(name) or Table({}, {})


def _run(name: str, *arguments: str, stdin: str = "") -> str:
    path = program.find(name)
    return program.output([path, *arguments], stdin=stdin, limit=_OUTPUT_LIMIT) if path else ""


__all__ = (
    "FAMILIES",
    "Listing",
    "Table",
    "change",
    "deletion",
    "legacy_table",
    "listing",
    "parse",
    "restore",
    "table",
    "tool",
    "value",
    "words",
)
