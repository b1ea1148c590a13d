# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of attachments at the end of a play."""

from __future__ import annotations

import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.attachment_table import attachment_table

ATTACHED = {
    "network": "dbnet",
    "container_id": "red",
    "ifname": "eth0",
    "action": "added",
    "result": {
        "interfaces": [
            {"name": "eth0", "mac": "aa:aa:aa:aa:aa:aa"},
            {"name": "eth0", "mac": "00:11:22:33:44:66", "sandbox": "/run/netns/red"},
        ],
        "ips": [{"address": "10.1.0.2/16"}, {"address": "fd00::2/64"}],
    },
}


def cells(*attachments: t.Mapping[str, t.Any]) -> list[list[str]]:
    return [line.split() for line in attachment_table(attachments)]


def test_the_first_line_names_the_columns() -> None:
    assert cells() == [["NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "MAC", "ACTION"]]


def test_the_mac_belongs_to_the_interface_in_the_namespace() -> None:
    assert cells(ATTACHED)[1] == ["dbnet", "red", "eth0", "10.1.0.2/16,fd00::2/64", "00:11:22:33:44:66", "added"]


def test_a_result_of_an_old_version_shows_its_address() -> None:
    old = {**ATTACHED, "result": {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.2/16"}}}
    assert cells(old)[1][3] == "10.1.0.2/16"


def test_a_missing_value_is_a_dash() -> None:
    assert cells({**ATTACHED, "action": "removed", "result": {}})[1][3:] == ["-", "-", "removed"]


def test_a_broken_record_is_shown_with_its_path_and_error() -> None:
    line = attachment_table([{"path": "/var/lib/cni/results/x", "error": {"msg": "it is empty"}}])[1]
    assert "/var/lib/cni/results/x" in line
    assert line.endswith("it is empty")


def test_columns_begin_below_their_headings() -> None:
    lines = attachment_table([ATTACHED, {**ATTACHED, "container_id": "a-longer-name"}])
    assert len({line.index("eth0") for line in lines[1:]}) == 1
    assert lines[1].index("eth0") == lines[0].index("INTERFACE")


@pytest.mark.parametrize(
    "result", ["text", {"ips": [{}]}, {"ips": ["10.1.0.2/16"]}, {"ips": 5}, {"ip4": {"a": 1}}, {"interfaces": ["x"]}]
)
def test_a_result_of_another_form_is_refused_with_its_place(result: object) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"attachment_table: attachments\[1\] has an unexpected form; expected a list"
    ):
        attachment_table([ATTACHED, {**ATTACHED, "result": result}])


@pytest.mark.parametrize("nonsense", ["text", None, {"a": 1}, ["text"]])
def test_input_of_another_type_is_refused_in_one_sentence(nonsense: object) -> None:
    with pytest.raises(AnsibleFilterError, match="expected a list of attachments"):
        attachment_table(nonsense)
