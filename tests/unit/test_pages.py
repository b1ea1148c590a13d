# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files and commands are read from a page, and their output is compared with what the page shows."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.tests.support import pages
from ansible_collections.cni.node.tests.support.pages import Command, File, Other, PageError, Reader

PAGE = """\
# A page

```ini
# group_vars/all.ini
a = 1
```

## Run it

<!-- file: net.json -->
```json
{}
```

```console
$ echo one \\
    two
one two
$ true
```

```text
drawing
```
"""


def test_files_commands_and_other_blocks_are_read_in_their_order() -> None:
    assert pages.read_steps(PAGE) == [
        File(4, "A page", "group_vars/all.ini", "# group_vars/all.ini\na = 1\n"),
        File(12, "Run it", "net.json", "{}\n"),
        Command(16, "Run it", "echo one \\\n    two", ["one two"]),
        Command(19, "Run it", "true", []),
        Other(23, "Run it", "text"),
    ]


def test_a_console_block_without_a_prompt_has_an_empty_command() -> None:
    assert pages.read_steps("```console\nmake demo\n```\n") == [Command(2, "", "", ["make demo"])]


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (["a", "b"], ["a", "", "b"]),
        (["...", "b", "..."], ["a", "b", "c"]),
        (["...", "b", "..."], ["b"]),
        (["a", "...", "c"], ["a", "b", "c"]),
        (["...", "c"], ["c", "b", "c"]),
        (["an err..."], ["an error"]),
        (["took 0.1 s, 02:00:00:00:00:01, ok=3  changed=1"], ["took 17.25 s, 9a:26:b3:e3:d2:56, ok=40    changed=1"]),
        (["TASK [x] ****"], ["TASK [x] *******"]),
    ],
)
def test_output_matches_the_page(expected: list[str], printed: list[str]) -> None:
    assert pages.matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (["a"], ["a", "b"]),
        (["b"], ["a", "b"]),
        (["a", "..."], ["b", "a"]),
        (["...", "a"], ["a", "b"]),
        (["...", "a", "...", "a"], ["a"]),
        (["b", "...", "a", "..."], ["a", "b"]),
        (["changed=1"], ["changed=2"]),
    ],
)
def test_different_output_does_not_match_the_page(expected: list[str], printed: list[str]) -> None:
    assert not pages.matches(expected, printed)


@pytest.fixture
def reader(tmp_path: pathlib.Path) -> Reader:
    return Reader(tmp_path, os.environ)


def test_steps_share_a_directory(reader: Reader) -> None:
    reader.follow(pages.read_steps("```yaml\n# a/b.yml\nx: 1\n```\n```console\n$ tail -n 1 a/b.yml\nx: 1\n```\n"))


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```console\n$ echo two\none\n```\n", "line 2: echo two\nshould print:\none"),
        ("```console\n$ false\n```\n", "line 2: false\nended with status 1, which the page does not say"),
        ("```console\n$ true\nfatal: [node1]: FAILED!\n```\n", "ended with status 0, which the page does not say"),
    ],
)
def test_output_that_differs_from_the_page_is_an_error(reader: Reader, page: str, message: str) -> None:
    with pytest.raises(PageError) as error:
        reader.follow(pages.read_steps(page))
    assert message in str(error.value)


def test_a_command_may_fail_where_the_page_shows_its_failure(reader: Reader) -> None:
    reader.follow(pages.read_steps("```console\n$ echo 'fatal: x'; false\nfatal: x\n```\n"))
