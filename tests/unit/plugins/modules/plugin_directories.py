# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Directories of a node below a temporary one, for the module plugins."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner


class PluginDirectories:
    """The bin dir, conf dir and cache dir of a node, with which the module plugins runs."""

    def __init__(self, run: ModuleRunner, directory: pathlib.Path) -> None:
        self._run = run
        self.directory = directory
        self.bin_dir, self.cache_dir, self.conf_dir = directory / "bin", directory / "cache", directory / "net.d"

    def ensure(self, *, check_mode: bool = False, **options: t.Any) -> ModuleExit:
        places = {name: str(getattr(self, name)) for name in ("bin_dir", "conf_dir", "cache_dir")}
        return self._run("plugins", check_mode=check_mode, **{"plugin_dirs": [], **places, **options})

    def installed_plugins(self) -> list[str]:
        return sorted(os.listdir(self.bin_dir)) if self.bin_dir.exists() else []


def put(directory: pathlib.Path, *names: str) -> None:
    """Make a directory with executables of these names."""
    directory.mkdir()
    for name in names:
        (directory / name).write_text(name, encoding="ascii")
        (directory / name).chmod(0o755)
