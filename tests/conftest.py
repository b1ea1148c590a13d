# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.cni.node.tests.support import ring


def pytest_report_header() -> str:
    return f"ring: {'outer' if ring.IS_OUTER else 'inner'}, repeat its samples with CNI_SEED={ring.SEED}"
