# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prepare .venv from requirements/dev.txt: python3 -m tools.venv [PYTHON]."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import cores, envs, pythons
from tools.paths import REQUIREMENTS, VENV, Unavailable


def choose(requested: str | None) -> Path:
    """Return the requested interpreter, else the distribution's, else any that the ansible-core of .venv supports."""
    core = cores.OWN
    if requested:
        candidates = iter([Path(shutil.which(requested) or requested)])
    else:
        candidates = itertools.chain([pythons.DISTRIBUTION], filter(None, map(pythons.find, core.versions)))
    for python in candidates:
        version = pythons.probe(python, "sys")
        if version in core.versions:
            if pythons.probe(python) is None:
                _install_venv_package(python, version)
            return python
    problem = f"{requested} is not a Python {core.span}" if requested else f"no Python {core.span} on this machine"
    raise Unavailable(f"{problem}: install one, or name it with `make venv PYTHON=/path/to/python3`")


def _install_venv_package(python: Path, version: pythons.Version) -> None:
    package = f"python{pythons.text(version)}-venv"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Unavailable(f"{python} has no venv and ensurepip: install the package {package} as root, then try again")
    apt = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=apt, stdin=subprocess.DEVNULL, check=False)
    install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", package]
    if subprocess.run(install, env=apt, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise Unavailable(f"apt-get could not install {package} (its message is above): install it, then try again")


def main(argv: list[str]) -> int:
    try:
        envs.ensure(VENV, choose(argv[0] if argv else None), REQUIREMENTS / "dev.txt")
    except Unavailable as exc:
        print(f"make venv: {exc}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
