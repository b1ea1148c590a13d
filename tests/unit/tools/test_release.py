# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A collection is released only if its version, its changelog and the tag agree."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from tools import release
from tools.paths import Unavailable


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a directory with the files of a collection that can be released."""
    (tmp_path / "changelogs" / "fragments").mkdir(parents=True)
    (tmp_path / "changelogs" / "fragments" / ".keep").touch()
    (tmp_path / "galaxy.yml").write_text("version: 1.2.0\n", encoding="utf-8")
    (tmp_path / "changelogs" / "changelog.yaml").write_text(yaml.safe_dump({"releases": {"1.2.0": {}}}), "utf-8")
    return tmp_path


def test_a_complete_collection_can_be_released(source: pathlib.Path) -> None:
    assert release.find_problems(source) == []
    assert release.find_problems(source, "1.2.0") == []


def test_a_tag_that_is_not_the_version_is_refused(source: pathlib.Path) -> None:
    assert release.find_problems(source, "1.2.1") == ["the tag is 1.2.1, but galaxy.yml has version 1.2.0"]


def test_a_version_without_changelog_is_refused(source: pathlib.Path) -> None:
    (source / "galaxy.yml").write_text("version: 1.3.0\n", encoding="utf-8")
    assert release.find_problems(source) == ["the changelog has no release 1.3.0: run make changelog"]


def test_unreleased_fragments_are_refused_before_anything_is_built(source: pathlib.Path) -> None:
    (source / "changelogs" / "fragments" / "gc.yml").write_text("bugfixes: []\n", encoding="utf-8")
    with pytest.raises(Unavailable, match=r"the changelog lacks gc\.yml: run make changelog"):
        release.prepare(source / "dist", source, "nobody")
    assert not (source / "dist").exists()
