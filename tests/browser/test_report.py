# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a fleet in a browser."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from selenium.webdriver.common.keys import Keys

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._report import page
from ansible_collections.cni.node.tests.browser.browser import PHONE, Browser
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report.example_fleet import (
    DIAGNOSIS,
    FINDING,
    LEAK,
    STEP,
    attachment,
    facts,
    fleet,
    large,
    link,
    network,
    three_nodes,
)

Show = t.Callable[[JsonObject], None]
HOSTILE = "</title><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'\"--></style>"


@pytest.fixture
def show(browser: Browser, tmp_path: pathlib.Path) -> Show:
    def write_and_open(report: JsonObject) -> None:
        file = tmp_path / "report.html"
        file.write_text(page.render(report), encoding="utf-8")
        open_report(browser, file)

    return write_and_open


def open_report(browser: Browser, file: pathlib.Path) -> None:
    """Open a report, and wait until its data is unpacked."""
    browser.open(file)
    browser.wait_until(lambda: browser.find_all("html[data-ready]"), "the page is not ready")


def _search(browser: Browser, words: str) -> None:
    field = browser.find("#search")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(words or Keys.DELETE)


def _nodes(browser: Browser) -> list[str]:
    return browser.visible_texts("#nodes tbody a")


def test_the_page_shows_the_fleet_and_sends_no_request(browser: Browser, show: Show) -> None:
    show(three_nodes())
    assert browser.console_errors() == []
    assert browser.requests() == []
    assert _nodes(browser) == ["three", "two", "one"]
    cards = dict(text.split("\n") for text in browser.visible_texts("#summary li"))
    assert (cards["Attachments"], cards["Drifted"], cards["Leaks"], cards["Not read"]) == ("6", "1", "1", "1")
    assert (cards["Networks"], cards["Errors"]) == ("3", "3")
    second, first = browser.visible_texts("svg.drawing")
    assert [
        word
        for word in ("bridge cni0", "macvlan on eth0.100", "port 8080->80/tcp", "VLAN 100 on eth0")
        if word not in first
    ] == []
    assert "the masquerade rule of 10.1.0.2 is gone" in second
    text = browser.find("#n2").text
    for words in (
        "no runtime has a record of container lost",
        "CVE-2025-67499",
        "the plugin bridge does not have the key 'colour'",
        "10.9.0.1-10.9.0.6",
        "cut is not valid JSON",
    ):
        assert words in text
    assert "other (10.1.128.0/24)" in browser.find("#fleet").text


def test_the_page_says_why_packets_are_lost_and_what_mends_it(browser: Browser, show: Show) -> None:
    show(three_nodes())
    assert "Why packets are lost" in browser.visible_texts("#n2 h4")
    (row,) = [text for text in browser.visible_texts("#n2 tbody tr") if "ip link set cni0 up" in text]
    for words in (
        "red → 10.1.0.1 (icmp)",
        "→ red route: 10.1.0.1 dev eth0",
        "→ node bridge: cni0 is down",
        "cni0 is up",
    ):
        assert words in row
    assert [element.text for element in browser.find_all("#n2 td div.bad") if "bridge" in element.text] == [
        "→ node bridge: cni0 is down"
    ]


def test_the_search_leaves_nodes_and_rows_that_have_all_words(browser: Browser, show: Show) -> None:
    show(three_nodes())
    _search(browser, "MACVLAN")
    assert (_nodes(browser), browser.find("#matches").text) == (["one"], "1 of 3 nodes")
    _search(browser, "two")
    rows = browser.visible_texts("#n2 tbody tr")
    _search(browser, "8080 red")
    assert _nodes(browser) == ["two", "one"]
    shown = browser.visible_texts("#n2 tbody tr")
    assert 0 < len(shown) < len(rows)
    _search(browser, "nowhere")
    assert (_nodes(browser), browser.visible_texts("details.node")) == ([], [])
    _search(browser, "")
    assert (_nodes(browser), browser.find("#matches").text) == (["three", "two", "one"], "")


def test_a_table_is_sorted_by_mouse_and_keyboard_with_numbers_as_numbers(browser: Browser, show: Show) -> None:
    nodes = {
        f"n{count}": facts(attachments=[attachment("dbnet", str(place)) for place in range(count)])
        for count in (9, 10, 1)
    }
    show(fleet(nodes))
    heading = next(each for each in browser.find_all("#nodes th") if each.text == "Attachments")
    heading.click()
    assert (_nodes(browser), heading.get_attribute("aria-sort")) == (["n10", "n9", "n1"], "descending")
    heading.send_keys(Keys.ENTER)
    assert (_nodes(browser), heading.get_attribute("aria-sort")) == (["n1", "n9", "n10"], "ascending")
    browser.find("#nodes th").click()
    assert _nodes(browser) == ["n1", "n9", "n10"]


def test_the_numbers_at_the_top_and_a_switch_filter_the_nodes(browser: Browser, show: Show) -> None:
    drifted = facts(attachments=[attachment("dbnet", "red", drift=["eth0 is gone"])])
    show(fleet({"good": facts(), "drifted": drifted, "leaking": facts()}, leaking={"findings": [LEAK]}))
    card = browser.find("button[data-filter=drifted]")
    card.click()
    assert (_nodes(browser), browser.find("#matches").text) == (["drifted"], "1 of 3 nodes")
    assert browser.visible_texts("details.node h3") == ["drifted"]
    browser.find("button[data-filter=leaks]").send_keys(Keys.SPACE)
    assert (_nodes(browser), card.get_attribute("aria-pressed")) == (["leaking"], "false")
    _search(browser, "nowhere")
    assert _nodes(browser) == []
    _search(browser, "")
    browser.find("button[data-filter=leaks]").click()
    assert len(_nodes(browser)) == 3
    browser.find("#only").send_keys(Keys.SPACE)
    assert (_nodes(browser), browser.find("#matches").text) == (["drifted", "leaking"], "2 of 3 nodes")
    assert not browser.find("button[data-filter=errors]").is_enabled()


