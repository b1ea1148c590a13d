# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directories of a task are compared with those of the runtime that its networks are for."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import Configured
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import NetD, absent, present

FILE = "/etc/containerd/config.toml"


@pytest.fixture
def net_d(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> NetD:
    """Return the conf dir of a node with containerd, which uses other directories."""
    containerd = next(runtime for runtime in RUNTIMES if runtime.name == "containerd")
    directories = Configured(("/etc/cni/other.d",), FILE), Configured(("/usr/lib/cni",))
    monkeypatch.setattr(checks, "find_runtimes", lambda: [FoundRuntime(containerd, "", {}, *directories)])
    return NetD(tmp_path / "net.d")


def find_messages(net_d: NetD, runtime: str, *plugin_dirs: str) -> dict[str, str]:
    planned = net_d.plan_directory(present("a"))
    found = checks.check(planned, tolerate_missing=True, runtime=runtime, plugin_dirs=plugin_dirs)
    return {finding.code: str(finding) for finding in found}


def test_directories_that_the_runtime_does_not_use_are_findings(net_d: NetD) -> None:
    messages = find_messages(net_d, "containerd", "/opt/cni/bin")
    assert list(messages) == ["unread-directory", "unsearched-plugins"]
    assert f"containerd reads networks in /etc/cni/other.d, set in {FILE}, and not here" in messages["unread-directory"]
    assert "in /usr/lib/cni, its default, and in none of plugin_dirs" in messages["unsearched-plugins"]


def test_one_directory_in_which_the_runtime_looks_is_enough(net_d: NetD) -> None:
    assert list(find_messages(net_d, "containerd", "/opt/cni/bin", "/usr/lib/cni")) == ["unread-directory"]


@pytest.mark.parametrize("runtime", ["", "podman"])
def test_a_node_with_another_runtime_or_without_one_has_no_findings(net_d: NetD, runtime: str) -> None:
    assert find_messages(net_d, runtime, "/opt/cni/bin") == {}


def test_removing_a_network_has_no_findings(net_d: NetD) -> None:
    planned = net_d.plan_directory(absent("a"))
    assert checks.check(planned, tolerate_missing=True, runtime="containerd", plugin_dirs=["/opt/cni/bin"]) == []
