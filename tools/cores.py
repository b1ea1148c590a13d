# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Releases of ansible-core that ansible-test sanity runs on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tools import pythons
from tools.paths import CACHE, REQUIREMENTS


@dataclasses.dataclass(frozen=True)
class Core:
    """One release line, with the Pythons that its controller supports."""

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
        """Return the distribution's interpreter if the core supports it, else the oldest supported one, or None."""
        fitting = [(3, minor) for minor in range(self.oldest[1], self.newest[1] + 1)]
        fitting.sort(key=lambda version: version != pythons.probe("/usr/bin/python3"))
        return next(filter(None, map(pythons.find, fitting)), None)


# No release candidates: their ansible-test may need packages that no index has yet.
ALL = (
    Core("2.16", (3, 10), (3, 12), "the oldest that meta/runtime.yml allows; enterprise platforms still ship it"),
    Core("2.19", (3, 11), (3, 13), "the one in .venv: the newest that Debian 12's Python runs"),
    Core("2.21", (3, 12), (3, 14), "the newest release"),
)
