# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection's files, and a copy of them where Ansible's tools expect a collection to lie."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.envs import NAME, NAMESPACE
from tools.paths import CACHE, ROOT, Unavailable, output

COPY = CACHE / "tree" / "ansible_collections" / NAMESPACE / NAME

_SHEBANGS = {"python": (b"python",), "shell": (b"/sh", b" sh", b"bash", b"dash")}


def files() -> list[Path]:
    """Every file git tracks or would track, relative to the root."""
    if not shutil.which("git"):
        raise Unavailable("git is not here, and it alone knows which files belong to the collection: install git")
    listing = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = set(output(listing).split("\0")) - {""}
    return sorted(path for path in map(Path, names) if (ROOT / path).is_symlink() or (ROOT / path).is_file())


def copy() -> Path:
    """A fresh copy of the files above.

    ansible-test takes no symlink for a collection, and asks the nearest git repository for the files in it;
    that must not be the one around the copy, which ignores this place, so the copy is a repository of its own.
    """
    shutil.rmtree(COPY, ignore_errors=True)
    for path in files():
        (COPY / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, COPY / path, follow_symlinks=False)
    output(["git", "init", "--quiet", "--initial-branch=main", COPY])
    return COPY


def scripts(language: str) -> list[Path]:
    """Files whose first line says they are run by `python` or by a `shell`, whatever they are called."""
    return [path for path in files() if _first_line(ROOT / path).endswith(_SHEBANGS[language])]


def _first_line(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        line = stream.readline(200).split(b" -")[0].rstrip()
    return line.rstrip(b"3") if line.startswith(b"#!") else b""