def test_a_phone_shows_problems_first_and_stacks_the_rows(browser: Browser, show: Show) -> None:
    browser.resize(*PHONE)
    show(three_nodes())
    row = browser.find("tr[data-node=n2]")
    lines = row.text.split("\n")
    assert (lines[0], "plugin missing: ptp" in lines[1]) == ("two", True)
    # Numbers of 0 are left out.
    shown = [browser.find(f"tr[data-node={node}] td[data-label=Drifted]").is_displayed() for node in ("n1", "n2")]
    assert shown == [False, True]
    assert len({cell.location["x"] for cell in row.find_elements("css selector", "th, td") if cell.is_displayed()}) == 1
    too_wide = "return [...document.querySelectorAll('table')].filter(each => each.scrollWidth > innerWidth).length"
    assert browser.run(too_wide) == 0
    hint = (
        "const box = document.getElementById('search'), drawn = document.createElement('canvas').getContext('2d');"
        " drawn.font = getComputedStyle(box).font;"
        " return drawn.measureText(box.placeholder).width / (box.clientWidth - 2 * parseFloat(getComputedStyle(box).paddingLeft))"
    )
    assert 0 < browser.run(hint) <= 1
    frame = "const frame = document.querySelector('#n2 .drawing').parentElement; return "
    assert browser.run(f"{frame} Math.abs(frame.scrollLeft - (frame.scrollWidth - frame.clientWidth) / 2)") <= 1
    assert browser.run(f"{frame} frame.scrollLeft") > 0


def test_colours_follow_the_system_until_the_button_is_used(browser: Browser, show: Show) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    show(three_nodes())
    light = browser.run(background)
    browser.emulate("dark")
    dark = browser.run(background)
    assert dark != light
    browser.wait_until(lambda: browser.find("#colours").text == "Light")
    browser.find("#colours").click()
    assert browser.run(background) == light
    browser.run("localStorage.clear()")


@pytest.mark.parametrize("size", [PHONE, (800, 1000)], ids=["phone", "tablet"])
def test_a_narrow_page_does_not_scroll_sideways(browser: Browser, show: Show, size: tuple[int, int]) -> None:
    browser.resize(*size)
    long = "x" * 300
    show(fleet({"one": facts(attachments=[attachment(long, long)]), long: facts()}))
    assert not browser.overflows()
    assert browser.find("#search").is_displayed()


def test_printing_opens_the_nodes_and_leaves_the_tools_out(browser: Browser, show: Show) -> None:
    show(large(8, 2))
    assert browser.find_all("details.node[open]") == []
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.emulate(media="print")
    assert len(browser.visible_texts("svg.drawing")) == 8
    assert not browser.find(".tools").is_displayed()
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.find_all("details.node[open]") == []


def test_two_hundred_nodes_can_be_searched_and_opened(browser: Browser, show: Show) -> None:
    show(large(200))
    assert len(browser.find_all("#nodes tbody tr")) == 200
    assert browser.find_all("svg.drawing") == []
    _search(browser, "pod-117-031")
    assert (_nodes(browser), browser.find("#matches").text) == (["node117"], "1 of 200 nodes")
    browser.find("#nodes tbody tr:not([hidden]) a").click()
    browser.wait_until(lambda: browser.find_all("details.node[open]"))
    assert len(browser.visible_texts("#n118 svg .container")) == 40
    assert browser.console_errors() == []


def test_hostile_names_are_text_everywhere(browser: Browser, show: Show) -> None:
    leak = {**LEAK, **dict.fromkeys(("kind", "network", "subject", "evidence"), HOSTILE)}
    finding = {**FINDING, **dict.fromkeys(("code", "file", "path", "message", "hint"), HOSTILE)}
    attached = attachment(HOSTILE, HOSTILE, ifname=HOSTILE, addresses=[HOSTILE], ports=[HOSTILE], drift=[HOSTILE])
    hostile = facts(
        networks=[network(HOSTILE, {"type": HOSTILE, "device": HOSTILE})],
        attachments=[attached, {"path": HOSTILE, "error": {"msg": HOSTILE}}],
        leases=[{"network": HOSTILE, "range": HOSTILE, "size": 5, "taken": 1, "free": 4}],
        links=[link(HOSTILE, addresses=[HOSTILE], uplink=True)],
        findings=[finding],
        diagnoses=[{**dict.fromkeys(DIAGNOSIS, HOSTILE), "steps": [dict.fromkeys(STEP, HOSTILE)]}],
    )
    show(fleet({HOSTILE: hostile}, [HOSTILE], **{HOSTILE: {"findings": [leak]}}))
    assert browser.run("return window.hacked") is None
    assert [element.get_attribute("src") for element in browser.find_all("img")] == []
    assert len(browser.find_all("script:not(#data)")) == 1
    assert HOSTILE in browser.find("#n1 h3").text
    assert browser.find("#search").is_displayed()
    assert browser.console_errors() == []


def test_a_script_that_gets_into_the_page_does_not_run(browser: Browser, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "report.html"
    injected = "<script>window.hacked=1</script><img src='http://127.0.0.1:9/x' onerror='window.hacked=1'>"
    file.write_text(page.render(three_nodes()).replace("<main>", f"<main>{injected}"), encoding="utf-8")
    open_report(browser, file)
    assert browser.run("return window.hacked") is None
    assert len([error for error in browser.console_errors() if "Content Security Policy" in error]) >= 2
    assert _nodes(browser) == ["three", "two", "one"]
