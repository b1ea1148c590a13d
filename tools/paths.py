# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where things are in this repository, and what every tool starts other programs with."""

from __future__ import annotations

import contextlib
import os
import subprocess
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
REQUIREMENTS = ROOT / "requirements"
REPORTS = CACHE / "reports"


# A command: its program and arguments.
Words = t.Sequence[t.Union[str, Path]]


class Unavailable(Exception):
    """What was asked for cannot be done on this machine; the message is one sentence on what to do."""


def run(
    argv: Words,
    cwd: Path = ROOT,
    env: t.Mapping[str, str] | None = None,
    limit: float | None = None,
    log: Path | None = None,
) -> int:
    """Run a command and give back its exit status; 124 if it was killed after `limit` seconds.

    What it prints is seen as it comes, or goes to the file `log`.
    """
    print(" ".join(["+", *(shown(word) for word in argv)]), flush=True)
    words = [str(word) for word in argv]
    with log.open("wb") if log else contextlib.nullcontext() as stream:
        try:
            return subprocess.run(
                words, cwd=cwd, env=_environment(env), check=False, timeout=limit, stdout=stream, stderr=stream
            ).returncode
        except subprocess.TimeoutExpired:
            print(f"{shown(words[0])} was killed: it took longer than {limit} s", flush=True)
            return 124


def output(argv: Words, cwd: Path = ROOT) -> str:
    """What a command prints; a failing one raises CalledProcessError."""
    words = [str(word) for word in argv]
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def tool(name: str) -> Path:
    """A program of the prepared environment."""
    return VENV / "bin" / name


def shown(word: str | Path) -> str:
    """A word of a command, with paths told from the root of this repository."""
    return str(word).replace(f"{ROOT}{os.sep}", "")


def _environment(extra: t.Mapping[str, str] | None) -> dict[str, str]:
    path = os.pathsep.join((str(VENV / "bin"), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "PATH": path, **(extra or {})}
