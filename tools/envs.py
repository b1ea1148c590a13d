# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual environments from pinned requirements, rebuilt when the pins or the interpreter change."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from tools.paths import CACHE, COLLECTION, ROOT, Unavailable, run, shorten


def ensure(env: Path, python: Path, pins: Path) -> Path:
    """Return the interpreter of an environment that has exactly the pinned packages."""
    # Scripts in an environment contain its absolute path and break when it moves.
    origin = f"{python.resolve()}\n{ROOT}\n{pins.read_text(encoding='utf-8')}"
    marker, locks = env / "origin", CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / env.name).open("w", encoding="ascii") as lock:
        # Another suite may be making the same environment.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (marker.is_file() and marker.read_text(encoding="utf-8") == origin):
            build(env, python, pins)
            _link_collection(env)
            marker.write_text(origin, encoding="utf-8")
    return env / "bin" / "python"


def build(env: Path, python: Path, requirements: Path) -> None:
    """Create the environment; replace an existing one."""
    print(f"Preparing {shorten(env)} from {shorten(requirements)}, which takes a minute or two.", flush=True)
    shutil.rmtree(env, ignore_errors=True)
    env.parent.mkdir(parents=True, exist_ok=True)
    if run([python, "-m", "venv", env]) != 0:
        raise Unavailable(f"{python} cannot make a virtual environment: install its venv package, then try again")
    options = ("--quiet", "--disable-pip-version-check", "--no-input")
    if run([env / "bin" / "python", "-m", "pip", "install", *options, "-r", requirements]) != 0:
        raise Unavailable(
            f"pip could not install {shorten(requirements)} (its message is above): check that it reaches a package index"
        )


def _link_collection(env: Path) -> None:
    """Let this environment's Python and Ansible find the working tree as an installed collection.

    Ansible looks for ansible_collections along sys.path too, so one .pth file serves imports and playbooks alike.
    """
    place = env / "collections" / COLLECTION
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(os.path.relpath(ROOT, place.parent.resolve()), target_is_directory=True)
    for site_packages in env.glob("lib/python3.*/site-packages"):
        (site_packages / "ansible_collections.pth").write_text("../../../collections\n", encoding="utf-8")
