# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write every pin file in requirements/ from its .in file: python -m tools.freeze."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tools import cores, envs, pythons, venv
from tools.paths import REQUIREMENTS, output

HEADER = """\
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Written by `make requirements` from {source} on Python {python}.

"""


def freeze(requirements: Path, pins: Path, python: Path) -> None:
    """Install the requirements into an empty environment and pin every package that it then has."""
    print(f"{pins.name}: {python}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        env = Path(directory) / "env"
        envs.build(env, python, requirements)
        frozen = output([env / "bin" / "python", "-m", "pip", "freeze", "--exclude", "setuptools"])
    version = pythons.text(pythons.probe(python) or pythons.OLDEST)
    pins.write_text(HEADER.format(source=requirements.name, python=version) + frozen, encoding="utf-8")


def main() -> None:
    freeze(REQUIREMENTS / "dev.in", REQUIREMENTS / "dev.txt", venv.choose(None))
    for version in pythons.list_supported():
        python = pythons.find(version)
        if python:
            freeze(REQUIREMENTS / "unit.in", REQUIREMENTS / f"unit-{pythons.text(version)}.txt", python)
    for core in cores.ALL:
        python = core.python()
        if python:
            freeze(REQUIREMENTS / f"core-{core.line}.in", core.pins, python)


if __name__ == "__main__":
    main()
