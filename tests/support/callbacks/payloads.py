# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Let all runs of Ansible in one sandbox share the payloads of modules, which take longer to build than to run."""

from __future__ import annotations

import hashlib
import os
import pathlib
import typing as t

from ansible import constants
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: payloads
type: notification
short_description: Keeps the payloads of modules for the next run
description:
  - Ansible builds the payload of a module once for each run. This links its directory of payloads to one in the sandbox.
"""

PLUGINS = pathlib.Path(__file__).parents[3] / "plugins"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "payloads"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        own = os.path.join(vars(constants)["DEFAULT_LOCAL_TMP"], "ansiballz_cache")
        if not os.path.lexists(own):
            shared = f"/run/cni.node-payloads/{_digest()}"
            os.makedirs(shared, exist_ok=True)
            os.symlink(shared, own)


def _digest() -> str:
    """Return a text that changes with any file of a plugin."""
    stats = [(str(path), path.stat().st_mtime_ns) for path in sorted(PLUGINS.rglob("*.py"))]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:16]
