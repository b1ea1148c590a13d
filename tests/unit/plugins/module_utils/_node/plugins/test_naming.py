# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name under which an executable is installed."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.naming import name_executable, without_architecture
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("flannel-amd64", "flannel"),
        ("tc-redirect-tap-arm64", "tc-redirect-tap"),
        ("whereabouts-arm", "whereabouts"),
        ("tap_linux_x86_64", "tap"),
        ("tap-linux-armv6", "tap"),
        ("bridge", "bridge"),
        ("host-local", "host-local"),
        ("charm", "charm"),
        ("amd64", "amd64"),
        ("-amd64", "-amd64"),
        ("flannel-amd64.exe", "flannel-amd64.exe"),
    ],
)
def test_only_the_ending_of_an_architecture_is_removed(name: str, plugin: str) -> None:
    assert without_architecture(name) == plugin


@pytest.mark.parametrize(
    ("location", "only", "plugin"),
    [
        ("https://mirror/v1/flannel-amd64?token=a/b#c", [], "flannel"),
        ("/srv/whereabouts", [], "whereabouts"),
        ("tap-v0.0.3-arm64", ["tap"], "tap"),
    ],
)
def test_a_single_executable_has_the_selected_plugin_name_or_the_name_of_its_file(
    location: str, only: list[str], plugin: str
) -> None:
    assert name_executable(location, only) == plugin


@pytest.mark.parametrize(("location", "only"), [("https://mirror/", []), ("/srv/tap", ["../tap"])])
def test_a_single_executable_needs_a_plain_name(location: str, only: list[str]) -> None:
    assert "is not a plugin type" in str(error_of(name_executable, location, only))
