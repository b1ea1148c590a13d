# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages of filters show their input as printable text only."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.fleet_impact import fleet_impact
from ansible_collections.cni.node.plugins.filter.node_subnets import node_subnets
from ansible_collections.cni.node.plugins.filter.node_table import node_table
from ansible_collections.cni.node.plugins.module_utils._base import printable

ODD = "\x1b[2J\x9b\u202e\udcff"
RANGE, HOSTS = "10.244.0.0/16", ["a"]

CALLS: dict[str, t.Callable[[str], object]] = {
    "range": lambda path: node_subnets(f"{RANGE}{ODD}", HOSTS, 24),
    "hosts": lambda path: node_subnets(RANGE, f"a{ODD}", 24),
    "prefix": lambda path: node_subnets(RANGE, HOSTS, f"24{ODD}"),
    "assigned": lambda path: node_subnets(RANGE, HOSTS, 24, f"a{ODD}"),
    "assigned subnet": lambda path: node_subnets(RANGE, HOSTS, 24, {f"a{ODD}": f"10.244.1.0/24{ODD}"}),
    "assigned twice": lambda path: node_subnets(RANGE, HOSTS, 24, {f"a{ODD}": "10.9.0.0/24"}),
    "reserved host": lambda path: node_subnets(
        RANGE, [f"a{ODD}"], 24, {f"a{ODD}": "10.244.1.0/24"}, reserved=["10.244.1.0/24"]
    ),
    "shared": lambda path: node_subnets(RANGE, HOSTS, 24, shared=f"maybe{ODD}"),
    "reserved": lambda path: node_subnets(RANGE, HOSTS, 24, reserved=[f"10.244.0.1{ODD}"]),
    "reserved span": lambda path: node_subnets(RANGE, HOSTS, 24, reserved=[f"10.244.0.1-10.244.0.9{ODD}"]),
    "save": lambda path: node_subnets(RANGE, HOSTS, 24, file=f"{path}/a.json", save=f"maybe{ODD}"),
    "relative file": lambda path: node_subnets(RANGE, HOSTS, 24, file=f"a{ODD}"),
    "file in no directory": lambda path: node_subnets(RANGE, HOSTS, 24, file=f"{path}/none{ODD}/a.json"),
    "file that is none": lambda path: node_subnets(RANGE, HOSTS, 24, file=f"{path}/{ODD}"),
    "node": lambda path: node_table({f"a{ODD}": {"networks": 1}}),
    "attachments": lambda path: node_table({}, f"some{ODD}"),
    "node of a fleet": lambda path: fleet_impact({f"a{ODD}": {"result": 1}}, [f"a{ODD}"], "result"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_message_has_only_visible_characters(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / ODD).write_text(f'["{ODD[:3]}"]', encoding="utf-8")
    with pytest.raises(AnsibleFilterError) as caught:
        CALLS[name](str(tmp_path))
    message = str(caught.value)
    assert printable.lines(message) == message
    assert "\\x1b[2J" in message
