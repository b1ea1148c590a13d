# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin is run again if its file may have changed, and whatever the file of answers has."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.info.plugin_answers import PluginAnswers
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import Description

ELF = b"\x7fELF of a plugin"
FIRST, SECOND = Description("1.9.0", ("0.4.0", "1.0.0")), Description("1.9.1", ("1.1.0",))


class Node:
    """A plugin, and the file of answers."""

    def __init__(self, top: pathlib.Path) -> None:
        self.plugin, self.file = top / "bridge", top / "run" / "answers.json"
        self.file.parent.mkdir()
        self.plugin.write_bytes(ELF)

    def ask(self, answer: Description) -> Description:
        """Ask the plugin in a run of its own; if it is run, it gives this answer."""
        answers = PluginAnswers(str(self.file))
        got = answers.ask(str(self.plugin), lambda: answer)
        answers.save()
        return got


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_an_unchanged_plugin_is_run_once(node: Node) -> None:
    assert [node.ask(FIRST), node.ask(SECOND), node.ask(SECOND)] == [FIRST] * 3
    assert node.file.stat().st_mode & 0o777 == 0o600


def test_a_replaced_plugin_is_run_again(node: Node) -> None:
    node.ask(FIRST)
    before = node.plugin.stat()
    other = node.plugin.with_name("other")
    other.write_bytes(ELF)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(node.plugin)
    assert [node.ask(SECOND), node.ask(FIRST)] == [SECOND] * 2


def test_a_plugin_is_run_again_if_its_content_changes_but_not_its_time(node: Node) -> None:
    node.ask(FIRST)
    before = node.plugin.stat()
    while node.plugin.stat().st_ctime_ns == before.st_ctime_ns:
        node.plugin.write_bytes(ELF[::-1] if node.plugin.read_bytes() == ELF else ELF)
        node.plugin.write_bytes(ELF)
        os.utime(node.plugin, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert node.ask(SECOND) == SECOND


def test_a_link_that_leads_to_another_plugin_is_followed(node: Node) -> None:
    plugins = [node.plugin.with_name(name) for name in ("one", "two")]
    for plugin in plugins:
        plugin.write_bytes(ELF)
    node.plugin.unlink()
    node.plugin.symlink_to(plugins[0])
    node.ask(FIRST)
    node.plugin.unlink()
    node.plugin.symlink_to(plugins[1])
    assert node.ask(SECOND) == SECOND


def test_a_script_is_always_run(node: Node) -> None:
    node.plugin.write_text("#!/bin/sh\nexec /usr/lib/plugins/bridge\n", encoding="utf-8")
    assert [node.ask(FIRST), node.ask(SECOND)] == [FIRST, SECOND]
    assert not node.file.exists()


def test_the_answer_of_a_plugin_that_is_replaced_meanwhile_is_not_kept(node: Node) -> None:
    def run() -> Description:
        node.plugin.unlink()
        node.plugin.write_bytes(ELF)
        return FIRST

    answers = PluginAnswers(str(node.file))
    assert answers.ask(str(node.plugin), run) == FIRST
    answers.save()
    assert node.ask(SECOND) == SECOND


def test_an_error_is_not_kept(node: Node) -> None:
    def fail() -> Description:
        raise CniError(Code.IO_FAILURE, "no")

    answers = PluginAnswers(str(node.file))
    with pytest.raises(CniError, match="no"):
        answers.ask(str(node.plugin), fail)
    answers.save()
    assert node.ask(SECOND) == SECOND


def test_other_plugins_keep_their_answers_until_they_are_gone(node: Node) -> None:
    first, second = node.plugin, node.plugin.with_name("other")
    node.ask(FIRST)
    second.write_bytes(ELF)
    node.plugin = second
    node.ask(SECOND)
    assert str(first) in node.file.read_text(encoding="utf-8")
    first.unlink()
    second.unlink()
    second.write_bytes(ELF)
    node.ask(FIRST)
    assert str(first) not in node.file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"format": 2}', '{"format": 1}', '{"format": 1, "answers": []}']
    + [f'{{"format": 1, "answers": {{"PLUGIN": {entry}}}}}' for entry in ("[]", "[1, 2]", '[["x"], ["", []]]')],
)
def test_plugins_are_run_if_the_file_cannot_be_used(node: Node, content: str) -> None:
    node.file.write_text(content.replace("PLUGIN", str(node.plugin)), encoding="utf-8")
    assert [node.ask(SECOND), node.ask(FIRST)] == [SECOND] * 2


def test_plugins_are_run_if_their_answers_cannot_be_kept(node: Node) -> None:
    node.file.parent.rmdir()
    assert [node.ask(FIRST), node.ask(SECOND)] == [FIRST, SECOND]
