# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prepare .venv from requirements/dev.txt: python3 -m tools.venv [PYTHON]."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from tools import envs, pythons
from tools.paths import REQUIREMENTS, VENV, Unavailable

# Pythons that the pinned ansible-core supports on a controller.
SUPPORTED = ((3, 11), (3, 13))
RANGE = " to ".join(pythons.text(version) for version in SUPPORTED)


def choose(requested: str | None) -> Path:
    """Return the requested interpreter, else the distribution's, else any supported one."""
    if requested:
        return _usable(Path(shutil.which(requested) or requested))
    for python in _candidates():
        if _is_supported(python):
            return _usable(python)
    raise Unavailable(
        f"no Python {RANGE} on this machine: install one, or name it with `make venv PYTHON=/path/to/python3`"
    )


def _candidates() -> t.Iterator[Path]:
    yield Path("/usr/bin/python3")
    for minor in range(SUPPORTED[0][1], SUPPORTED[1][1] + 1):
        python = pythons.find((3, minor))
        if python:
            yield python


def _is_supported(python: Path) -> bool:
    return SUPPORTED[0] <= _version(python) <= SUPPORTED[1]


def _usable(python: Path) -> Path:
    if not _is_supported(python):
        raise Unavailable(f"{python} is not a Python {RANGE}: name one with `make venv PYTHON=/path/to/python3`")
    if pythons.probe(python) is None:
        _install_venv_package(python)
    return python


def _version(python: Path) -> pythons.Version:
    probe = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        major, minor = subprocess.run(probe, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    return int(major), int(minor)


def _install_venv_package(python: Path) -> None:
    package = f"python{pythons.text(_version(python))}-venv"
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
