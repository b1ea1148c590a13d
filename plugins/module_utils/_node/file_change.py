# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class FileChange:
    """What becomes of one file.

    Attributes:
        network: The network that the file defines.
        action: ``created``, ``changed``, ``removed`` or ``unchanged``.
        before, after: Its content; None where there is no file.
        before_mode, after_mode: Its permissions, where they are looked after.
    """

    network: str
    path: str
    action: str
    before: bytes | None
    after: bytes | None
    before_mode: int | None = None
    after_mode: int | None = None

    @property
    def changed(self) -> bool:
        return self.action != "unchanged"


__all__ = ("FileChange",)
