# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ansible-core releases that ansible-test sanity runs on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tools import pythons
from tools.paths import CACHE, REQUIREMENTS


@dataclasses.dataclass(frozen=True)
class Core:
    """One line of releases, with the Pythons its controller runs on."""

    line: str
    oldest: pythons.Version
    newest: pythons.Version
    why: str

    @property
    def pins(self) -> Path:
        return REQUIREMENTS / f"core-{self.line}.txt"

    @property
    def env(self) -> Path:
        return CACHE / "venvs" / f"core-{self.line}"

    def python(self) -> Path | None:
        """The distribution's own interpreter where it fits, so that most machines run the same; else the oldest."""
        fitting = [(3, minor) for minor in range(self.oldest[1], self.newest[1] + 1)]
        fitting.sort(key=lambda version: version != pythons.probe("/usr/bin/python3"))
        return next(filter(None, map(pythons.find, fitting)), None)


# A release candidate is no member: its ansible-test may ask for what no package index has yet.
ALL = (
    Core("2.16", (3, 10), (3, 12), "the oldest that meta/runtime.yml allows; enterprise platforms still ship it"),
    Core("2.19", (3, 11), (3, 13), "the one in .venv: the newest that Debian 12's Python runs"),
    Core("2.21", (3, 12), (3, 14), "the newest release"),
)
