# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The library of the checkout, for tests that run modules without the action plugins that would install it."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess

from ansible_collections.cni.node.plugins.module_utils._base.library import REQUEST, Library
from ansible_collections.cni.node.plugins.module_utils._node.library import install as installation
from ansible_collections.cni.node.plugins.module_utils._node.library.packing import digest_of
from ansible_collections.cni.node.plugins.plugin_utils import _library

TOP = "/opt/cni/lib/cni.node"

read_files = functools.cache(_library.read_files)


# Where the tests of this process find a complete library, once it is made.
_sessions: list[pathlib.Path] = []


def describe_checkout(top: str | os.PathLike[str] = TOP) -> Library:
    return Library(str(top), digest_of(read_files()))


def request(library: Library) -> dict[str, str]:
    """Return the environment variable in which action plugins name the library."""
    return {REQUEST: json.dumps({**library._asdict(), "archive": "", "module": ""})}


def install_for_session(directory: pathlib.Path) -> pathlib.Path:
    """Install the library in a directory outside the node, and return a path of the node that leads there.

    The nodes of tests, which are made later, hide this path.
    """
    path = pathlib.Path(describe_checkout().path)
    if not _sessions:
        directory.chmod(0o755)
        _sessions.append(pathlib.Path(install(describe_checkout(directory / "libraries")).path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(_sessions[-1])
    return path


def provide() -> Library:
    """Copy the library of the session to the node, which takes less time than to install it."""
    library = describe_checkout()
    if not os.path.exists(library.path):
        os.makedirs(library.top)
        subprocess.run(["cp", "-a", str(_sessions[-1]), library.path], check=True)
    return library


def install(library: Library) -> Library:
    """Install the library if it is missing."""
    if not os.path.isdir(library.path):
        installation.install(library, read_files())
    return library
