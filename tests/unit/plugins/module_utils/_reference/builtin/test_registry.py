# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import zipfile

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.boot import program
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry


@pytest.fixture(scope="module")
def boot_program() -> list[str]:
    """Return the names of the files in the program that restores attachments."""
    return zipfile.ZipFile(io.BytesIO(program.build())).namelist()


@pytest.mark.parametrize("plugin_type", sorted(registry.TYPES))
def test_a_plugin_is_copied_with_the_modules_that_may_run_it(plugin_type: str, boot_program: list[str]) -> None:
    plugin = registry.load(plugin_type)
    assert plugin.name == plugin_type
    assert f"{type(plugin).__module__.replace('.', '/')}.py" in boot_program


def test_the_catalogue_has_every_plugin() -> None:
    assert {name for name, row in catalogue.CATALOGUE.items() if row.is_reference} - registry.TYPES == {"dhcp"}
