# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import shutil
import typing as t

import pytest

from ansible_collections.cni.node.tests.browser.browser import Browser


@pytest.fixture(scope="session")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Browser]:
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} missing: run tools/system-packages browser")
    with Browser.start(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Browser, tmp_path: pathlib.Path) -> Browser:
    """A browser on an empty page, in the size of a desktop and with light colours."""
    shared_browser.reset()
    return shared_browser
