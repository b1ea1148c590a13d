# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The names under which executables are installed as plugins."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type

# Endings with which projects tell the executables of several architectures apart, such as flannel-amd64.
_ARCHITECTURE: t.Final = re.compile(
    r"(.+?)(?:[-_.]linux)?[-_.](?:386|amd64|arm|arm64|armv[5678]|ppc64le|riscv64|s390x|x86_64|aarch64)"
)


def without_architecture(name: str) -> str:
    """Return the name of a plugin from the name of its executable: without an ending such as ``-amd64``."""
    executable = _ARCHITECTURE.fullmatch(name)
    return executable[1] if executable else name


def name_executable(location: str, only: t.Sequence[str]) -> str:
    """Return the name under which a source that is a single executable is installed.

    Args:
        location: Path or URL of the executable.
        only: The plugins that the task selects.

    Raises:
        CniError: ``INVALID_CONFIG`` for several names, and for a name that a plugin cannot have.
    """
    if len(only) > 1:
        problem = f"{location} is a single executable, but 'only' has more than one plugin"
        raise CniError(Code.INVALID_CONFIG, problem, "expected in 'only': the name of the plugin")
    name = only[0] if only else without_architecture(re.split("[?#]", location)[0].rpartition("/")[2])
    return check_plugin_type(name, "only" if only else location)


__all__ = ("name_executable", "without_architecture")
