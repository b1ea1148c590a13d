# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Headless Chromium, with what a test of a page has to know: elements, errors, requests and screenshots."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import typing as t

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

DESKTOP = (1280, 900)
PHONE = (390, 844)
# Without these, Chromium looks for updates and calls its vendor at every start.
_QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--force-color-profile=srgb", *_QUIET]
_LOCAL = ("file:", "data:", "about:", "blob:", "chrome:")
SECONDS = 20


class Browser:
    """One browser and its only tab.

    Attributes:
        driver: The WebDriver, for what has no method here.
    """

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    @classmethod
    @contextlib.contextmanager
    def start(cls, directory: pathlib.Path) -> t.Iterator[Browser]:
        """Start Chromium with an empty profile in this directory; end it with the context."""
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in [*_FLAGS, f"--user-data-dir={directory / 'profile'}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            yield cls(driver)
        finally:
            driver.quit()

    def reset(self) -> None:
        """Return to an empty page, the size of a desktop and light colours; forget errors and requests."""
        self.driver.get("about:blank")
        self.resize(*DESKTOP)
        self.emulate()
        self.console_errors()
        self.requests()

    def open(self, page: pathlib.Path, fragment: str = "") -> None:
        self.driver.get(page.resolve().as_uri() + fragment)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in CSS pixels; a window has a minimum width that is larger than a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def emulate(self, scheme: str = "light", media: str = "") -> None:
        """Set the preferred colours, and the medium: `print`, or an empty string for the screen."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def visible_texts(self, selector: str) -> list[str]:
        """Return the texts of the matching elements that are displayed."""
        return [element.text for element in self.find_all(selector) if element.is_displayed()]

    def run(self, script: str) -> t.Any:
        """Return what a script returns."""
        return self.driver.execute_script(script)

    def wait_until(self, condition: t.Callable[[], t.Any], message: str = "") -> t.Any:
        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(lambda dummy: condition(), message)

    def overflows(self) -> bool:
        """Return whether the page is wider than the window, so that it scrolls sideways."""
        # The window of a phone becomes as wide as the page; what the page is laid out for does not.
        return bool(self.run("const page = document.documentElement; return page.scrollWidth > page.clientWidth"))

    def console_errors(self) -> list[str]:
        """Return errors and warnings that the page has caused since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """Return the addresses requested since the last call, other than files and data in the page."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        sent = (event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent")
        return [url for url in sent if not url.startswith(_LOCAL)]

    def screenshot(self, path: pathlib.Path) -> pathlib.Path:
        """Write a picture of the whole page, including what is below the window."""
        height = int(self.run("return document.documentElement.scrollHeight"))
        width = int(self.run("return window.innerWidth"))
        self.resize(width, min(height, 8000))
        self.driver.save_screenshot(str(path))
        return path
