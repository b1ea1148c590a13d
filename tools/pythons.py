# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python interpreters on this machine."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

from tools.paths import VENV

OLDEST = (3, 9)
NEWEST = (3, 15)
DISTRIBUTION = Path("/usr/bin/python3")

Version = tuple[int, int]


def text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def list_supported() -> list[Version]:
    """Return every Python that the collection supports, oldest first."""
    return [(3, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]


@functools.cache
def find(version: Version) -> Path | None:
    """Return an interpreter of this version that works and can make environments, or None."""
    return next((path for path in _candidates(version) if probe(path) == version), None)


def probe(python: str | Path, modules: str = "venv, ensurepip") -> Version | None:
    """Return the version of an interpreter, or None when it does not run or lacks one of the modules."""
    code = f"import {modules}, sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def _candidates(version: Version) -> t.Iterator[Path]:
    name = f"python{text(version)}"
    for directory in (Path("/usr/bin"), *_search_path()):
        program = shutil.which(name, path=str(directory))
        if program:
            yield Path(program)
    yield from sorted(_pyenv_root().glob(f"versions/*/bin/{name}"))


def _search_path() -> list[Path]:
    # A pyenv shim exists for every installed version but works for the selected ones only. An interpreter in .venv
    # disappears when .venv is made again.
    excluded = (_pyenv_root() / "shims", VENV / "bin")
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [Path(entry) for entry in entries if entry and Path(entry) not in excluded]


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
