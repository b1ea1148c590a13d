# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The needs of a runtime are compared with what the node has."""

from __future__ import annotations

import json
import pathlib
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.kernel_module import State
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements
from ansible_collections.cni.node.plugins.module_utils._node.preflight.preflight_check import (
    MISSING,
    OK,
    WARNING,
    PreflightCheck,
)
from ansible_collections.cni.node.plugins.module_utils._node.preflight.runtime_checks import RuntimeChecks, Wanted
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import Configured

ROWS = {runtime.name: runtime for runtime in RUNTIMES}


class PreflightFixture:
    """A node on which everything is as a runtime needs it, until a test changes that."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.conf_dir, self.bin_dir = root / "net.d", root / "bin"
        for directory in (self.conf_dir, self.bin_dir):
            directory.mkdir(mode=0o755)
        self.write("10-pods.conflist", "pods")

    def write(self, name: str, network: str, **keys: object) -> None:
        content = {"cniVersion": "1.0.0", "name": network, "plugins": [{"type": "ptp"}], **keys}
        (self.conf_dir / name).write_text(json.dumps(content), encoding="utf-8")

    def install(self, name: str, release: str = "1.9.1") -> pathlib.Path:
        path = self.bin_dir / name
        path.write_text(f"#!/bin/sh\necho CNI {name} plugin v{release} >&2\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def check(
        self, name: str, bin_dir: str = "", version: str = "", *, is_active: bool = True, has_units: bool = True
    ) -> dict[str, PreflightCheck]:
        """Return the checks by subject."""
        runtime = ROWS[name]
        for plugin in (*runtime.setup.plugins, "ptp"):
            if not (self.bin_dir / plugin).exists():
                self.install(plugin)
        program = self.root / "program"
        program.write_text(f"#!/bin/sh\necho version {version or '9.9.9'}\n", encoding="utf-8")
        program.chmod(0o755)
        found = FoundRuntime(
            runtime,
            str(program),
            dict.fromkeys(runtime.units, is_active) if has_units else {},
            Configured((str(self.conf_dir),)),
            Configured((str(self.bin_dir),), "/etc/its.conf"),
        )
        checks = RuntimeChecks(found, Wanted(str(self.conf_dir), bin_dir or str(self.bin_dir)), str(self.root)).run()
        return {check.subject: check for check in checks}

    def list_problems(self, name: str, *arguments: str) -> dict[str, str]:
        return {subject: check.state for subject, check in self.check(name, *arguments).items() if check.state != OK}


@pytest.fixture
def node(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> PreflightFixture:
    monkeypatch.setattr(kernel_module, "state", lambda dummy: State.PRESENT)
    values = {key: value for runtime in RUNTIMES for key, value in runtime.setup.sysctls.items()}
    monkeypatch.setattr(sysctl, "read", values.get)
    monkeypatch.setattr(sysctl, "is_writable", lambda dummy: True)
    monkeypatch.setattr(router_advertisements, "find_dependent_links", list)
    return PreflightFixture(tmp_path)


@pytest.mark.parametrize("name", [name for name in ROWS if name != "crio"])
def test_on_a_prepared_node_nothing_is_missing(node: PreflightFixture, name: str) -> None:
    assert {state for subject, state in node.list_problems(name).items() if not subject.startswith("owner of")} == set()


def test_a_service_that_does_not_run_is_missing(node: PreflightFixture) -> None:
    check = node.check("nomad", is_active=False)["service"]
    assert (check.state, check.found) == (MISSING, "nomad.service is not active, 9.9.9")
    assert check.hint == "run systemctl start nomad.service"


def test_a_service_without_a_unit_is_not_started_by_systemctl(node: PreflightFixture) -> None:
    check = node.check("containerd", has_units=False)["service"]
    assert (check.state, check.found) == (MISSING, "there is no containerd.service, 9.9.9")
    assert check.hint.startswith("install the service of containerd; without systemd, start ")
    assert "systemctl" not in check.hint


def test_plugins_where_the_runtime_does_not_look_are_missing_for_it(node: PreflightFixture) -> None:
    check = node.check("containerd", "/opt/elsewhere")["plugin dirs"]
    assert (check.state, check.needed) == (MISSING, "/opt/elsewhere")
    assert check.hint == f"set cni_node_bin_dir to {node.bin_dir}, or let it search there: /etc/its.conf"


def test_the_plugins_of_networks_and_of_the_runtime_are_looked_for(node: PreflightFixture) -> None:
    node.check("podman")
    for name in ("tuning", "ptp"):
        (node.bin_dir / name).rename(node.root / name)
        (node.root / name).chmod(0o644)
        (node.root / name).rename(node.bin_dir / name)
    assert {name: node.list_problems("podman")[f"plugin {name}"] for name in ("tuning", "ptp")} == {
        "tuning": MISSING,
        "ptp": MISSING,
    }


def test_the_daemon_of_a_network_with_dhcp_is_looked_for(node: PreflightFixture) -> None:
    path = node.root / "dhcp.sock"
    ipam = {"type": "dhcp", "daemonSocketPath": str(path)}
    node.write("20-lan.conflist", "lan", plugins=[{"type": "macvlan", "ipam": ipam}])
    check = node.check("podman")["daemon of the plugin dhcp"]
    assert (check.state, check.needed, check.found) == (MISSING, f"listens on {path}", f"{path} does not exist")
    assert "cni_node_dhcp" in check.hint
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert node.check("podman")["daemon of the plugin dhcp"].state == OK


@pytest.mark.parametrize(("release", "state"), [("1.1.1", MISSING), ("1.3.0", OK), ("1.10.0", OK), ("unknown", OK)])
def test_an_older_release_of_a_plugin_is_missing(node: PreflightFixture, release: str, state: str) -> None:
    node.install("bridge", release)
    assert node.check("nomad")["plugin bridge"].state == state


@pytest.mark.parametrize(("name", "state"), [("containerd", MISSING), ("nomad", MISSING), ("crio", WARNING)])
def test_a_broken_file_is_reported_by_its_effect_on_the_runtime(node: PreflightFixture, name: str, state: str) -> None:
    (node.conf_dir / "00-broken.conflist").write_text("{", encoding="utf-8")
    check = node.check(name)["network file"]
    assert check.state == state
    assert check.hint.endswith(ROWS[name].setup.broken)


@pytest.mark.parametrize("name", ["containerd", "crio", "nomad"])
def test_a_file_that_only_this_collection_refuses_works_for_the_runtime(node: PreflightFixture, name: str) -> None:
    content = '{"cniVersion": "1.0.0", "name": "bridge", "type": "tuning"}'
    (node.conf_dir / "00-bridge.conf").write_text(content, encoding="utf-8")
    checks = node.check(name)
    file = checks["network file"]
    assert (file.state, ROWS[name].title in file.hint, ROWS[name].setup.broken in file.hint) == (WARNING, True, False)
    assert checks["plugin tuning"].state == MISSING
    node.install("tuning", "1.1.1")
    network = node.check(name)["network bridge" if name == "nomad" else "network"]
    assert (network.state, "00-bridge.conf" in network.found) == (OK, True)


@pytest.mark.parametrize(("name", "state"), [("containerd", MISSING), ("crio", WARNING)])
def test_a_list_in_a_file_for_a_single_plugin_is_broken_for_the_runtime(
    node: PreflightFixture, name: str, state: str
) -> None:
    node.write("00-lab.conf", "lab")
    checks = node.check(name)
    assert (checks["network file"].state, "rename it to 00-lab.conflist" in checks["network file"].hint) == (
        state,
        True,
    )
    assert checks["network"].found.startswith("pods")


def test_a_network_in_a_file_that_no_runtime_reads_is_a_warning(node: PreflightFixture) -> None:
    node.write("20-lab.yaml", "lab")
    check = node.check("containerd")["network file"]
    assert (check.state, "rename it to 20-lab.conflist" in check.hint) == (WARNING, True)


def test_a_runtime_that_takes_the_first_file_needs_one(node: PreflightFixture) -> None:
    assert node.check("containerd")["network"].found == f"pods, from {node.conf_dir}/10-pods.conflist"
    (node.conf_dir / "10-pods.conflist").unlink()
    assert node.check("containerd")["network"].state == MISSING
    assert "network" not in node.check("podman")


def test_a_file_that_the_runtime_does_not_read_is_a_warning(node: PreflightFixture) -> None:
    (node.conf_dir / "20-single.conf").write_text('{"cniVersion": "0.4.0", "name": "single", "type": "ptp"}', "utf-8")
    assert node.check("podman")["network single"].state == WARNING
    assert node.check("nomad")["network single"].state == OK


def test_a_network_that_nomad_cannot_find_by_its_name_is_missing(node: PreflightFixture) -> None:
    node.write("20-upper.conflist", "Upper")
    assert node.check("nomad")["network Upper"].state == MISSING
    assert node.check("podman")["network Upper"].state == OK


def test_kernel_modules_and_settings_are_compared(node: PreflightFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_module, "state", lambda dummy: State.LOADABLE)
    monkeypatch.setattr(sysctl, "read", lambda dummy: "0")
    checks = node.check("kubelet")
    module, setting = checks["kernel module overlay"], checks["kernel setting net.ipv4.ip_forward"]
    assert (module.state, module.found, setting.state, setting.found) == (MISSING, "not loaded", MISSING, "0")
    assert not any(subject.startswith("kernel") for subject in node.check("k3s"))


def test_a_default_route_of_router_advertisements_needs_accept_ra_beside_networks_of_ipv6(
    node: PreflightFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_advertisements, "find_dependent_links", lambda: ["up0"])
    assert "default route of up0" not in node.check("nomad")
    ipam = {"type": "host-local", "subnet": "fd00:1::/64"}
    node.write("20-six.conflist", "six", plugins=[{"type": "bridge", "isGateway": True, "ipam": ipam}])
    check = node.check("nomad")["default route of up0"]
    assert (check.state, check.needed, check.found) == (
        WARNING,
        "net.ipv6.conf.up0.accept_ra 2",
        "net.ipv6.conf.up0.accept_ra 1",
    )
    assert check.hint.startswith(
        "add net.ipv6.conf.up0.accept_ra: 2 to cni_node_sysctls; with IPv6 forwarding, the kernel"
    )


def test_a_directory_that_every_user_can_write_is_missing_an_owner(node: PreflightFixture) -> None:
    node.bin_dir.chmod(0o777)
    check = node.check("nomad")[f"owner of {node.bin_dir}"]
    assert (check.state, "chmod go-w" in check.hint) == (MISSING, True)


@pytest.mark.parametrize(("version", "count"), [("1.31.5", 0), ("1.32.0", 1), ("1.36.3", 1)])
def test_networks_whose_attachments_crio_deletes_are_a_warning(
    node: PreflightFixture, version: str, count: int
) -> None:
    node.write("20-kept.conflist", "kept", disableGC=True)
    checks = [check for check in node.check("crio", version=version).values() if check.state == WARNING]
    assert [check.subject for check in checks if check.subject.startswith("network")] == ["network pods"] * count


def test_leases_that_podman_removes_at_boot_are_a_warning_for_others(node: PreflightFixture) -> None:
    file = node.root / "usr/lib/tmpfiles.d/podman.conf"
    file.parent.mkdir(parents=True)
    file.write_text("x /tmp/podman-run-*\nD! /var/lib/cni/networks\n", encoding="utf-8")
    assert node.check("nomad")["leases after a boot"].state == WARNING
    assert "leases after a boot" not in node.check("podman")
    masked = node.root / "etc/tmpfiles.d/podman.conf"
    masked.parent.mkdir(parents=True)
    masked.touch()
    assert "leases after a boot" not in node.check("nomad")


def test_a_first_file_whose_plugin_is_not_installed_is_missing(node: PreflightFixture) -> None:
    node.write("00-multus.conf", "multus", plugins=[{"type": "multus"}])
    (node.conf_dir / "00-multus.conf").rename(node.conf_dir / "00-multus.conflist")
    check = node.check("containerd")["network"]
    assert (check.state, check.found) == (
        MISSING,
        f"multus, from {node.conf_dir}/00-multus.conflist, without its plugin multus",
    )
    assert check.hint.startswith(f"remove {node.conf_dir}/00-multus.conflist if it is left over, or install multus")
    node.install("multus")
    assert node.check("containerd")["network"].state == OK


def test_a_plugin_that_cannot_be_run_is_not_reported_as_absent(node: PreflightFixture) -> None:
    path = node.install("ptp")
    path.chmod(0o644)
    check = node.check("containerd")["plugin ptp"]
    assert (check.state, check.found) == (MISSING, f"{path} cannot be run")
    assert check.hint == f"run chmod 0755 {path}, and mount its file system without noexec"
