# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Defaults of roles follow from their options, and options of cni_node from those of the roles that it passes them to."""

from __future__ import annotations

import yaml

from tools import roles

SPECS = """\
argument_specs:
  main:
    options:
      {0}_conf_dir:
        description: A directory.
        type: path
        default: /etc/cni/net.d
"""
PURGE = """\
      {0}_purge:
        {1}description: Whether to remove what O({0}_conf_dir) has.
        type: raw
        default: false
"""
FACADE = SPECS.format("cni_node")
ROLE = SPECS.format("cni_networks") + PURGE.format("cni_networks", "")
COPY = PURGE.format("cni_node", "# As in cni_networks.\n        ")
TASKS = """
    cni_networks_conf_dir: "{{ __cni_node_setup.conf_dir }}"
    cni_networks_purge: "{{ cni_node_purge }}"
"""


def copy(facade: str, tasks: str = TASKS) -> str:
    return roles.copy_passed(facade, {"cni_networks": ROLE}, tasks)


def test_committed_files_of_roles_are_what_the_command_writes() -> None:
    for path, text in roles.generate(roles.ROLES).items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `make format`"


def test_defaults_have_each_option_in_its_order() -> None:
    options = {"a": [], "b": ["x", "y"], "c": {}, "d": "", "e": "text", "f": False, "g": 5}
    specs = yaml.safe_dump(
        {"argument_specs": {"main": {"options": {key: {"default": options[key]} for key in options}}}}
    )
    text = roles.defaults_of(specs)
    assert yaml.safe_load(text) == options
    assert text.endswith('\na: []\nb:\n  - x\n  - y\nc: {}\nd: ""\ne: text\nf: false\ng: 5\n')


def test_an_option_that_is_passed_on_is_added_after_the_one_before_it() -> None:
    later = PURGE.format("cni_node", "").replace("purge", "keep")
    assert copy(FACADE + later) == FACADE + COPY + later


def test_an_option_with_a_fallback_is_passed_on_too() -> None:
    assert copy(FACADE, TASKS.replace("cni_node_purge", "__cni_node_purge | default(cni_node_purge)")) == FACADE + COPY


def test_a_copied_option_is_written_anew_and_one_with_its_own_description_stays() -> None:
    assert copy(FACADE + COPY.replace("remove", "erase")) == FACADE + COPY
    own = FACADE + PURGE.format("cni_node", "").replace("remove", "erase")
    assert copy(own) == own


def test_options_that_are_not_passed_on_are_not_copied() -> None:
    assert copy(FACADE, TASKS.replace("cni_node_purge", "cni_node_keep")) == FACADE
