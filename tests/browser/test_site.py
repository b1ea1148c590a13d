# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documentation site builds without a warning, and works from the file system, without a server."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
from selenium.webdriver.common.keys import Keys

from ansible_collections.cni.node.tests.browser.browser import PHONE, Browser
from tools import docs

# Elements that reach beyond the page. The theme lets the whole text scroll sideways then, which the page does not show;
# only a table or a block of code may scroll.
TOO_WIDE = """
const width = document.documentElement.clientWidth;
const scrolls = element => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
const isScrolled = element => element.tagName !== "ARTICLE" && (scrolls(element) || isScrolled(element.parentElement));
return [...document.querySelectorAll("article *")]
  .filter(element => element.getBoundingClientRect().right > width && !isScrolled(element))
  .map(element => element.outerHTML.slice(0, 80));
"""
SEARCH = "input[type=search], input[name=q]"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Build the site; a warning fails the build."""
    top: pathlib.Path = tmp_path_factory.mktemp("site")
    assert docs.build(top / "sources", top / "html") == 0
    return top / "html"


def navigation(browser: Browser, site: pathlib.Path) -> list[pathlib.Path]:
    """Return every page in the navigation, folded ones included."""
    browser.open(site / "index.html")
    addresses = browser.run("return [...document.querySelectorAll('.sidebar-tree a')].map(link => link.href)")
    names = sorted({address.partition("#")[0] for address in addresses} - {""})
    return [pathlib.Path(name.removeprefix("file://")) for name in names]


def background(browser: Browser) -> list[int]:
    """Return red, green and blue of the page's background."""
    color = browser.run("return getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in re.findall(r"\d+", color)[:3]]


def test_the_start_page_opens_without_a_request(browser: Browser, site: pathlib.Path) -> None:
    browser.open(site / "index.html")
    assert browser.find("h1").text.startswith("cni.node")
    captions = browser.visible_texts(".sidebar-tree .caption-text")
    assert [caption.title() for caption in captions] == ["Start", "Tutorials", "How-To", "Reference", "Design"]
    assert browser.console_errors() == []
    assert browser.requests() == []


def test_every_page_opens_and_fits_a_phone(browser: Browser, site: pathlib.Path) -> None:
    pages = navigation(browser, site)
    built = {path for path in site.rglob("*.html") if path.name not in ("search.html", "genindex.html")}
    assert set(pages) == built
    browser.resize(*PHONE)
    wide: list[str] = []
    for page in pages:
        browser.open(page)
        assert browser.find("article h1").text
        wide += [f"{page.name}: {element}" for element in browser.run(TOO_WIDE)]
        wide += [page.name] if browser.overflows() else []
    assert wide == []
    assert browser.console_errors() == []
    assert browser.requests() == []


def test_the_one_search_box_finds_a_page(browser: Browser, site: pathlib.Path) -> None:
    browser.open(site / "tutorials" / "lab.html")
    (box,) = browser.find_all(SEARCH)
    box.send_keys("persist", Keys.ENTER)
    browser.wait_until(lambda: browser.find_all("#search-results li a"), "there are no results")
    assert len(browser.find_all(SEARCH)) == 1
    result = next(link for link in browser.find_all("#search-results li a") if "systemd service" in link.text)
    result.click()
    browser.wait_until(lambda: browser.find("h1").text.startswith("A systemd service in a network namespace"))
    assert browser.console_errors() == []
    assert browser.requests() == []


def test_names_in_a_sentence_lead_to_the_reference(browser: Browser, site: pathlib.Path) -> None:
    browser.open(site / "howto" / "subnets.html")
    browser.find("article a[href$='node_subnets_filter.html'] code").click()
    browser.wait_until(lambda: browser.find("h1").text.startswith("cni.node.node_subnets filter"))


def test_a_sequence_diagram_is_shown_as_a_list(browser: Browser, site: pathlib.Path) -> None:
    browser.open(site / "architecture.html")
    assert "_node/attachments → _cni/runtime: lock the attachment" in browser.visible_texts("article ol li")


@pytest.mark.parametrize(("scheme", "is_expected"), [("light", min), ("dark", max)])
def test_colours_follow_the_preference(
    browser: Browser, site: pathlib.Path, scheme: str, is_expected: t.Callable[[list[int]], int]
) -> None:
    browser.emulate(scheme)
    browser.open(site / "index.html")
    parts = background(browser)
    assert is_expected(parts) > 200 if scheme == "light" else is_expected(parts) < 60
