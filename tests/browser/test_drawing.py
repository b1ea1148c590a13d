# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drawing of a node's networks in the report."""

from __future__ import annotations

import collections
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.plugin_utils._report import page
from ansible_collections.cni.node.tests.browser.browser import Browser
from ansible_collections.cni.node.tests.browser.test_report import open_report
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report.example_fleet import (
    attachment,
    facts,
    fleet,
    link,
)

BOXES = """
return [...document.querySelectorAll("svg.drawing g")].map(group => ({
  css: group.getAttribute("class").split(" "),
  lines: [...group.querySelectorAll("text")].map(text => text.textContent),
  title: group.querySelector("title").textContent,
  place: ["x", "y", "width", "height"].map(key => Number(group.querySelector("rect").getAttribute(key))),
}));
"""
EDGES = "return [...document.querySelectorAll('svg.drawing path')].map(path => path.getAttribute('class'))"
SIZE = "const { width, height } = document.querySelector('svg.drawing').viewBox.baseVal; return [width, height]"


class Drawing:
    """The drawing in an opened report.

    Attributes:
        boxes: The boxes with classes, lines, title, and place.
        size: Width and height.
    """

    def __init__(self, browser: Browser) -> None:
        self.boxes = browser.run(BOXES)
        self.edges = collections.Counter(browser.run(EDGES))
        self.size = browser.run(SIZE)

    def texts(self, css: str) -> list[list[str]]:
        """Return the lines of each box of a class."""
        return [box["lines"] for box in self.boxes if css in box["css"]]


@pytest.fixture
def draw(browser: Browser, tmp_path: pathlib.Path) -> t.Callable[..., Drawing]:
    def show(**parts: t.Any) -> Drawing:
        file = tmp_path / "report.html"
        file.write_text(page.render(fleet({"one": facts(**parts)})), encoding="utf-8")
        open_report(browser, file)
        return Drawing(browser)

    return show


Draw = t.Callable[..., Drawing]


def test_a_drawing_has_a_box_for_each_part_and_lines_between_them(draw: Draw) -> None:
    drawing = draw()
    assert drawing.texts("uplink") == [["eth0", "198.18.0.2/24"], ["eth0.100", "VLAN 100 on eth0"]]
    assert drawing.texts("container") == [
        ["red", "eth0 10.1.0.2/16", "port 8080->80/tcp"],
        ["blue", "eth0 10.1.0.3/16", "eth1 192.0.2.100/24"],
    ]
    assert drawing.edges == {"edge joined": 5, "edge masquerade": 1}


def test_boxes_do_not_overlap(draw: Draw) -> None:
    drawing = draw(attachments=[attachment("dbnet", f"c{number}") for number in range(30)])
    places = [box["place"] for box in drawing.boxes]
    assert len(places) == 34
    for index, (x, y, width, height) in enumerate(places):
        for other_x, other_y, other_width, other_height in places[:index]:
            apart = (
                x + width <= other_x
                or other_x + other_width <= x
                or y + height <= other_y
                or other_y + other_height <= y
            )
            assert apart
    right, bottom = drawing.size
    assert all(x >= 0 and y >= 0 and x + width <= right and y + height <= bottom for x, y, width, height in places)


def test_drift_is_drawn_with_its_reason_and_other_runtimes_are_marked(draw: Draw) -> None:
    attachments = [attachment("dbnet", "red", drift=["eth0 is gone"]), attachment("dbnet", "pod", own=False)]
    drawing = draw(attachments=attachments)
    assert drawing.texts("drifted") == [["red", "eth0 10.1.0.2/16", "eth0 is gone"]]
    assert drawing.texts("foreign") == [["pod", "eth0 10.1.0.2/16"]]
    assert drawing.edges["edge joined drifted"] == 1


def test_a_drawing_of_many_containers_has_those_with_problems_and_counts_the_others(draw: Draw) -> None:
    attachments = [attachment("dbnet", f"c{number:03}") for number in range(100)]
    drawing = draw(attachments=[*attachments, attachment("dbnet", "last", drift=["eth0 is gone"])])
    assert len(drawing.texts("container")) == 40
    assert [lines[0] for lines in drawing.texts("drifted")] == ["last"]
    assert drawing.texts("more") == [["and 61 more containers"]]


def test_long_names_are_cut_and_complete_in_the_title(draw: Draw) -> None:
    name = "a" * 200
    drawing = draw(attachments=[attachment("dbnet", name)])
    ((shown, *dummy),) = drawing.texts("container")
    assert shown.endswith("…")
    assert len(shown) < 60
    assert any(name in box["title"] for box in drawing.boxes)


def test_links_that_refer_to_each_other_in_a_circle_are_drawn(draw: Draw) -> None:
    links = [link("a", parent="b", uplink=True), link("b", parent="a"), link("c", parent="c", uplink=True)]
    assert [lines[0] for lines in draw(links=links, networks=[], attachments=[]).texts("uplink")] == ["a", "b", "c"]


def test_a_node_without_networks_has_no_drawing(browser: Browser, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page.render(fleet({"one": facts(networks=[], attachments=[], links=[])})), encoding="utf-8")
    open_report(browser, file)
    assert browser.find_all("svg.drawing") == []
