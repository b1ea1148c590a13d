# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hypothesis

# How long an example takes says more about the machine than about the engine.
hypothesis.settings.register_profile("engine", deadline=None, max_examples=60)
hypothesis.settings.load_profile("engine")
