# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A PATH without some of the installed programs."""

from __future__ import annotations

import os
import pathlib


def path_without(names: set[str], directory: pathlib.Path) -> str:
    """Return the PATH of this process without the named programs; `directory` gets links to the others.

    The reference portmap before 1.3.0 looks for an IPv4 attachment's rules in ip6tables too, so that its CHECK fails
    wherever ip6tables works; without that program, its CHECK is correct.
    """
    entries = []
    for number, entry in enumerate(os.environ["PATH"].split(":")):
        if any(os.path.lexists(os.path.join(entry, name)) for name in names):
            entry = str(_links_to(entry, names, directory / str(number)))
        entries.append(entry)
    return ":".join(entries)


def _links_to(entry: str, names: set[str], directory: pathlib.Path) -> pathlib.Path:
    directory.mkdir(parents=True)
    for program in os.scandir(entry):
        if program.name not in names:
            (directory / program.name).symlink_to(program.path)
    return directory
