# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each row of the runtimes is complete, and everything that names the runtimes has all of them."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

from ansible_collections.cni.node.plugins.filter import runtime_setup
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, sysctl
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import (
    AT_NEXT_USE,
    AT_ONCE,
    BY_NAME,
    FIRST_FILE,
    FIRST_VALID,
    ON_RELOAD,
    ContainerRuntime,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES, RUNTIMES
from ansible_collections.cni.node.plugins.modules import conflists, kernel, preflight_info

ROOT = pathlib.Path(rows.__file__).parents[4]
by_runtime = pytest.mark.parametrize("runtime", RUNTIMES, ids=NAMES)


@by_runtime
def test_a_row_has_values_that_the_roles_can_use(runtime: ContainerRuntime) -> None:
    setup = runtime.setup
    assert setup.takes in (BY_NAME, FIRST_FILE, FIRST_VALID)
    assert setup.notices in (AT_ONCE, AT_NEXT_USE, ON_RELOAD)
    assert all(path.startswith("/") for path in (*setup.conf_dir.defaults, *setup.plugin_dirs.defaults))
    assert setup.bin_dir in (*setup.plugin_dirs.defaults, "")
    assert all(re.fullmatch(r"(\d+\.\d+\.\d+)?", release) for release in setup.plugins.values())
    assert [kernel_module.canonical(name) for name in setup.modules] == list(setup.modules)
    assert {sysctl.canonical(name): sysctl.normal(value) for name, value in setup.sysctls.items()} == setup.sysctls
    assert all((setup.broken, setup.version, setup.endings))


@by_runtime
def test_only_a_runtime_with_a_service_is_reloaded(runtime: ContainerRuntime) -> None:
    assert runtime.units or runtime.setup.notices == AT_NEXT_USE


def test_names_are_sorted_and_the_same_everywhere() -> None:
    assert sorted(NAMES) == list(NAMES)
    for module in (conflists, kernel, preflight_info):
        assert yaml.safe_load(module.DOCUMENTATION)["options"]["runtime"]["choices"] == list(NAMES)
    for role in ("cni_node", "cni_kernel", "cni_networks"):
        specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
        assert specs["argument_specs"]["main"]["options"][f"{role}_runtime"]["choices"] == [*NAMES, "", None]
    documented = yaml.safe_load(runtime_setup.DOCUMENTATION)["options"]["_input"]["choices"]
    assert documented == ["", *NAMES]


def describe_files(runtime: ContainerRuntime) -> str:
    """Return the row of a runtime in the first table of its documentation."""
    setup = runtime.setup
    conf_dir = setup.conf_dir.defaults[0]
    return f"| {runtime.title} | `{conf_dir}` | {setup.takes} | {setup.broken} | {setup.notices} |"


def describe_needs(runtime: ContainerRuntime) -> str:
    """Return the row of a runtime in the second table."""
    setup = runtime.setup
    dirs = ", ".join(f"`{path}`" for path in setup.plugin_dirs.defaults)
    plugins = ", ".join(f"`{name}` {release}".strip() for name, release in setup.plugins.items())
    own = "" if setup.bin_dir else "(its own)" if plugins else "its own"
    kernel = ", ".join(
        [*(f"`{name}`" for name in setup.modules), *(f"`{key}={value}`" for key, value in setup.sysctls.items())]
    )
    return (
        " | ".join(
            [
                f"| {runtime.title}",
                f"{dirs}{'' if setup.searches_all else ': the first that exists'}",
                f"{plugins} {own}".strip() or "those of its networks",
                f"{kernel}{' (sets them itself)' if setup.sets_kernel else ''}" or "-",
            ]
        )
        + " |"
    )


def describe_service(runtime: ContainerRuntime) -> str:
    """Return the row of a runtime in the third table."""
    command = " ".join(runtime.setup.containers)
    units = ", ".join(f"`{unit}`" for unit in runtime.units)
    return f"| {runtime.title} | {f'`{command}`' if command else 'nothing'} | {units or 'none'} |"


@by_runtime
def test_the_documentation_agrees_with_the_row(runtime: ContainerRuntime) -> None:
    lines = (ROOT / "docs/runtimes.md").read_text(encoding="utf-8").splitlines()
    assert describe_files(runtime) in lines
    assert describe_needs(runtime) in lines
    assert describe_service(runtime) in lines
    section = lines[lines.index(f"### {runtime.title}") :]
    assert f"cni_node_runtime: {runtime.name}" in section[:5]


@pytest.mark.parametrize("name", ["", *NAMES])
def test_the_filter_returns_what_it_documents(name: str) -> None:
    setup = runtime_setup.runtime_setup(name)
    assert set(setup) == set(yaml.safe_load(runtime_setup.RETURN)["_value"]["contains"])
    assert setup["bin_dir"] in setup["plugin_dirs"]


def test_given_directories_replace_those_of_the_runtime() -> None:
    setup = runtime_setup.runtime_setup("containerd", conf_dir="/c", bin_dir="/b", plugin_dirs="/p\n/q")
    assert (setup["conf_dir"], setup["bin_dir"], setup["plugin_dirs"]) == ("/c", "/b", ["/b", "/p", "/q"])
    setup = runtime_setup.runtime_setup("containerd", bin_dir="/q", plugin_dirs=["/p", "/q"])
    assert setup["plugin_dirs"] == ["/p", "/q"]


def test_a_usual_bin_dir_that_is_not_among_given_plugin_dirs_is_not_searched() -> None:
    assert runtime_setup.runtime_setup("containerd", plugin_dirs=["/p"])["plugin_dirs"] == ["/p"]


def test_null_and_empty_text_mean_the_directories_of_the_runtime() -> None:
    usual = runtime_setup.runtime_setup("containerd")
    for given in ("", " ", None):
        assert (
            runtime_setup.runtime_setup("containerd", given, conf_dir=given, bin_dir=given, plugin_dirs=given) == usual
        )


def test_the_directory_that_replaces_opt_holds_for_runtimes_too() -> None:
    assert runtime_setup.runtime_setup("", "/data")["plugin_dirs"] == [
        "/data/cni/bin",
        "/usr/lib/cni",
        "/usr/libexec/cni",
    ]
    assert runtime_setup.runtime_setup("nomad", "/data")["plugin_dirs"] == ["/data/cni/bin", "/usr/libexec/cni"]
    assert runtime_setup.runtime_setup("podman", "/data")["bin_dir"] == "/usr/local/libexec/cni"
