# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `library`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.current_library import find_current
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.run import phrase_action
from ansible_collections.cni.node.plugins.module_utils._node.library.users import list_libraries, remove_unused

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def ensure(module: AnsibleModule) -> JsonObject:
    """Run the module `library` and return its result. The action plugin has installed the library before."""
    library = find_current()
    if library is None:
        raise CniError(Code.INTERNAL, "the controller has named no library", "run this module by its action plugin")
    before = list_libraries(library.top)
    if module.params["state"] == "absent":
        after = remove_unused(library.top, dry_run=module.check_mode)
    elif library.path in before or module.check_mode:
        after = sorted({*before, library.path})
    else:
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"the library could not be installed in {library.top}",
            "run the task with -v, which shows why",
        )
    paths = set(before) ^ set(after)
    action = phrase_action("installed" if len(after) > len(before) else "removed", predicted=module.check_mode)
    return {
        "changed": bool(paths),
        "library": library.path,
        "libraries": after,
        "diff": {"before": {"libraries": before}, "after": {"libraries": after}},
        "msg": f"{library.top}: {len(paths)} {action}" if paths else f"{library.top}: {len(after)} installed",
    }
