# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import stat
import sys

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference.builtin.registry import TYPES
from ansible_collections.cni.node.tests.integration.engine.conftest import (
    accept_hang_ups,
    blue,
    libcni,
    library,
    node,
    path_without_ip6tables,
    pytest_itemcollected,
    pytest_runtest_setup,
    warm_python,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode

_MODULE = "ansible_collections.cni.node.plugins.module_utils._reference.builtin.executable"


@pytest.fixture
def here(node: EngineNode) -> Engine:
    """Return an engine that runs built-in plugins."""
    return Engine(node, "always")


@pytest.fixture
def there(node: EngineNode) -> Engine:
    """Return an engine that runs the executables of the distribution."""
    return Engine(node, "never")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a directory that has every built-in plugin as an executable."""
    directory: pathlib.Path = tmp_path_factory.mktemp("builtin")
    search_path = [path for path in sys.path if path and os.path.isdir(path)]
    lines = [f"#!{sys.executable}", "import sys", f"sys.path[:0] = {search_path!r}"]
    lines += [f"from {_MODULE} import main", "sys.exit(main(sys.argv[0]))", ""]
    for plugin_type in TYPES:
        path = directory / plugin_type
        path.write_text("\n".join(lines), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return directory


__all__ = (
    "accept_hang_ups",
    "blue",
    "here",
    "libcni",
    "library",
    "node",
    "path_without_ip6tables",
    "programs",
    "pytest_itemcollected",
    "pytest_runtest_setup",
    "there",
    "warm_python",
)
