# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that the module show displays where Ansible does not display successful tasks."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

from ansible_collections.cni.node.plugins.action.show import lines_of


@pytest.mark.parametrize(
    ("msg", "host", "lines"),
    [
        (["NODE  TROUBLE", "", "one   -"], "", ["NODE  TROUBLE", "", "one   -"]),
        (["1 repaired", "of red: the rule is gone"], "one", ["one: 1 repaired", "one: of red: the rule is gone"]),
        ("no leaks\n\nnone kept", "one", ["one: no leaks", "one: ", "one: none kept"]),
        (3, "one", ["one: 3"]),
        ("", "", [""]),
    ],
)
def test_each_line_names_the_host_of_a_task_that_runs_on_several(msg: object, host: str, lines: list[str]) -> None:
    assert lines_of(msg, host) == lines
