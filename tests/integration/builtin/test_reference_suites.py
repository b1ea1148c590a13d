# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The suites of the reference plugins' release 1.9.1 pass with the built-in plugins.

`CNI_REFERENCE_PLUGINS` names a checkout of containernetworking/plugins at v1.9.1, and `CNI_GO` a Go compiler that builds it.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.support.build import REPOSITORY

SOURCES = REPOSITORY / "tests/interop/reference-suites"
# The places of the plugins in the checkout.
SUITES = {
    "bandwidth": "plugins/meta/bandwidth",
    "bridge": "plugins/main/bridge",
    "dummy": "plugins/main/dummy",
    "firewall": "plugins/meta/firewall",
    "host-device": "plugins/main/host-device",
    "host-local": "plugins/ipam/host-local",
    "ipvlan": "plugins/main/ipvlan",
    "loopback": "plugins/main/loopback",
    "macvlan": "plugins/main/macvlan",
    "portmap": "plugins/meta/portmap",
    "ptp": "plugins/main/ptp",
    "sbr": "plugins/meta/sbr",
    "static": "plugins/ipam/static",
    "tap": "plugins/main/tap",
    "tuning": "plugins/meta/tuning",
    "vlan": "plugins/main/vlan",
    "vrf": "plugins/meta/vrf",
}
PARAMETERS = [
    pytest.param(plugin, marks=reference_networks.other_kernel_marks([{"type": plugin}])) for plugin in SUITES
]
COMMANDS = {"cmdAdd": "ADD", "cmdCheck": "CHECK", "cmdDel": "DEL", "cmdStatus": "STATUS", "cmdGC": "GC"}
FUNCTION = re.compile(rf"^func ({'|'.join(COMMANDS)})\(", re.MULTILINE)
# The specs that fail with the built-in plugins, by the plugin: a pattern of their names, and the reason.
DIFFERENCES: JsonObject = json.loads((SOURCES / "differences.json").read_text(encoding="utf-8"))


def find_missing() -> str:
    """Return why the suites cannot run, or an empty string."""
    if not os.path.isdir(os.environ.get("CNI_REFERENCE_PLUGINS", "")):
        return "CNI_REFERENCE_PLUGINS names no checkout of containernetworking/plugins"
    return "" if shutil.which(os.environ.get("CNI_GO", "go")) else "CNI_GO names no Go compiler"


pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.outer("another project's suites, which the machine may lack"),
    pytest.mark.skipif(bool(find_missing()), reason=find_missing()),
]


class Checkout:
    """A copy of the checkout in which suites are built and run."""

    def __init__(self, directory: pathlib.Path, programs: pathlib.Path) -> None:
        self._copy = directory / "plugins"
        shutil.copytree(os.environ["CNI_REFERENCE_PLUGINS"], self._copy, ignore=shutil.ignore_patterns(".git"))
        if reference_networks.missing_kind([{"type": "dummy"}]):
            self._take_ifb_for_dummy()
        self._programs = programs
        self._go = shutil.which(os.environ.get("CNI_GO", "go")) or "go"
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join((str(programs), str(pathlib.Path(self._go).parent), os.environ["PATH"])),
            "GOFLAGS": "-mod=vendor",
            "GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT": "60s",  # an executable in Python starts more slowly
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "GOCACHE": os.environ.get("GOCACHE", str(REPOSITORY / ".cache/interop/go-build")),
            "CGO_ENABLED": "0",
        }

    def _take_ifb_for_dummy(self) -> None:
        """Let the suites make their links of another kind, which this kernel has."""
        for path in self._copy.glob("plugins/*/*/*_test.go"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("netlink.Dummy{", "netlink.Ifb{"), encoding="utf-8")

    def run(self, place: str) -> dict[str, str]:
        """Run a suite; return the outcome of each spec by its name, and the first line of a failure."""
        report = self._copy / place / "report.json"
        command = [self._go, "test", f"./{place}", "-count=1", "-args", f"--ginkgo.json-report={report}"]
        done = subprocess.run(
            command, cwd=self._copy, env=self._environment, check=False, capture_output=True, text=True
        )
        assert report.exists(), done.stdout + done.stderr
        (suite,) = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        return {_name(spec): _outcome(spec) for spec in suite["SpecReports"] if spec["LeafNodeType"] == "It"}

    def replace(self, plugin: str, place: str) -> None:
        """Let the plugin's functions run the executable of the built-in plugin."""
        replaced: list[str] = []
        for path in (self._copy / place).glob("*.go"):
            if not path.name.endswith("_test.go"):
                text = path.read_text(encoding="utf-8")
                replaced += FUNCTION.findall(text)
                path.write_text(FUNCTION.sub(r"func reference_\1(", text), encoding="utf-8")
        constant = f"const programs = {json.dumps(str(self._programs))}\n"
        functions = [
            f'func {name}(args *skel.CmdArgs) error {{ return runProgram("{plugin}", "{COMMANDS[name]}", args) }}\n'
            for name in replaced
        ]
        text = (SOURCES / "delegate.go").read_text(encoding="utf-8")
        (self._copy / place / "delegate.go").write_text(f"{text}\n{constant}{''.join(functions)}", encoding="utf-8")


def _name(spec: t.Mapping[str, t.Any]) -> str:
    return " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])


def _outcome(spec: t.Mapping[str, t.Any]) -> str:
    """Return an empty string for a spec that has passed, or else why it has not."""
    if spec["State"] == "passed":
        return ""
    return str((spec.get("Failure") or {}).get("Message") or spec["State"])


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, programs: pathlib.Path) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("reference"), programs)


@pytest.mark.parametrize("plugin", PARAMETERS)
def test_each_spec_that_passes_with_the_reference_plugin_passes(checkout: Checkout, plugin: str) -> None:
    place = SUITES[plugin]
    expected = {name for name, failure in checkout.run(place).items() if not failure}
    assert expected
    checkout.replace(plugin, place)
    failed = {name: failure for name, failure in checkout.run(place).items() if failure and name in expected}
    known = {pattern: re.compile(pattern) for pattern in DIFFERENCES.get(plugin, {})}
    unknown = {name: why for name, why in failed.items() if not any(each.search(name) for each in known.values())}
    assert not unknown, "\n".join([f"{len(unknown)} of {len(expected)} specs fail:", *map(str, unknown.items())])
    outdated = [pattern for pattern, each in known.items() if not any(map(each.search, failed))]
    assert outdated == [], "these specs pass by now"
