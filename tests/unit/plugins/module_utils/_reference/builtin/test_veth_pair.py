# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends of veth pairs get names that no link of the node has."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference.builtin import veth_pair


def test_a_name_that_a_link_has_is_not_chosen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter([b"\x00\x00\x00\x01", b"\x00\x00\x00\x01", b"\x00\x00\x00\x02"])
    links = {"veth00000001": 7}

    def find_index(name: str) -> int:
        if name not in links:
            raise OSError(f"no interface with this name: {name}")
        return links[name]

    monkeypatch.setattr(os, "urandom", lambda count: next(chosen))
    monkeypatch.setattr(socket, "if_nametoindex", find_index)
    assert veth_pair.random_name() == "veth00000002"
