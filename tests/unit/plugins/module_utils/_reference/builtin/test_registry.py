# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry


@pytest.mark.parametrize("plugin_type", sorted(registry.TYPES))
def test_a_plugin_is_loaded_by_its_type(plugin_type: str) -> None:
    assert registry.load(plugin_type).name == plugin_type


def test_the_catalogue_has_every_plugin() -> None:
    assert {name for name, row in catalogue.CATALOGUE.items() if row.is_reference} - registry.TYPES == {"dhcp"}
