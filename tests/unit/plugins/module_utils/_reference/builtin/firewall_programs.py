# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of iptables that keep their rules in a file."""

from __future__ import annotations

import pathlib

_RESTORE = """#!/bin/sh
/bin/sed -e 's/^-N \\(.*\\)/:\\1 - [0:0]/' -e 's/^-I \\([^ ]*\\) [0-9]* /-A \\1 /' >>{rules}
"""
_SAVE = """#!/bin/sh
echo $0 >>{log}
/bin/cat {rules}
"""
_FAILING = """#!/bin/sh
echo $0 >>{log}
echo 'socket: Too many open files' >&2
exit 1
"""


class IptablesPrograms:
    """iptables-save and iptables-restore, which add rules to a file and print them; other commands are ignored."""

    def __init__(self, directory: pathlib.Path, tool: str = "iptables") -> None:
        self._directory = directory
        self._tool = tool
        self._rules = directory / f"{tool}.rules"
        self._log = directory / f"{tool}.log"
        self._rules.write_text("", encoding="utf-8")
        self._write("save", _SAVE)
        self._write("restore", _RESTORE)

    @property
    def rules(self) -> str:
        return self._rules.read_text(encoding="utf-8")

    @property
    def listings(self) -> int:
        """The number of times that the rules were listed."""
        return len(self._log.read_text(encoding="utf-8").splitlines()) if self._log.exists() else 0

    def fail_to_list(self) -> None:
        self._write("save", _FAILING)

    def _write(self, operation: str, script: str) -> None:
        path = self._directory / f"{self._tool}-{operation}"
        path.write_text(script.format(rules=self._rules, log=self._log), encoding="utf-8")
        path.chmod(0o755)
