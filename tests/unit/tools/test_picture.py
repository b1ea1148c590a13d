# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The picture in docs/architecture.svg follows from the imports."""

from __future__ import annotations

import typing as t
import xml.etree.ElementTree as ET

from tools import picture

SVG = "{http://www.w3.org/2000/svg}"
FILES: t.Final[picture.Graph] = {
    "plugins.modules.gc": {"plugins.module_utils._module.gc", "plugins.module_utils._node.gc.leak"},
    "plugins.module_utils._module.gc": {"plugins.module_utils._node.gc.leak", "plugins.module_utils._base.error"},
    "plugins.module_utils._node.gc.leak": {"plugins.module_utils._node.attachments.types"},
    "plugins.module_utils._node.boot.main": {
        "plugins.module_utils._node.attachments.types",
        "plugins.module_utils._node.gc.leak",
    },
    "plugins.module_utils._node.attachments.types": {"plugins.module_utils._base.error"},
    "plugins.module_utils._base.error": set(),
    "plugins.doc_fragments.common": set(),
}


def names(text: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(text).iter(f"{SVG}text") if element.get("class") == "name"]


def test_the_committed_picture_is_what_the_command_makes() -> None:
    drawn = picture.draw(picture.read_files())
    assert picture.PICTURE.read_text(encoding="utf-8") == drawn, "run `make format`"


def test_floors_lie_above_those_that_they_import() -> None:
    floors = picture.reduce(picture.collapse(FILES, picture.floor_of))
    assert floors == {"modules": {"_module"}, "_module": {"_node"}, "_node": {"_base"}, "_base": set()}
    assert picture.list_levels(floors) == [["modules"], ["_module"], ["_node"], ["_base"]]


def test_rooms_have_arrows_that_no_others_imply() -> None:
    rooms = picture.reduce(picture.collapse(FILES, lambda name: picture.room_of(name, "_node")))
    assert rooms == {"boot": {"gc"}, "gc": {"attachments"}, "attachments": set()}


def test_files_beside_the_rooms_belong_to_no_room() -> None:
    assert picture.room_of("plugins.module_utils._base.error", "_node") == ""
    assert picture.room_of("plugins.plugin_utils._validation.validate", "plugin_utils") == ""
    assert picture.room_of("plugins.plugin_utils._validation.rules.chain", "plugin_utils") == "rules"


def test_every_floor_and_room_is_drawn_once_without_scripts() -> None:
    text = picture.draw(FILES)
    assert sorted(names(text)) == ["_base", "_module", "_node", "attachments", "boot", "gc", "modules"]
    arrows = [element for element in ET.fromstring(text).iter(f"{SVG}path") if element.get("class") == "arrow"]
    assert len(arrows) == 5
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text
