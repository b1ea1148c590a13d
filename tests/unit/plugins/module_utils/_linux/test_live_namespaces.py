# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be known of network namespaces without entering another. The rest is in tests/integration."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of

OWN = os.stat("/proc/self/ns/net").st_ino


def test_the_namespace_of_a_process_is_alive() -> None:
    path = live_namespaces.live()[OWN]
    assert os.stat(path).st_ino == OWN


def test_addresses_of_both_families_are_found_with_a_namespace_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_namespaces, "live", lambda: {OWN: "/proc/self/ns/net"})
    monkeypatch.setattr(netns, "inside", lambda path, look: look())
    found = live_namespaces.addresses()
    assert found["127.0.0.1"] == "/proc/self/ns/net"
    if "1" in pathlib.Path("/proc/net/if_inet6").read_text(encoding="ascii"):
        assert found["::1"] == "/proc/self/ns/net"


def _ended(path: str, look: object) -> None:
    raise FileNotFoundError(2, "No such file or directory")


def test_a_process_that_has_ended_is_passed_over_and_a_mount_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "inside", _ended)
    monkeypatch.setattr(live_namespaces, "live", lambda: {1: "/proc/1/ns/net"})
    assert live_namespaces.addresses() == {}
    monkeypatch.setattr(live_namespaces, "live", lambda: {1: "/run/netns/blue"})
    error = error_of(live_namespaces.addresses)
    assert (error.code, "/run/netns/blue" in error.msg) == (Code.IO_FAILURE, True)
