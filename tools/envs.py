# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual environments from pinned requirements, rebuilt when the pins change."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import typing as t
from pathlib import Path

from tools.paths import CACHE, COLLECTION, ROOT, Unavailable, Words, run, shorten


def ensure(env: Path, python: Path, pins: Path) -> Path:
    """Return the interpreter of an environment that has exactly the pinned packages."""
    marker, stamp = env / "pins.sha256", _stamp(python, pins)
    with _lock(env):
        if not (marker.is_file() and marker.read_text(encoding="utf-8") == stamp):
            build(env, python, pins)
            link_collection(env)
            marker.write_text(stamp, encoding="utf-8")
    return env / "bin" / "python"


@contextlib.contextmanager
def _lock(env: Path) -> t.Iterator[None]:
    """Wait for another suite that makes the same environment."""
    locks = CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / env.name).open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(env: Path, python: Path, requirements: Path) -> None:
    """Create the environment; replace an existing one."""
    print(f"Preparing {shorten(env)} from {shorten(requirements)}, which takes a minute or two.", flush=True)
    shutil.rmtree(env, ignore_errors=True)
    env.parent.mkdir(parents=True, exist_ok=True)
    if run([python, "-m", "venv", env]) != 0:
        raise Unavailable(f"{python} cannot make a virtual environment: install its venv package, then try again")
    pip: Words = [
        env / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    if run([*pip, "-r", requirements]) != 0:
        raise Unavailable(
            f"pip could not install {shorten(requirements)} (its message is above): check that it reaches a package index"
        )


def link_collection(env: Path) -> None:
    """Let this environment's Python and Ansible find the working tree as an installed collection.

    Ansible looks for ansible_collections along sys.path too, so one .pth file serves imports and playbooks alike.
    """
    place = env / "collections" / COLLECTION
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(os.path.relpath(ROOT, place.parent.resolve()), target_is_directory=True)
    for site_packages in env.glob("lib/python3.*/site-packages"):
        (site_packages / "ansible_collections.pth").write_text("../../../collections\n", encoding="utf-8")


def _stamp(python: Path, pins: Path) -> str:
    # The path is part of the stamp: scripts in an environment contain its absolute path and break when it moves.
    return hashlib.sha256(b"\0".join((str(python).encode(), str(ROOT).encode(), pins.read_bytes()))).hexdigest()
