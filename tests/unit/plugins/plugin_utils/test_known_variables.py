# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re

import pytest

pytest.importorskip("ansible.errors", reason="variables are looked at on the controller")

import yaml

from ansible_collections.cni.node.plugins.plugin_utils import _known_variables as variables

ROOT = pathlib.Path(__file__).parents[4]
ROLES = sorted((ROOT / "roles").iterdir())


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_option_of_a_role_is_known(role: pathlib.Path) -> None:
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    options = {name for entry in specs.values() for name in entry.get("options", {})}
    assert options
    assert options <= variables.KNOWN_VARIABLES
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert set(defaults) <= variables.KNOWN_VARIABLES


def test_every_variable_that_roles_and_playbooks_read_is_known() -> None:
    files = [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/vars/*.yml")]
    pattern = re.compile(rf"\b(?:{'|'.join(variables.all_prefixes())})[a-z0-9_]+")
    for file in files:
        read = set(pattern.findall(file.read_text(encoding="utf-8")))
        assert sorted(read - variables.KNOWN_VARIABLES) == [], file


def test_a_misspelled_variable_is_found_with_the_one_that_was_meant() -> None:
    names = ["cni_node_prge", "cni_node_purge", "__cni_node_prge", "cni_kernel_sysctl", "cni_node_zzz", "cninode_purge"]
    meant = {"cni_kernel_sysctl": "cni_kernel_sysctls", "cni_node_prge": "cni_node_purge", "cni_node_zzz": ""}
    assert variables.unknown_variables(names, variables.all_prefixes()) == meant
    assert variables.unknown_variables(
        names, variables.prefixes(["cni.node.cni_kernel", "x.y.cni_node", "cni_node"])
    ) == {"cni_kernel_sysctl": "cni_kernel_sysctls"}


def test_the_error_names_all_misspelled_variables() -> None:
    text = variables.refusal({"cni_node_prge": "cni_node_purge", "cni_node_zzz": ""})
    assert text.startswith("unknown variables: cni_node_prge (did you mean cni_node_purge?), cni_node_zzz; ")
    assert "names that begin with cni_node_ belong to" in text
    assert variables.refusal({"cni_kernel_x": ""}).startswith("unknown variable: cni_kernel_x; ")
