# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each rule of the style check rejects an example and accepts text that follows the rule."""

from __future__ import annotations

import pathlib

import pytest

from tools.style import __main__ as style

PRODUCT = pathlib.Path("plugins/module_utils/_base/x.py")
TEST = pathlib.Path("tests/unit/test_x.py")


def rules(source: str, path: pathlib.Path = PRODUCT) -> list[tuple[int, str]]:
    """Return the violations in a part of a file, which says nothing of the file itself."""
    found = [(violation.line, violation.rule) for violation in style.check_file(path, source)]
    return [(line, rule) for line, rule in found if rule != "introduction"]


def lacks_introduction(source: str, path: pathlib.Path = PRODUCT) -> bool:
    """Return whether a file does not say in its first line what it is."""
    return (1, "introduction") in [(violation.line, violation.rule) for violation in style.check_file(path, source)]


def function(docstring: str, name: str = "read", returns: str = "str") -> str:
    return f'def {name}() -> {returns}:\n    """{docstring}"""\n'


BROKEN = {
    "a docstring begins with Tell": (function("Tell a link by its name."), [(2, "docstring-opening")]),
    "a class says what": ('class A:\n    """What is kept."""\n', [(2, "docstring-opening")]),
    "a module says that": ('"""That there is a link."""\n', [(1, "docstring-opening")]),
    "a docstring has an article": (function("The name of a link."), [(2, "imperative")]),
    "a docstring has the third person": (function("Returns the name."), [(2, "imperative")]),
    "a bool is not a whether": (function("Check the name.", returns="bool"), [(2, "bool-docstring")]),
    "a method is a preposition": ("class A:\n    def of(self) -> int:\n        return 1\n", [(2, "method-name")]),
    "a name begins with a participle": ("def _asked_link() -> None: ...\n", [(1, "participle-name")]),
    "a name is a participle": ("def _joined() -> None: ...\n", [(1, "participle-name")]),
    "a name begins with of": ("def of_some() -> None: ...\n", [(1, "method-name")]),
    "a test has no rule": ("def test_output_matches() -> None: ...\n", [(1, "test-name")]),
    "a test names nobody": ("def test_a_lease_of_nobody_is_freed() -> None: ...\n", [(1, "test-name")]),
    "a test is no sentence": ("def test_a_failure_on_the_page_is_none() -> None: ...\n", [(1, "test-name")]),
    "a test says is no": ("def test_an_empty_file_is_no_record() -> None: ...\n", [(1, "test-name")]),
    "a test says are no": ("def test_empty_files_are_no_records_here() -> None: ...\n", [(1, "test-name")]),
    "a test says is that of": ("def test_the_status_is_that_of_the_command() -> None: ...\n", [(1, "test-name")]),
    "a test puts back": ("def test_lost_rules_are_put_back() -> None: ...\n", [(1, "test-name")]),
    "a docstring puts back": (function("Put back the rules."), [(2, "phrase")]),
    "a comment": ("# Nobody waits.\n", [(1, "phrase")]),
    "a comment of two lines": ("x = 1\n# It is to\n# be done.\n", [(2, "phrase")]),
    "a docstring of two lines": (
        function("Return the id.\n\n    It is read, for\n    it is short.\n"),
        [(4, "phrase")],
    ),
    "a message": ('raise ValueError("somebody else has it")\n', [(1, "phrase")]),
    "a message with a value": ('raise ValueError(f"{x} is to be {y}")\n', [(1, "phrase")]),
    "a list of names": ('x = 1\n__all__ = ("x",)\n', [(2, "exports")]),
    "a typed list of names": ('__all__: t.Final = ["x"]\n', [(1, "exports")]),
    "a longer list of names": ('__all__ += ["x"]\n', [(1, "exports")]),
    "a message in two parts": ('raise ValueError(\n    "a, or "\n    "nothing"\n)\n', [(2, "phrase")]),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_found_with_its_line(broken: str) -> None:
    source, expected = BROKEN[broken]
    assert rules(source) == expected


INTRODUCED = {
    "one line": '"""Locks on files."""\n\nimport os\n',
    "more text after an empty line": '"""Locks on files.\n\nThey are advisory.\n"""\n\nimport os\n',
    "the documentation of a module": 'import os\n\nDOCUMENTATION = r"""\nmodule: netns\n"""\n',
    "an empty file": "# A comment.\n",
}
NOT_INTRODUCED = {
    "no docstring": "import os\n",
    "a docstring after the imports": 'import os\n\n"""Locks on files."""\n',
    "a sentence of two lines": '"""Locks on files, against other\nprocesses.\n"""\n\nimport os\n',
    "no sentence": '"""Locks"""\n\nimport os\n',
    "the documentation of a class": 'class A:\n    DOCUMENTATION = "options: {}"\n',
}


def test_a_file_of_the_product_says_in_one_line_what_it_is() -> None:
    assert [name for name, source in INTRODUCED.items() if lacks_introduction(source)] == []
    assert [name for name, source in NOT_INTRODUCED.items() if not lacks_introduction(source)] == []
    assert not lacks_introduction("import os\n", TEST)


KEPT = {
    "an order": function("Return the name of a link."),
    "a bool": function("Return whether the link exists.", returns="bool"),
    "a bool with an effect": function("Remove the link and return whether it existed.", returns="bool"),
    "a property is a noun": f"class A:\n    @property\n    {function('The name.')}".replace(
        '\n    """', '\n        """'
    ),
    "a fixture is a value": "@pytest.fixture()\ndef kept() -> int: ...\n",
    "a verb in ing": "def ping() -> None: ...\n",
    "a test": "def test_del_continues_after_a_plugin_fails() -> None: ...\n",
    "a test of something old": "def test_a_file_is_no_longer_a_record() -> None: ...\n",
    "a test of an absence": "def test_there_is_no_lock_without_a_record() -> None: ...\n",
    "the docstring of a test": 'def test_del_keeps_the_record() -> None:\n    """A DEL that failed."""\n',
    "the docstring of a fixture": '@pytest.fixture\ndef node() -> int:\n    """The node."""\n',
    "a term with a participle": "def expected_rules() -> None: ...\n",
    "a user": 'OWNER = "nobody"\n',
    "comments apart": "# This is to\nx = 1\n# be seen: be.\n",
}


@pytest.mark.parametrize("kept", KEPT)
def test_text_that_keeps_the_rules_passes(kept: str) -> None:
    assert rules(KEPT[kept]) == []


def test_literals_and_exported_names_of_tests_are_not_checked() -> None:
    assert rules('x = "it is to be seen"\n', TEST) == []
    assert rules(function("The name of a link."), TEST) == [(2, "imperative")]
    assert rules('__all__ = ("node",)\n', TEST) == []
    assert rules(function("Tell a link."), TEST) == [(2, "docstring-opening")]
    assert rules(function("Return a link.", name="joined"), TEST) == [(1, "participle-name")]


def test_some_directories_may_have_functions_named_by_a_participle() -> None:
    path = pathlib.Path("tests/fleet/x.py")
    assert rules(function("Return a link.", name="joined"), path) == []
    assert rules(function("Return a link.", name="asked_link"), path) == [(1, "participle-name")]


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("docs/x.md", "Whoever reads\nis warned; what is\nto be done.\n", [(1, "phrase"), (2, "phrase")]),
        ("docs/x.md", "The user `nobody`:\n```\nsu nobody\n```\n", []),
        ("roles/x/tasks/main.yml", "- name: Ask everybody\n", [(1, "phrase")]),
        ("tests/support/x", "#!/bin/sh\n# nobody\n", [(2, "phrase")]),
        ("tests/support/x", "#!/usr/bin/env python3\n# nobody\n", [(2, "phrase")]),
        ("tests/x.bin", "nobody", []),
    ],
)
def test_pages_and_yaml_and_scripts_are_read(path: str, source: str, expected: list[tuple[int, str]]) -> None:
    assert rules(source, pathlib.Path(path)) == expected


def test_paths_select_files_and_exempt_files_stay_out() -> None:
    files = [pathlib.Path(name) for name in ("docs/a.md", "docs/b/c.md", "docsx/d.md", "tests/corpus/good/x.json")]
    assert style.select(files, [pathlib.Path("docs")]) == files[:2]
    assert style.select(files, [pathlib.Path("docs/b/c.md")]) == files[1:2]
    assert style.select(files, []) == files[:3]


def test_a_path_that_is_misspelled_is_an_error() -> None:
    with pytest.raises(SystemExit):
        style.main(["plugin"])
