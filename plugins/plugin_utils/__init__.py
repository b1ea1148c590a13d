# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The code that plugins share on the controller. Importing it lets Python keep the bytecode of the collection's files.

Ansible keeps that of the plugins themselves, but compiles the files that they import again in every run.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
import typing as t

from ansible.utils.collection_loader import AnsibleCollectionConfig

if t.TYPE_CHECKING:
    import importlib.machinery
    import types

_PACKAGE = f"{__name__.rpartition('.')[0]}."


class _KeptBytecode(importlib.abc.MetaPathFinder):
    """Finds files of this collection for Python's own loader, before Ansible does."""

    def find_spec(
        self, fullname: str, path: t.Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith(_PACKAGE):
            for directory in path or ():
                file = os.path.join(directory, f"{fullname.rpartition('.')[2]}.py")
                if os.path.isfile(file):
                    return importlib.util.spec_from_file_location(fullname, file)
        return None  # a package, which Ansible finds


# Right before Ansible's, so that what comes before it, such as the loader of ansible-test, still decides first.
_finder = AnsibleCollectionConfig.collection_finder
if _finder in sys.meta_path:
    sys.meta_path.insert(sys.meta_path.index(_finder), _KeptBytecode())
