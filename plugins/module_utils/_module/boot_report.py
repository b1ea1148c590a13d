# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Restoration at boot in the result of the module `attachments`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot.prepare import prepare

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def prepare_boot(
    module: AnsibleModule, outcomes: t.Sequence[AttachmentResult], parts: dict[str, t.Any], paths: NodePaths
) -> None:
    """Write the files for restoration at boot, and add them, or the error, to ``parts``."""
    try:
        cache_dir, timeout = module.params["cache_dir"], module.params["timeout"]
        changes, warnings = prepare(
            cache_dir,
            outcomes,
            dry_run=module.check_mode,
            timeout=timeout,
            paths=paths,
        )
    except CniError as exc:
        parts["error"] = exc.as_dict()
        return
    warn(module, warnings)
    parts["files"] = [{"path": change.path, "action": change.action} for change in changes]
    if changes:
        parts["diff"] = [parts["diff"], *(change.as_diff() for change in changes)]
