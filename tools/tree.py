# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the collection, and a copy of them in the directory that Ansible's tools expect."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.paths import CACHE, COLLECTION, ROOT, Unavailable, output

_SHEBANGS = {"python": (b"python",), "shell": (b"/sh", b" sh", b"bash", b"dash")}


def files() -> list[Path]:
    """Return every file that git tracks or would track, relative to the root."""
    if not shutil.which("git"):
        raise Unavailable("git is missing, which lists the files of the collection: install git")
    listing = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = set(output(listing).split("\0")) - {""}
    return sorted(path for path in map(Path, names) if (ROOT / path).is_symlink() or (ROOT / path).is_file())


def place_for(user: str) -> Path:
    """Return the directory of a copy that no other suite replaces."""
    return CACHE / "tree" / user / COLLECTION


def copy(target: Path) -> Path:
    """Copy the files of the collection to a directory, which is replaced, and return it.

    ansible-test accepts no symlink to a collection, and asks the nearest git repository for its files. The repository
    around the copy ignores it, so the copy becomes a repository of its own.
    """
    shutil.rmtree(target, ignore_errors=True)
    for path in files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target / path, follow_symlinks=False)
    output(["git", "init", "--quiet", "--initial-branch=main", target])
    return target


def scripts(language: str) -> list[Path]:
    """Return the files whose first line names `python` or a `shell` as their interpreter."""
    return [path for path in files() if _first_line(ROOT / path).endswith(_SHEBANGS[language])]


def _first_line(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        line = stream.readline(200).split(b" -")[0].rstrip()
    return line.rstrip(b"3") if line.startswith(b"#!") else b""
