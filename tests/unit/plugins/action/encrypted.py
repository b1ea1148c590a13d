# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class Encrypted:
    """A value from a vault, as action plugins get it before ansible-core 2.19."""

    __ENCRYPTED__ = True

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text
