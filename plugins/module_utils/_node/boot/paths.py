# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

# Attachments are restored at boot by a program, the unit that runs it, and the link that enables the unit.
PROGRAM_NAME: t.Final = "restore.pyz"
PROGRAM: t.Final = f"/opt/cni.node/{PROGRAM_NAME}"
UNIT: t.Final = "/etc/systemd/system/cni-node-restore.service"
LINK: t.Final = "/etc/systemd/system/multi-user.target.wants/cni-node-restore.service"

# Held while these files are compared with the records and changed.
LOCK: t.Final = "/run/cni-node-restore.lock"

__all__ = ("LINK", "LOCK", "PROGRAM", "PROGRAM_NAME", "UNIT")
