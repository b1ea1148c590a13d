# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the container runtimes of a node, and where they look for networks and plugins."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import program, service
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import runtime_settings
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import ContainerRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import Configured

_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+[^\s,)]*)")


@dataclasses.dataclass(frozen=True)
class FoundRuntime:
    """A runtime that a node has.

    Attributes:
        program: The path of its program, or an empty string.
        units: Those of its systemd units that the node has, and whether each is active.
        conf_dir: Where it reads network configurations.
        plugin_dirs: Where it looks for plugins.
        error: Why its configuration cannot be read; its usual directories are then assumed.
    """

    runtime: ContainerRuntime
    program: str
    units: t.Mapping[str, bool]
    conf_dir: Configured
    plugin_dirs: Configured
    error: CniError | None = None

    @property
    def conf_path(self) -> str:
        """The directory in which it reads network configurations: the first that exists."""
        return _list_existing(self.conf_dir.paths)[0]

    @property
    def searched_dirs(self) -> tuple[str, ...]:
        """The plugin directories in which it looks: all, or the first that exists."""
        paths = self.plugin_dirs.paths
        return paths if self.runtime.setup.searches_all else _list_existing(paths)[:1]

    def reads(self, path: str) -> bool:
        """Return whether it reads network configurations in a directory."""
        return os.path.realpath(self.conf_path) == os.path.realpath(path)

    def searches(self, path: str) -> bool:
        """Return whether it looks for plugins in a directory."""
        return os.path.realpath(path) in map(os.path.realpath, self.searched_dirs)

    @functools.cached_property
    def version(self) -> str:
        """The version that its program, which is run once, prints; an empty string if there is none."""
        if not self.program:
            return ""
        try:
            printed = program.output([self.program, *self.runtime.setup.version[1:]])
        except CniError:
            return ""
        found = _VERSION.search(printed)
        return printable.line(found[1]) if found else ""

    def as_dict(self) -> JsonObject:
        """Return the runtime as modules return it. This runs its program."""
        setup = self.runtime.setup
        return {
            "name": self.runtime.name,
            "version": self.version,
            "program": self.program,
            "units": [{"name": name, "active": is_active} for name, is_active in sorted(self.units.items())],
            "conf_dir": self.conf_path,
            "conf_dir_file": self.conf_dir.file,
            "plugin_dirs": list(self.searched_dirs),
            "plugin_dirs_file": self.plugin_dirs.file,
            "takes": setup.takes,
            "broken_file": setup.broken,
            "notices": setup.notices,
            "error": self.error.as_dict() if self.error else None,
        }


def find_runtimes(root: str = "/") -> list[FoundRuntime]:
    """Return the runtimes whose program or service the node has.

    Args:
        root: Configuration files are below it; another directory in tests.
    """
    units = service.unit_states(sorted({unit for runtime in RUNTIMES for unit in runtime.units}))
    found = []
    for runtime in RUNTIMES:
        path = program.find(runtime.setup.version[0]) or ""
        own = {unit: units[unit] for unit in runtime.units if unit in units}
        if path or own:
            found.append(_describe(runtime, path, own, root))
    return found


def _list_existing(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the directories that exist, or all if none does."""
    return tuple(filter(os.path.isdir, paths)) or paths


def _describe(runtime: ContainerRuntime, path: str, units: t.Mapping[str, bool], root: str) -> FoundRuntime:
    setup = runtime.setup
    try:
        directories = (
            runtime_settings.effective(setup.conf_dir, root),
            runtime_settings.effective(setup.plugin_dirs, root),
        )
    except CniError as exc:
        usual = Configured(setup.conf_dir.defaults), Configured(setup.plugin_dirs.defaults)
        return FoundRuntime(runtime, path, units, *usual, exc)
    return FoundRuntime(runtime, path, units, *directories)
