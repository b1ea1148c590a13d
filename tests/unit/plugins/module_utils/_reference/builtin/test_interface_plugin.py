# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""CHECK of the plugins that make an interface."""

from __future__ import annotations

import contextlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference.builtin import interface_plugin, registry, sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    ATTACHMENT,
    read_request,
)


@pytest.mark.parametrize("plugin_type", ["bridge", "ptp", "macvlan", "tap"])
def test_check_expects_the_mtu_of_the_result_and_not_of_the_configuration(
    plugin_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[resources.Resource] = []

    def compare(state: resources.State, *dummy: t.Any) -> LinkDrift:
        compared.extend(state)
        return LinkDrift((), ())

    monkeypatch.setattr(interface_plugin, "compare", compare)
    monkeypatch.setattr(sandbox, "open_sandbox", contextlib.nullcontext)
    own = {"name": ATTACHMENT.ifname, "sandbox": ATTACHMENT.netns, "mtu": 1300}
    result = {"cniVersion": "1.1.0", "interfaces": [{"name": "veth01234567"}, own]}
    registry.load(plugin_type).check(read_request(command="CHECK", mtu=1400, prevResult=result))
    links = [each for each in compared if isinstance(each, resources.ExpectedLink)]
    assert {(link.mtu, link.inside) for link in links} - {(0, False)} == {(1300, True)}
