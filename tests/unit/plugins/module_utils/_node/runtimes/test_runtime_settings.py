# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Directories are read from the configuration files of runtimes, as these are written."""

from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._node.runtimes import runtime_settings
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import Setting
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES

ROWS = {runtime.name: runtime.setup for runtime in RUNTIMES}

# As Debian 12 packages it.
CONTAINERD_1 = """\
version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd/opt"
"""
CONTAINERD_2 = """\
version = 3
[plugins.'io.containerd.cri.v1.runtime'.cni]
  # bin_dir = '/commented/out'
  bin_dirs = ['/opt/cni/bin', "/usr/lib/cni"]
  conf_dir = '/etc/cni/other.d'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  cni_conf_dir = '/etc/cni/runc.d'
"""
CRIO = (
    '[crio.network]\nnetwork_dir = "/etc/cni/crio.d/"\nplugin_dirs = [\n\t"/usr/libexec/cni/",\n\t"/opt/cni/bin/",\n]\n'
)
CONTAINERS = '[network]\n#cni_plugin_dirs = [\n#  "/usr/libexec/cni",\n#]\nnetwork_config_dir = "/etc/cni/podman.d"\n'
NOMAD = 'client { enabled = true, cni_path = "/opt/cni/bin:/usr/lib/cni" }\nclient {\n  cni_config_dir = "/etc/nomad-cni"\n}\n'
NOMAD_JSON = '{"client": {"cni_path": "/opt/a", "cni_config_dir": "/opt/b"}}'
NERDCTL = 'cni_path        = "/usr/libexec/cni"\ncni_netconfpath = "/etc/cni/nerdctl"\n'
APPTAINER = "# CNI PLUGIN PATH\ncni plugin path = /opt/apptainer/cni\n#cni configuration path =\n"

FILES = [
    ("containerd", "etc/containerd/config.toml", CONTAINERD_1, ["/etc/cni/net.d"], ["/usr/lib/cni"]),
    ("containerd", "etc/containerd/config.toml", CONTAINERD_2, ["/etc/cni/other.d"], ["/opt/cni/bin", "/usr/lib/cni"]),
    ("crio", "etc/crio/crio.conf.d/10-x.conf", CRIO, ["/etc/cni/crio.d"], ["/usr/libexec/cni", "/opt/cni/bin"]),
    ("podman", "etc/containers/containers.conf", CONTAINERS, ["/etc/cni/podman.d"], None),
    ("nomad", "etc/nomad.d/client.hcl", NOMAD, ["/etc/nomad-cni"], ["/opt/cni/bin", "/usr/lib/cni"]),
    ("nomad", "etc/nomad.d/client.json", NOMAD_JSON, ["/opt/b"], ["/opt/a"]),
    ("nerdctl", "etc/nerdctl/nerdctl.toml", NERDCTL, ["/etc/cni/nerdctl"], ["/usr/libexec/cni"]),
    ("apptainer", "etc/apptainer/apptainer.conf", APPTAINER, None, ["/opt/apptainer/cni"]),
]


def put(root: pathlib.Path, name: str, text: str) -> pathlib.Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(setting: Setting, root: pathlib.Path) -> list[str]:
    return [path[len(str(root)) :] for path in runtime_settings.effective(setting, str(root)).paths]


@pytest.mark.parametrize(("name", "file", "text", "conf_dir", "plugin_dirs"), FILES)
def test_settings_of_a_file_are_found_and_others_have_their_defaults(
    tmp_path: pathlib.Path, name: str, file: str, text: str, conf_dir: list[str] | None, plugin_dirs: list[str] | None
) -> None:
    path, setup = put(tmp_path, file, text), ROWS[name]
    assert read(setup.conf_dir, tmp_path) == (conf_dir or list(setup.conf_dir.defaults))
    assert read(setup.plugin_dirs, tmp_path) == (plugin_dirs or list(setup.plugin_dirs.defaults))
    assert runtime_settings.effective(setup.conf_dir, str(tmp_path)).file == (str(path) if conf_dir else "")


def test_a_later_file_takes_precedence(tmp_path: pathlib.Path) -> None:
    put(tmp_path, "etc/crio/crio.conf", 'network_dir = "/first"')
    put(tmp_path, "etc/crio/crio.conf.d/20-b", 'network_dir = "/last"')
    put(tmp_path, "etc/crio/crio.conf.d/10-a", 'network_dir = "/second"')
    assert read(ROWS["crio"].conf_dir, tmp_path) == ["/last"]


def test_k3s_without_flannel_has_the_directories_of_containerd(tmp_path: pathlib.Path) -> None:
    setup = ROWS["k3s"]
    assert read(setup.conf_dir, tmp_path) == ["/var/lib/rancher/k3s/agent/etc/cni/net.d"]
    put(tmp_path, "var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 3\n")
    assert (read(setup.conf_dir, tmp_path), read(setup.plugin_dirs, tmp_path)) == (["/etc/cni/net.d"], ["/opt/cni/bin"])


@pytest.mark.parametrize("value", ['"etc/cni"', '"http://host/cni"', '""', "[]", '["a/b"]', "true", '"'])
def test_a_relative_path_in_a_runtimes_configuration_is_ignored(tmp_path: pathlib.Path, value: str) -> None:
    put(tmp_path, "etc/crio/crio.conf", f"network_dir = {value}\n")
    assert read(ROWS["crio"].conf_dir, tmp_path) == ["/etc/cni/net.d"]


@given(st.text(alphabet="cni_path=:\"'[]{}, /\n#abc"))
def test_any_text_is_read_without_an_error_and_gives_absolute_paths(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    put(root, "etc/nomad.d/x.hcl", text)
    assert all(path.startswith("/") for path in read(ROWS["nomad"].plugin_dirs, root))
