# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

ROOT = pathlib.Path(__file__).parents[2]
FILES = sorted([*(ROOT / "roles").glob("*/tasks/*.yml"), *(ROOT / "roles").glob("*/handlers/*.yml")])


def list_tasks(tasks: t.Sequence[JsonObject]) -> t.Iterator[JsonObject]:
    for task in tasks or ():
        yield task
        for part in ("block", "rescue", "always"):
            yield from list_tasks(task.get(part, ()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "roles")))
def test_each_module_of_the_collection_can_be_hidden_from_the_output(file: pathlib.Path) -> None:
    tasks = list_tasks(yaml.safe_load(file.read_text(encoding="utf-8")))
    # The names of network namespaces are in the names of files, too.
    own = [task for task in tasks if any(key.startswith("cni.node.") and key != "cni.node.netns" for key in task)]
    assert [task["name"] for task in own if "_no_log" not in str(task.get("no_log"))] == []
