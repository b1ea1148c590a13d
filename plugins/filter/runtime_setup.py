# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: runtime_setup

author:
  - cni.node contributors (@cni-node)

short_description: Look up what a container runtime expects of a node

version_added: 1.0.0

description:
  - Returns the directories, plugins and kernel settings that a container runtime has by default. On a node,
    M(cni.node.node_info) and M(cni.node.preflight_info) read what the runtime's own configuration files say instead.

positional: _input, opt_dir

options:
  _input:
    description:
      - The name of the runtime, or an empty string or null for the directories that this collection uses without a runtime.
    type: str
    choices: ["", apptainer, containerd, crio, k3s, kubelet, nerdctl, nomad, podman, rke2]
    required: true
  opt_dir:
    description:
      - Directory to use instead of C(/opt). As for the other directories, null and empty text mean the default.
    type: str
    default: /opt
  conf_dir:
    description:
      - Directory of the network configurations to return instead of the runtime's.
    type: str
  bin_dir:
    description:
      - Directory in which to install plugins to return instead of the runtime's. It becomes the first one of RV(_value.plugin_dirs),
        unless they have it.
    type: str
  plugin_dirs:
    description:
      - Directories in which to look for plugins to return instead of the runtime's; a list, or text with one on each line.
    type: raw
  strict:
    description:
      - Whether an unknown name is an error. Otherwise, it counts as an empty string.
    type: bool
    default: true

seealso:
  - module: cni.node.preflight_info
"""

EXAMPLES = r"""
- name: Show where Nomad looks for networks
  ansible.builtin.debug:
    msg: "{{ ('nomad' | cni.node.runtime_setup).conf_dir }}"
"""

RETURN = r"""
_value:
  description: What the runtime expects.
  type: dict
  contains:
    title:
      description: The name of the runtime in text.
      type: str
    conf_dir:
      description: Where it reads network configurations.
      type: str
    plugin_dirs:
      description: Where it looks for plugins, in this order.
      type: list
      elements: str
    bin_dir:
      description: The one of these directories in which to install plugins.
      type: str
    brings_plugins:
      description: Whether the runtime has plugins of its own, and none should be installed for it.
      type: bool
    endings:
      description: The endings of the files that it reads.
      type: list
      elements: str
    takes:
      description: Which file it takes.
      type: str
    broken_file:
      description: What one broken file does.
      type: str
    notices:
      description: When it notices that a file has changed.
      type: str
    units:
      description: The systemd units of its service.
      type: list
      elements: str
    plugins:
      description: The plugins that it cannot do without, each with the lowest release, or an empty string.
      type: dict
    modules:
      description: Kernel modules that must be loaded.
      type: list
      elements: str
    sysctls:
      description: Kernel settings that must be set.
      type: dict
    containers:
      description: The command that lists the IDs of its containers; empty if there is none.
      type: list
      elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import BY_NAME, ContainerRuntime
from ansible_collections.cni.node.plugins.plugin_utils._given_values import or_default, words

_OPT = "/opt"


def runtime_setup(
    name: str | None,
    opt_dir: str | None = _OPT,
    *,
    conf_dir: str | None = None,
    bin_dir: str | None = None,
    plugin_dirs: list[str] | str | None = None,
    strict: bool = True,
) -> JsonObject:
    """Return what a runtime expects of a node, with the given directories instead of its own."""
    name = or_default(name, "")
    runtime = rows.find(name)
    if name and runtime is None and strict:
        raise AnsibleFilterError(f"runtime_setup: {name!r} is not a known runtime; expected: {', '.join(rows.NAMES)}")
    opt_dir = or_default(opt_dir, _OPT)
    setup = _describe_no_runtime(f"{opt_dir}/cni/bin") if runtime is None else _describe_runtime(runtime, opt_dir)
    own_bin_dir = setup["bin_dir"]
    setup["conf_dir"] = or_default(conf_dir, setup["conf_dir"])
    setup["bin_dir"] = or_default(bin_dir, own_bin_dir)
    setup["plugin_dirs"] = words(plugin_dirs, setup["plugin_dirs"])
    if setup["bin_dir"] not in [own_bin_dir, *setup["plugin_dirs"]]:
        setup["plugin_dirs"] = [setup["bin_dir"], *setup["plugin_dirs"]]
    return setup


def _describe_runtime(runtime: ContainerRuntime, opt_dir: str) -> JsonObject:
    setup = runtime.setup
    plugin_dirs = [_below(opt_dir, path) for path in setup.plugin_dirs.defaults]
    return {
        "title": runtime.title,
        "conf_dir": setup.conf_dir.defaults[0],
        "plugin_dirs": plugin_dirs,
        "bin_dir": _below(opt_dir, setup.bin_dir) or plugin_dirs[0],
        "brings_plugins": not setup.bin_dir,
        "endings": list(setup.endings),
        "takes": setup.takes,
        "broken_file": setup.broken,
        "notices": setup.notices,
        "units": list(runtime.units),
        "plugins": dict(setup.plugins),
        "modules": list(setup.modules),
        "sysctls": dict(setup.sysctls),
        "containers": list(setup.containers),
    }


def _describe_no_runtime(bin_dir: str) -> JsonObject:
    return {
        "title": "",
        "conf_dir": "/etc/cni/net.d",
        "plugin_dirs": [bin_dir, "/usr/lib/cni", "/usr/libexec/cni"],
        "bin_dir": bin_dir,
        "brings_plugins": False,
        "endings": [".conf", ".conflist", ".json"],
        "takes": BY_NAME,
        "broken_file": "",
        "notices": "",
        **{key: [] for key in ("units", "modules", "containers")},
        "plugins": {},
        "sysctls": {},
    }


def _below(opt_dir: str, path: str) -> str:
    """Return a path below the directory that replaces /opt."""
    return f"{opt_dir}{path[len(_OPT) :]}" if path.startswith(f"{_OPT}/") else path


class FilterModule:
    """Filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"runtime_setup": runtime_setup}
