# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of chains, tables and comments, as the reference plugins were seen to write them."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names


def test_chain_names_equal_those_of_the_plugins() -> None:
    assert firewall_names.masquerade_chain("net", "blue") == "CNI-c6552c4eb66f3dfcaf7de560"
    assert firewall_names.ports_chain("net", "blue") == "CNI-DN-c6552c4eb66f3dfcaf7de"
    assert firewall_names.ifb("net", "blue") == "bwpc6552c4eb66f"
    assert firewall_names.instance("net", "blue", "eth0") == "a4861f4ae9f7d238-d8b4af2ef34b4090"


OWNERS = {
    'name: "net" id: "blue"': ("net", "blue"),
    'dnat name: "net" id: "blue"': ("net", "blue"),
    "CNI portfwd requiring masquerade": None,
    'x name: "net" id: "blue"': None,
    'name: "net" id: "blue" and more': None,
    'dnat name: "net" id: "cut o': None,
}


@pytest.mark.parametrize(("comment", "owner"), OWNERS.items())
def test_only_whole_comments_of_the_plugins_name_an_owner(comment: str, owner: tuple[str, str] | None) -> None:
    assert firewall_names.owner(comment) == owner
