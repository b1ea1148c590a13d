# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths of this repository, and functions that run other programs."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
REQUIREMENTS = ROOT / "requirements"
REPORTS = CACHE / "reports"

NAMESPACE, NAME = "cni", "node"
# The directory of the collection below a path in ANSIBLE_COLLECTIONS_PATH.
COLLECTION = Path("ansible_collections", NAMESPACE, NAME)

# A command: its program and arguments.
Words = t.Sequence[t.Union[str, Path]]


class Unavailable(Exception):
    """Raised when this machine lacks something; the message is one sentence that says what to do."""


def run(argv: Words, cwd: Path = ROOT, env: t.Mapping[str, str] | None = None, limit: float | None = None) -> int:
    """Run a command and return its exit status; 124 if it was killed after `limit` seconds."""
    print(" ".join(["+", *(shorten(word) for word in argv)]), flush=True)
    words = [str(word) for word in argv]
    path = os.pathsep.join((str(VENV / "bin"), os.environ.get("PATH", os.defpath)))
    environment = {**os.environ, "PATH": path, **(env or {})}
    try:
        return subprocess.run(words, cwd=cwd, env=environment, check=False, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        print(f"{shorten(words[0])} was killed: it took longer than {limit} s", flush=True)
        return 124


def output(argv: Words, cwd: Path = ROOT) -> str:
    """Return the output of a command; raise CalledProcessError when it fails."""
    words = [str(word) for word in argv]
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def tool(name: str) -> Path:
    """Return the path of a program in .venv."""
    return VENV / "bin" / name


def shorten(word: str | Path) -> str:
    """Return a word of a command with paths relative to the root of this repository."""
    return str(word).replace(f"{ROOT}{os.sep}", "")
