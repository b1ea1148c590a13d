# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The library as it goes to nodes: read once in each run of Ansible, which all hosts and tasks share."""

from __future__ import annotations

import io
import os
import pathlib
import typing as t
import zipfile

from ansible import constants

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.library import MAIN
from ansible_collections.cni.node.plugins.module_utils._node.library.packing import digest_of

_PLUGINS = pathlib.Path(__file__).parents[1]
_PACKAGE = "ansible_collections/cni/node/plugins"
# The earliest date of the format. With a fixed date, the same files give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
# What `python3 -I LIBRARY` runs. The program is not imported here, because it has most of the collection's code.
_MAIN_TEXT = b"""\
import sys

try:
    from ansible_collections.cni.node.plugins.module_utils._base import interruption

    interruption.end_quietly()
    from ansible_collections.cni.node.plugins.module_utils._node.boot.main import main
except ImportError as exc:
    sys.exit(f"failed: the library of cni.node is damaged: {exc}; the next task of the collection mends it")
sys.exit(main(sys.argv[1:]))
"""


def directory() -> str:
    """Return the directory on the controller that the hosts and tasks of this run share; it is removed with the run."""
    path = os.path.join(t.cast("t.Any", constants).DEFAULT_LOCAL_TMP, "cni_node_library")
    durable.make_directory(path, mode=0o700)
    return path


def digest() -> str:
    """Return the digest of the library."""
    path = os.path.join(directory(), "digest")
    known = durable.read(path)
    if known is not None:
        return known.decode()
    made = digest_of(read_files())
    durable.write(path, made.encode(), flush=False)
    return made


def archive() -> str:
    """Return the path of the archive on the controller."""
    path = os.path.join(directory(), "library.zip")
    if not os.path.exists(path):
        durable.write(path, pack(read_files()), flush=False)
    return path


def read_files() -> dict[str, bytes]:
    """Return the files of the library by their paths in it."""
    files = {MAIN: _MAIN_TEXT}
    packages = set()
    for folder in ("module_utils", "modules"):
        for directory, dummy, names in os.walk(_PLUGINS / folder):
            package = f"{_PACKAGE}{directory[len(str(_PLUGINS)) :]}"
            found = [name for name in names if name.endswith(".py")]
            for name in found:
                with open(os.path.join(directory, name), "rb") as file:
                    files[f"{package}/{name}"] = file.read()
            # Python looks for the rest of a package in other places if it has no __init__.py.
            while found and package:
                packages.add(package)
                package = package.rpartition("/")[0]
    return {**{f"{package}/__init__.py": b"" for package in packages}, **files}


def pack(files: t.Mapping[str, bytes]) -> bytes:
    """Return an archive of files by their paths below the library."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()
