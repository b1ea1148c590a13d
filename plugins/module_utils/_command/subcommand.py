# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Describe subcommands: their names and options, their calls and their answers."""

from __future__ import annotations

import argparse
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths

# Options of the module `command` that are options of other modules, too.
DIRECTORIES = ("conf_dir", "plugin_dirs", "allow_world_writable_plugins", "builtin", "cache_dir")


class Call(t.NamedTuple):
    """A call of a subcommand.

    Attributes:
        settings: What the role knew, as the module `command` wrote it.
    """

    options: argparse.Namespace
    settings: JsonMapping
    paths: NodePaths

    def select(self, *names: str) -> JsonObject:
        return {name: self.settings[name] for name in names if name in self.settings}

    def select_with_prefix(self, prefix: str) -> JsonObject:
        return {name[len(prefix) :]: value for name, value in self.settings.items() if name.startswith(prefix)}


class Answer(t.NamedTuple):
    """The answer of a subcommand.

    Attributes:
        result: As the module returns it.
        lines: The result as text.
        is_wrong: Whether something is wrong, or remains.
    """

    result: JsonObject
    lines: t.Sequence[str]
    is_wrong: bool


class Subcommand(t.NamedTuple):
    """A subcommand.

    Attributes:
        help: What it does, in a few words.
        add_options: Adds its options to those of all subcommands.
        run: Called unless the options are wrong. A result with ``error`` is shown without the rest of the answer.
    """

    name: str
    help: str
    add_options: t.Callable[[argparse.ArgumentParser], None]
    run: t.Callable[[Call], Answer]


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the option for check mode."""
    parser.add_argument("--check", action="store_true", help="only show what would be done, as --check of a playbook")


def add_networks(parser: argparse.ArgumentParser) -> None:
    """Add the option for names of networks."""
    parser.add_argument("--network", action="append", default=[], metavar="NAME", help="a network, instead of all")


def add_nothing(parser: argparse.ArgumentParser) -> None:
    """Add no option."""
