# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re

import pytest

pytest.importorskip("ansible.errors", reason="variables are checked on the controller")

from ansible_collections.cni.node.plugins.plugin_utils import _skipped_checks

TASKS = pathlib.Path(__file__).parents[4] / "roles" / "cni_node" / "tasks" / "variables.yml"


def test_a_host_whose_check_was_skipped_has_the_same_variables_checked() -> None:
    (given,) = re.findall(r"given=\{(.*?)\}", TASKS.read_text(encoding="utf-8"), re.DOTALL)
    assert re.findall(r"'(\w+)':", given) == list(_skipped_checks.CHECKED)
