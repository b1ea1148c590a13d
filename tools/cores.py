# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Release lines of ansible-core that the collection supports, and environments with them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from tools import envs, pythons
from tools.paths import CACHE, REQUIREMENTS, Unavailable


@dataclasses.dataclass(frozen=True)
class Core:
    """One release line, with the Pythons that its controller supports.

    Attributes:
        preferred: The Python that tests run it on if the machine has it, so that each Python gets a line.
        sanity: Whether `make test` runs the sanity tests on it; the main job runs on every line.
    """

    line: str
    oldest: pythons.Version
    newest: pythons.Version
    preferred: pythons.Version
    sanity: bool = False

    @property
    def pins(self) -> Path:
        return REQUIREMENTS / f"core-{self.line}.txt"

    @property
    def env(self) -> Path:
        return CACHE / "venvs" / f"core-{self.line}"

    @property
    def versions(self) -> list[pythons.Version]:
        return [(3, minor) for minor in range(self.oldest[1], self.newest[1] + 1)]

    @property
    def span(self) -> str:
        return f"{pythons.text(self.oldest)} to {pythons.text(self.newest)}"

    def python(self) -> Path | None:
        """Return the preferred interpreter, else the distribution's, else the oldest that the core supports, or None."""
        distribution = pythons.probe(pythons.DISTRIBUTION)
        versions = sorted(self.versions, key=lambda version: (version != self.preferred, version != distribution))
        return next(filter(None, map(pythons.find, versions)), None)


# No release candidates: their ansible-test may need packages that no index has yet.
ALL = (
    Core("2.16", (3, 10), (3, 12), (3, 10)),  # the oldest that meta/runtime.yml allows; enterprise platforms ship it
    Core("2.17", (3, 10), (3, 12), (3, 12)),  # the newest that runs on Python 3.10
    Core("2.18", (3, 11), (3, 13), (3, 13)),  # the last without the templating engine of 2.19
    Core("2.19", (3, 11), (3, 13), (3, 11)),  # the one in .venv: the newest that Debian 12's Python runs
    Core("2.20", (3, 12), (3, 14), (3, 12)),  # the release before the newest
    Core("2.21", (3, 12), (3, 14), (3, 13), sanity=True),  # the newest release
)
# The line of .venv, which requirements/dev.in names.
OWN = next(core for core in ALL if core.line == "2.19")


def select_for_sanity() -> list[Core]:
    """Return the lines that the environment variable CORE names, by default those that `make test` takes."""
    names = os.environ.get("CORE", "").split()
    known = {core.line: core for core in ALL}
    unknown = ", ".join(sorted({*names} - {*known}))
    if unknown:
        raise Unavailable(f"no line of ansible-core is called {unknown}: choose from {', '.join(known)}")
    return [known[name] for name in names] or [core for core in ALL if core.sanity]


def prepare() -> None:
    """Make an environment for each line that a Python of this machine can run."""
    for core in ALL:
        python = core.python()
        if python:
            envs.ensure(core.env, python, core.pins)
