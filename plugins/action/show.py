# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module `show`, which runs on the controller only."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display


class ActionModule(ActionBase):
    """Show text, also if the output has no successful tasks (``display_ok_hosts``)."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec({"msg": {"type": "raw", "required": True}})
        msg = arguments["msg"]
        if _hides_successful_tasks():
            variables = task_vars or {}
            is_one_of_several = not self._task.run_once and len(variables.get("ansible_play_hosts_all") or ()) > 1
            host = str(variables.get("inventory_hostname", "")) if is_one_of_several else ""
            Display().display("\n".join(lines_of(msg, host)))
        return {"changed": False, "msg": msg, "_ansible_verbose_always": True}


def lines_of(msg: object, host: str) -> list[str]:
    """Return the lines of a text or list; each begins with the host if there is one."""
    texts = map(str, msg) if isinstance(msg, list) else [str(msg)]
    return [f"{host}: {line}" if host else line for text in texts for line in text.splitlines() or [""]]


def _hides_successful_tasks() -> bool:
    """Return whether the callback that prints the output has such an option, which is off."""
    callback = constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK")
    try:
        option = constants.config.get_config_value("display_ok_hosts", plugin_type="callback", plugin_name=callback)
    except Exception:  # the callback has no such option; the type of the error depends on the release of ansible-core
        return False
    return option is False
