# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import NODE, Finding, errors
from ansible_collections.cni.node.plugins.module_utils._module.arguments import positive
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks as conflist_checks
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plugin_checks import PluginProbe
from ansible_collections.cni.node.plugins.module_utils._node.plugins import access as plugin_access
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def findings(module: AnsibleModule, planned: PlannedDirectory) -> list[Finding]:
    """Compare planned networks with the node, and ask their plugins for versions, as far as the task wants it.

    In check mode, an earlier task may be about to create what is missing: that is a warning then.

    Raises:
        CniError: The kernel does not answer, or ``INVALID_CONFIG``: the time limit is not positive.
    """
    params = module.params
    result: list[Finding] = []
    is_asked, allowed = NODE in params["validate"]["levels"], params["allow_world_writable_plugins"]
    if params["probe"] or is_asked:
        unsafe = plugin_access.network_findings(planned.wanted, params["plugin_dirs"], allow_world_writable=allowed)
        result += unsafe if is_asked else errors(unsafe)
    if params["probe"]:
        timeout = positive("timeout", params["timeout"])
        executor = make_executor(params["plugin_dirs"], timeout, allow_world_writable=allowed)
        probe = PluginProbe(executor, tolerate_missing=module.check_mode)
        result += [finding for network in planned.wanted for finding in probe.findings(network)]
    if is_asked:
        result += conflist_checks.findings(planned, tolerate_missing=module.check_mode)
    return result


__all__ = ("findings",)
