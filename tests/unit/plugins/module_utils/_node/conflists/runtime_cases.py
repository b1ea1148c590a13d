# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks for a runtime whose own configuration files name other directories than the task."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._node.conflists import checks
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import runtime_settings
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import NetD, present
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    ExpectedFinding,
    expect,
)

OPT = "opt/cni/bin"
ROWS = {runtime.name: runtime for runtime in RUNTIMES}


@dataclasses.dataclass(frozen=True)
class RuntimeCase:
    """A task for a runtime.

    Attributes:
        files: Its configuration files, or empty directories, by path.
        conf_dir, plugin_dirs: The directories of the task.
    """

    runtime: str
    expected: t.Sequence[ExpectedFinding] = ()
    files: t.Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    conf_dir: str = "etc/cni/net.d"
    plugin_dirs: t.Sequence[str] = (OPT,)

    def findings(self, root: pathlib.Path) -> list[Finding]:
        for name, content in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if content is None else path.write_text(content, encoding="utf-8")
        row = ROWS[self.runtime]
        directories = [
            runtime_settings.effective(each, str(root)) for each in (row.setup.conf_dir, row.setup.plugin_dirs)
        ]
        found = FoundRuntime(row, "", {}, directories[0], directories[1])
        planned = NetD(root / self.conf_dir).plan_directory(present("net"))
        return list(checks.find_unused_directories(planned, found, [f"{root}/{path}" for path in self.plugin_dirs]))


def unread(runtime: str, *words: str, **keys: t.Any) -> RuntimeCase:
    file = str(keys.get("conf_dir", "etc/cni/net.d")).rpartition("/")[2]
    return RuntimeCase(runtime, [expect("unread-directory", "", *words, file=file)], **keys)


def expect_unsearched(runtime: str, *words: str, **keys: t.Any) -> RuntimeCase:
    file = str(keys.get("conf_dir", "etc/cni/net.d")).rpartition("/")[2]
    return RuntimeCase(runtime, [expect("unsearched-plugins", "", *words, file=file)], **keys)


CONTAINERD, CRIO = "etc/containerd/config.toml", "etc/crio/crio.conf.d/10-crio.conf"
BROKEN: t.Final[dict[str, dict[str, RuntimeCase]]] = {
    "unread-directory": {
        "containerd's file": unread(
            "containerd", "/etc/cni/pods.d, set in ", CONTAINERD, files={CONTAINERD: 'conf_dir = "/etc/cni/pods.d"'}
        ),
        "CRI-O's drop-in": unread(
            "crio", "/etc/cni/crio.d, set in ", CRIO, files={CRIO: 'network_dir = "/etc/cni/crio.d/"'}
        ),
        "Nomad's default": unread("nomad", "Nomad reads networks in ", "/opt/cni/config, its default, and not here"),
        "containerd's default": unread("containerd", "set conf_dir to ", "/etc/cni/net.d", conf_dir="opt/cni/config"),
        "nerdctl's file": unread(
            "nerdctl", "/etc/cni/own", files={"etc/nerdctl/nerdctl.toml": 'cni_netconfpath = "/etc/cni/own"'}
        ),
    },
    "unsearched-plugins": {
        "Debian's containerd": expect_unsearched(
            "containerd", "/usr/lib/cni, set in ", CONTAINERD, files={CONTAINERD: 'bin_dir = "/usr/lib/cni"'}
        ),
        "CRI-O's list": expect_unsearched(
            "crio", "/usr/libexec/cni", files={CRIO: 'plugin_dirs = ["/usr/libexec/cni"]'}
        ),
        "the first of nerdctl that exists": expect_unsearched(
            "nerdctl", "/usr/libexec/cni, its default, and in none of plugin_dirs", files={"usr/libexec/cni": None}
        ),
        "Podman's file": expect_unsearched(
            "podman", "/srv/cni", files={"etc/containers/containers.conf": 'cni_plugin_dirs = ["/srv/cni"]'}
        ),
        "Apptainer's own": expect_unsearched(
            "apptainer", "/usr/libexec/apptainer/cni", conf_dir="etc/apptainer/network"
        ),
    },
}
FINE: t.Final[dict[str, dict[str, RuntimeCase]]] = {
    "unread-directory": {
        "the default": RuntimeCase("containerd"),
        "the same with a slash": RuntimeCase("crio", files={CRIO: 'network_dir = "/etc/cni/net.d/"'}),
        "one that is commented out": RuntimeCase("containerd", files={CONTAINERD: '# conf_dir = "/etc/cni/other"'}),
    },
    "unsearched-plugins": {
        "one of several": RuntimeCase("podman"),
        "the first of nerdctl": RuntimeCase("nerdctl", files={OPT: None, "usr/lib/cni": None}),
        "one of the task's": RuntimeCase(
            "containerd", files={CONTAINERD: 'bin_dir = "/usr/lib/cni"'}, plugin_dirs=(OPT, "usr/lib/cni")
        ),
    },
}
