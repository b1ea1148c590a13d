# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Refuse to write to a directory that only a record names and another program uses."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files


def require_own(network: NetworkConfiguration, paths: NodePaths) -> None:
    """Raise an error if ADD with a recorded configuration would write to a directory of another program.

    Any program may have written the record.

    Raises:
        CniError: ``INVALID_CONFIG``; ``IO_FAILURE``.
    """
    foreign = {
        lease_files.TYPE: lease_files.foreign_directories(network, paths.lease_dir),
        saved_values.PLUGIN: saved_values.foreign_directories(network, paths.tuning_dir),
    }
    for plugin, directories in foreign.items():
        for path in sorted(directories):
            what = f"{path} is not used: only a record names it, and it has files of another program"
            raise CniError(Code.INVALID_CONFIG, what, f"expected: a dataDir that {plugin} has used, or a new one")
