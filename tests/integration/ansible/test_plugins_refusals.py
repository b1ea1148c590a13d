# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins reports invalid input in one sentence and changes nothing."""

from __future__ import annotations

import gzip
import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task
from ansible_collections.cni.node.tests.integration.ansible.releases import BIN_DIR
from ansible_collections.cni.node.tests.integration.ansible.test_plugins import PLUGINS
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.test_archive import CRAFTED

OTHER = "sha256:" + "0" * 64
PAGE = b"<html><title>502 Bad Gateway</title>"
JSON = b'{"errors": [{"status": 404}]}'


def _crafted() -> dict[str, tuple[bytes, str]]:
    return {name: CRAFTED[name] for name in ("a chain of pax headers", "a broken sparse map", "a huge pax header")}


def _bad(files: pathlib.Path) -> dict[str, tuple[JsonObject, tuple[str, ...]]]:
    good = releases.release(files / "good.tgz", "static")
    whole = good.read_bytes()
    for name, content in {"page.tgz": PAGE, "json.tgz": JSON, "cut.tgz": whole[: len(whole) // 2]}.items():
        (files / name).write_bytes(content)
    for name, (content, dummy) in _crafted().items():
        (files / f"{name.replace(' ', '-')}.tgz").write_bytes(gzip.compress(content))
    page = releases.checksum(files / "page.tgz")
    return {
        "digest": (
            {"source": "good.tgz", "checksum": OTHER},
            ("good.tgz has the wrong digest", OTHER, releases.checksum(good), f"{len(whole)} bytes"),
        ),
        "a page": ({"source": "page.tgz", "checksum": OTHER}, (OTHER, page, "36 bytes and looks like an HTML page")),
        "a page without digest": ({"source": "page.tgz"}, ("page.tgz cannot be unpacked", "an HTML page", "502")),
        "JSON on the node": (
            {"source": str(files / "json.tgz"), "remote_src": True},
            ("json.tgz cannot be unpacked", "29 bytes and looks like JSON"),
        ),
        "cut off": ({"source": "cut.tgz"}, ("cut.tgz cannot be unpacked: ", "an incomplete one")),
        "not there": ({"source": "none.tgz"}, ("source: none.tgz does not exist on the controller",)),
        "empty directory": ({"source": "/srv", "remote_src": True}, ("/srv has no plugin",)),
        "a directory's digest": (
            {"source": str(releases.REFERENCE), "remote_src": True, "checksum": OTHER},
            ("is a directory; a checksum is allowed for archives only",),
        ),
        "broken release": ({"version": "1.7.0"}, ("version 1.7.0 of the reference plugins is refused", "use 1.7.1")),
        "no digest": ({"version": "9.9.9"}, ("no digest is known for https://", "v9.9.9.tgz", "set checksum")),
        "unknown plugin": ({"source": "good.tgz", "only": ["bridge"]}, ("the release has no plugin bridge",)),
        "nothing before": ({"state": "rolled_back"}, (f"no plugins are installed in {BIN_DIR}",)),
        "back to what?": ({"state": "rolled_back", "version": "1"}, ("takes neither version nor source",)),
        "relative": ({"source": "good.tgz", "bin_dir": "bin"}, ("bin_dir: 'bin' is not an absolute path",)),
        "keep": ({"source": "good.tgz", "keep": -1}, ("keep: -1",)),
        **{
            name: (
                {"source": f"{name.replace(' ', '-')}.tgz"},
                (f"{name.replace(' ', '-')}.tgz cannot be unpacked", problem),
            )
            for name, (dummy, problem) in _crafted().items()
        },
        "nothing": ({}, ("state is present but any of the following are missing: version, source",)),
    }


def test_an_error_is_one_sentence_and_changes_nothing(node: EngineNode, project: Project) -> None:
    (BIN_DIR / "calico").write_bytes(b"calico")
    bad = _bad(project.path / "files")
    played = project.play([task(name, PLUGINS, arguments) for name, (arguments, dummy) in bad.items()])
    for name, (dummy, fragments) in bad.items():
        played[name].require_no_change().require_failure(*fragments)
    assert list(node.cache_dir.iterdir()) == []


def test_check_mode_refuses_the_same_as_a_run(node: EngineNode, project: Project) -> None:
    bad = _bad(project.path / "files")
    names = ("digest", "a page", "a page without digest", "cut off", "unknown plugin", "broken release", *_crafted())
    played = project.play([task(name, PLUGINS, bad[name][0]) for name in names], "--check")
    for name in names:
        played[name].require_unchanged_node().require_failure(*bad[name][1])
    assert list(node.cache_dir.iterdir()) == []
