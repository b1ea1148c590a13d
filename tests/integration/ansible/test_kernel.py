# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module kernel and its role on this machine's kernel, as far as a network namespace reaches."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
import struct
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, without_pyroute2
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import mount, tmpfs
from ansible_collections.cni.node.tests.support.until import until

KERNEL = "cni.node.kernel"
FORWARD = "net.ipv4.ip_forward"
ACCEPT = "net.ipv6.conf.up0.accept_ra"
REDIRECTS = "net.ipv4.conf.all.accept_redirects"
FILE = pathlib.Path("/etc/sysctl.d/90-cni.node.conf")
MODULES_FILE = pathlib.Path("/etc/modules-load.d/cni.node.conf")
BRIDGE: JsonObject = {"type": "bridge", "isGateway": True, "ipam": {"type": "host-local", "subnet": "10.1.0.0/16"}}
NETWORK: JsonObject = reference_networks.network(BRIDGE, name="db")
LIMITED: JsonObject = reference_networks.network(BRIDGE, reference_networks.BANDWIDTH, name="db")
SIX: JsonObject = {
    "conflists": [
        {
            "config": reference_networks.network(
                {"type": "ptp", "ipam": {"type": "host-local", "subnet": "fd00:1::/64"}}, name="six"
            )
        }
    ]
}
WRITTEN = """\
# Kernel settings for container networks, written by the module cni.node.kernel. Changes to this file are overwritten.

# network db, plugins[0] bridge: isGateway
net.ipv4.ip_forward = 1

# network db, plugins[0] bridge: isGateway, and iptables must see traffic between containers
net.bridge.bridge-nf-call-iptables = 1

# given in sysctls
net.ipv4.tcp_rmem = 4096 131072 6291456
"""


@pytest.fixture(autouse=True)
def etc(node: EngineNode) -> t.Iterator[None]:
    """Mount empty file systems on the directories of both files, and set the sysctls to known values."""
    with contextlib.ExitStack() as stack:
        for path in (FILE, MODULES_FILE):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(tmpfs(path.parent))
        set_to("net.ipv4.tcp_rmem", "4096\t131072\t6291456")
        set_to(FORWARD, "0")
        set_to("net.bridge.bridge-nf-call-iptables", "1")
        yield


def path_of(key: str) -> pathlib.Path:
    return pathlib.Path("/proc/sys", *key.split("."))


def set_to(key: str, value: str) -> None:
    path_of(key).write_text(f"{value}\n", encoding="ascii")


def setting(key: str) -> str:
    return path_of(key).read_text(encoding="ascii").strip()


def actions(done: TaskRun, what: str) -> dict[str, str]:
    return {entry["name"]: entry["action"] for entry in done.result[what]}


def test_settings_are_applied_persisted_and_restored_by_absent(project: Project) -> None:
    arguments: JsonObject = {
        "conflists": [{"config": NETWORK}],
        "sysctls": {"net/ipv4/tcp_rmem": "4096  131072\t6291456"},
    }
    played = project.play(thrice("prepare", KERNEL, arguments), "--diff").succeeded()
    done = played.require_converged("prepare")
    assert done.changed
    assert actions(done, "modules") == dict.fromkeys(("br_netfilter", "bridge", "veth"), "built_in")
    expected = {FORWARD: "set", "net.bridge.bridge-nf-call-iptables": "unchanged", "net.ipv4.tcp_rmem": "unchanged"}
    assert actions(done, "sysctls") == expected
    assert done.msg == "0 modules loaded, 1 setting changed, 1 file changed"
    assert setting(FORWARD) == "1"
    assert FILE.read_text(encoding="utf-8") == WRITTEN
    # A built-in module need not be loaded at boot.
    assert not MODULES_FILE.exists()
    assert played.output.count("+net.ipv4.ip_forward = 1") == 2
    assert played.output.count(f'-        "{FORWARD}": "0"') == 2
    reset = project.play(thrice("reset", KERNEL, {"state": "absent"})).succeeded().require_converged("reset")
    assert actions(reset, "sysctls") == {FORWARD: "restored"}
    assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("0", [])


def test_a_run_without_the_network_of_an_attachment_leaves_it_its_settings(node: EngineNode, project: Project) -> None:
    network = reference_networks.full()
    node.write(network)
    attachment = {"network": network["name"], "netns": "red"}
    tasks = [
        task("prepare", KERNEL, {"conflists": [{"config": network}]}),
        task("namespace", "cni.node.netns", {"names": ["red"]}),
        task("attach", "cni.node.attachments", {"attachments": [attachment]}),
        *thrice("forget", KERNEL, {}),
    ]
    forgotten = project.play(tasks).succeeded().require_converged("forget")
    assert (actions(forgotten, "sysctls")[FORWARD], setting(FORWARD)) == ("unchanged", "1")
    assert forgotten.result["sysctls"][-1]["reasons"][0].endswith(", of attachments that exist")
    purged = project.play([task("purge", KERNEL, {"purge": True})]).succeeded()["purge"]
    assert (actions(purged, "sysctls"), setting(FORWARD)) == ({FORWARD: "restored"}, "0")


def test_a_setting_that_another_one_resets_has_the_requested_value(project: Project) -> None:
    set_to(REDIRECTS, "1")
    played = project.play(
        [
            *thrice("route", KERNEL, {"sysctls": {FORWARD: 1, REDIRECTS: 1}}),
            *thrice("route on", KERNEL, {"sysctls": {FORWARD: 1}}),
        ]
    ).succeeded()
    assert actions(played.require_converged("route"), "sysctls") == {FORWARD: "set", REDIRECTS: "unchanged"}
    assert (setting(FORWARD), setting(REDIRECTS)) == ("1", "1")
    set_to(REDIRECTS, "0")
    played = project.play(thrice("stop", KERNEL, {"sysctls": {REDIRECTS: 0}})).succeeded()
    assert actions(played.require_converged("stop"), "sysctls") == {FORWARD: "restored", REDIRECTS: "unchanged"}
    assert (setting(FORWARD), setting(REDIRECTS)) == ("0", "0")


def learn_router() -> None:
    """Let the node learn its default route of IPv6 from router advertisements on up0."""
    subprocess.run(["ip", "link", "add", "up0", "type", "veth", "peer", "name", "router0"], check=True)
    for link in ("up0", "router0"):
        set_to(f"net.ipv6.conf.{link}.accept_dad", "0")
    # The router is another link of this network namespace.
    set_to("net.ipv6.conf.up0.accept_ra_from_local", "1")
    set_to(ACCEPT, "1")
    for link in ("router0", "up0"):
        subprocess.run(["ip", "link", "set", link, "up"], check=True)
    until(advertise)


def advertise() -> str | None:
    """Send a router advertisement with a lifetime of half an hour, and return the default routes, if there are any."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as sender:
        index = socket.if_nametoindex("router0")
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sender.sendto(struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0), ("ff02::1", 0, 0, index))
    return default_routes() or None


def default_routes() -> str:
    listed = subprocess.run(["ip", "-6", "route", "show", "default"], check=True, capture_output=True, text=True)
    return listed.stdout


def test_a_default_route_of_router_advertisements_is_lost_with_a_warning(project: Project) -> None:
    learn_router()
    assert "dev up0 proto ra" in default_routes()
    played = project.play([task("predict", KERNEL, SIX, check_mode=True), task("forward", KERNEL, SIX)]).succeeded()
    for name in ("predict", "forward"):
        (warning,) = played[name].warnings
        assert "the kernel drops the default route of up0" in warning
        assert f"add {ACCEPT}: 2 to sysctls" in warning
    assert (setting(ACCEPT), default_routes()) == ("1", "")


def test_a_default_route_of_router_advertisements_is_kept_with_accept_ra(project: Project) -> None:
    learn_router()
    arguments = {**SIX, "sysctls": {ACCEPT: 2}}
    played = project.play(thrice("keep", KERNEL, arguments)).succeeded()
    assert played.require_converged("keep").warnings == []
    assert "dev up0 proto ra" in default_routes()
    text = FILE.read_text(encoding="ascii")
    assert text.index(f"{ACCEPT} = 2") < text.index("net.ipv6.conf.all.forwarding = 1")


def test_drift_is_repaired(node: EngineNode, project: Project) -> None:
    arguments: JsonObject = {"conflists": [{"config": NETWORK}]}
    node.run("kernel", **arguments).succeeded()
    set_to(FORWARD, "0")
    FILE.write_text("net.ipv4.ip_forward = 0\n", encoding="ascii")
    done = project.play(thrice("repair", KERNEL, arguments)).succeeded().require_converged("repair")
    assert actions(done, "sysctls")[FORWARD] == "set"
    assert (setting(FORWARD), "net.ipv4.ip_forward = 1\n" in FILE.read_text(encoding="ascii")) == ("1", True)


def test_absent_keeps_a_value_that_was_changed_since(node: EngineNode) -> None:
    node.run("kernel", sysctls={"net.ipv4.conf.all.arp_ignore": 1}).succeeded()
    set_to("net.ipv4.conf.all.arp_ignore", "2")
    entries = node.run("kernel", state="absent").succeeded().result["sysctls"]
    assert [entry["action"] for entry in entries] == ["left"]
    assert setting("net.ipv4.conf.all.arp_ignore") == "2"


def test_without_persist_only_the_running_kernel_is_changed(project: Project) -> None:
    arguments: JsonObject = {"sysctls": {FORWARD: 1}, "persist": False}
    project.play(thrice("prepare", KERNEL, arguments)).succeeded().require_converged("prepare")
    assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("1", [])
    project.play([task("reset", KERNEL, {"state": "absent", "persist": False})]).succeeded()
    assert setting(FORWARD) == "0"


@pytest.mark.skipif(
    pathlib.Path("/proc/modules").exists(), reason="this kernel loads modules, so that it may have what is missing here"
)
def test_everything_that_the_kernel_lacks_is_reported_at_once_with_reasons(node: EngineNode, project: Project) -> None:
    plugins = [{"type": "ipvlan", "master": "eth0"}, {"type": "vrf", "vrfname": "red"}]
    arguments = {
        "conflists": [{"config": NETWORK}, {"config": reference_networks.network(*plugins, name="lan")}],
        "sysctls": {"net.ipv4.nothing": 1, "kernel.pid_max": 4194303},
        "modules": ["vxlan", "8021q"],
    }
    played = project.play(thrice("prepare", KERNEL, arguments))
    for name in ("prepare, predicted", "prepare"):
        played[name].require_no_change().require_failure(
            "the kernel does not meet 5 requirements; nothing was changed",
            "kernel module ipvlan: the running kernel does not have it and does not support loadable modules (network lan, plugins[0] ipvlan)",
            "kernel module vrf: the running kernel does not have it and does not support loadable modules (network lan, plugins[1] vrf)",
            "kernel module 8021q: the running kernel does not have it and does not support loadable modules (given in modules)",
            "kernel setting net.ipv4.nothing: the running kernel does not have it (given in sysctls)",
            "kernel setting kernel.pid_max: /proc/sys/kernel/pid_max is not writable",
        )
    assert (setting(FORWARD), list(FILE.parent.iterdir()), list(node.cache_dir.iterdir())) == ("0", [], [])


def test_a_value_that_the_kernel_refuses_rolls_back_all_settings(node: EngineNode) -> None:
    """Roll back the earlier settings: the kernel refuses a value only when it is written."""
    done = node.run("kernel", sysctls={FORWARD: 1, "net.ipv4.ip_local_port_range": "5000 1000"})
    done.require_failure(
        "cannot write '5000 1000' to /proc/sys/net/ipv4/ip_local_port_range: Invalid argument; expected: integers, such as "
        "the current value: ",
        "; no setting was changed",
    )
    assert (setting(FORWARD), FILE.exists()) == ("0", False)
    done = node.run("kernel", sysctls={FORWARD: 1, "net.ipv4.conf.all.arp_ignore": "0x1"})
    done.require_failure(
        "the kernel changed '0x1' to '1'; use the value as the kernel shows it; expected: an integer, such as the current value"
    )
    assert (setting(FORWARD), setting("net.ipv4.conf.all.arp_ignore"), FILE.exists()) == ("0", "0", False)


def test_a_non_numeric_value_is_refused_in_check_mode_too(project: Project) -> None:
    arguments = {"sysctls": {FORWARD: "yes", "net.ipv4.conf.all.arp_ignore": 1}}
    played = project.play(thrice("prepare", KERNEL, arguments))
    for name in ("prepare, predicted", "prepare"):
        played[name].require_no_change().require_failure(
            f"kernel setting {FORWARD}: 'yes' is not a number; expected: an integer, such as the current value: 0 (given in sysctls); "
            "nothing was changed"
        )
    assert setting("net.ipv4.conf.all.arp_ignore") == "0"


def test_on_a_read_only_sysctl_tree_only_needed_changes_are_errors(node: EngineNode) -> None:
    """Use a read-only /proc/sys, as a container has."""
    with mount("--bind", "/proc/sys/net/ipv4", "/proc/sys/net/ipv4"):
        subprocess.run(["mount", "--options", "bind,remount,ro", "/proc/sys/net/ipv4"], check=True)
        node.run("kernel", conflists=[{"config": NETWORK}]).require_failure(
            f"kernel setting {FORWARD}: /proc/sys/net/ipv4/ip_forward is not writable; in a container, set it on "
            "the host (network db, plugins[0] bridge: isGateway)",
        )
        assert list(FILE.parent.iterdir()) == []
        node.run("kernel", sysctls={FORWARD: 0}).succeeded()


def test_a_directory_that_cannot_be_written_is_an_error_before_any_setting_changes(node: EngineNode) -> None:
    with mount("--bind", str(FILE.parent), str(FILE.parent)):
        subprocess.run(["mount", "--options", "bind,remount,ro", str(FILE.parent)], check=True)
        for mode in ({"_ansible_check_mode": True}, {}):
            refused = node.run("kernel", sysctls={FORWARD: 1}, **mode)
            refused.require_failure(f"cannot write {FILE}: Read-only file system")
    assert setting(FORWARD) == "0"


def test_a_template_is_rendered_on_the_controller(project: Project) -> None:
    project.write("templates/db.j2", json.dumps({**NETWORK, "name": "{{ who }}net"}))
    arguments = {"conflists": [{"template": "db.j2", "vars": {"who": "db"}}]}
    done = project.play([task("prepare", KERNEL, arguments)]).succeeded()["prepare"]
    assert done.result["sysctls"][0]["reasons"] == ["network dbnet, plugins[0] bridge: isGateway"]


def test_absent_needs_no_template_of_the_networks(project: Project) -> None:
    absent = {"state": "{{ 'absent' }}", "conflists": [{"template": "gone.j2"}]}
    played = project.play([task("prepare", KERNEL, {"sysctls": {FORWARD: 1}}), task("reset", KERNEL, absent)])
    assert actions(played.succeeded()["reset"], "sysctls") == {FORWARD: "restored"}


class TestRole:
    ROLE = "cni.node.cni_kernel"

    def play(self, project: Project, *options: str, **variables: t.Any) -> list[TaskRun]:
        """Return the results of the role's own tasks, without checks of variables."""
        played = project.play([], *options, roles=[self.ROLE], vars=variables, ignore_errors=False).succeeded()
        looks = {f"ansible.builtin.{name}" for name in ("validate_argument_spec", "assert", "include_tasks")}
        return [task for task in played.tasks if task.module not in looks]

    def test_a_node_with_all_programs_gets_one_remote_call(self, project: Project) -> None:
        items = [{"config": reference_networks.network(BRIDGE, {"type": "firewall"}, name="db")}]
        predicted = self.play(project, "--check", cni_kernel_conflists=items)
        done = self.play(project, cni_kernel_conflists=items)
        again = self.play(project, cni_kernel_conflists=items)
        asked = [[task.module for task in tasks if task.status != "skipped"] for tasks in (predicted, done, again)]
        assert asked == [[KERNEL]] * 3
        assert [tasks[0].changed for tasks in (predicted, done, again)] == [True, True, False]
        assert self.play(project, cni_kernel_state="absent")[0].changed
        assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("0", [])

    @pytest.mark.parametrize("manager", ["apt", "unknown"])
    def test_the_library_of_rate_limits_is_installed_where_that_is_possible(
        self, project: Project, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, manager: str
    ) -> None:
        monkeypatch.setenv("PYTHONPATH", without_pyroute2(tmp_path))
        # The system's own Python has the package, so that there is nothing to install.
        use = ("-e", f"ansible_package_use={manager}")
        (done,) = self.play(project, *use, cni_kernel_conflists=[{"config": LIMITED}])
        told = [text.partition(" because")[0] for text in done.warnings]
        assert "packages" not in done.result
        assert told == ([] if manager == "apt" else ["rate limits can be neither written nor repaired,"])
        (nothing,) = self.play(project, *use, cni_kernel_conflists=[{"config": LIMITED}], cni_kernel_packages=False)
        assert ("packages" in nothing.result, nothing.warnings) == (False, [])

    def test_options_may_be_text_from_a_survey(self, project: Project) -> None:
        text = {
            "cni_kernel_conflists": json.dumps([{"config": NETWORK}]),
            "cni_kernel_modules": "vxlan\nbridge\n",
            "cni_kernel_sysctls": "net.ipv4.conf.all.arp_ignore = 1\n\nnet.ipv4.tcp_rmem=4096 131072 6291457\n",
            "cni_kernel_persist": "false",
            "cni_kernel_packages": "true",
        }
        done = self.play(project, **text)[0]
        assert set(actions(done, "modules")) == {"br_netfilter", "bridge", "veth", "vxlan"}
        assert (setting(FORWARD), setting("net.ipv4.conf.all.arp_ignore")) == ("1", "1")
        assert setting("net.ipv4.tcp_rmem").split() == ["4096", "131072", "6291457"]
        assert not FILE.exists()
        empty = dict.fromkeys(("cni_kernel_conflists", "cni_kernel_modules", "cni_kernel_sysctls"), "")
        assert actions(self.play(project, **empty)[0], "sysctls")[FORWARD] == "restored"

    @pytest.mark.parametrize(
        "text",
        [
            "# how to answer ARP\n\n  # more = less\nnet.ipv4.conf.all.arp_ignore=1\n",
            "# as YAML\nnet.ipv4.conf.all.arp_ignore: 1\n",
            '{"net.ipv4.conf.all.arp_ignore": 1}',
        ],
    )
    def test_sysctls_may_be_text_with_comments_or_yaml(self, project: Project, text: str) -> None:
        done = self.play(project, "--check", cni_kernel_sysctls=text)[0]
        assert actions(done, "sysctls") == {"net.ipv4.conf.all.arp_ignore": "set"}

    @pytest.mark.parametrize(
        "text", ["net.ipv4.conf.all.arp_ignore 1", "net.ipv4.ip_forward=1\nnet.ipv4.conf.all.arp_ignore 1"]
    )
    def test_an_invalid_sysctl_line_is_named(self, project: Project, text: str) -> None:
        played = project.play([], roles=[self.ROLE], vars={"cni_kernel_sysctls": text}, ignore_errors=False)
        played["Prepare the kernel"].require_failure("'net.ipv4.conf.all.arp_ignore 1'", "expected: key=value")

    def test_check_mode_reports_missing_packages(self, project: Project, tmp_path: pathlib.Path) -> None:
        """Hide nft behind an empty file without execute permission."""
        guarded = reference_networks.network({"type": "bridge", "macspoofchk": True}, name="db")
        empty = tmp_path / "empty"
        empty.touch(0o644)
        needs: JsonObject = {"cni_kernel_conflists": [{"config": guarded}]}
        with contextlib.ExitStack() as stack:
            for place in ("/usr/sbin/nft", "/sbin/nft"):
                if pathlib.Path(place).exists():
                    stack.enter_context(mount("--bind", str(empty), place))
            wanted: dict[str, object] = {"nftables": None, "a, b": "a\nb"}
            for packages, value in wanted.items():
                (predicted,) = self.play(project, "--check", **needs, cni_kernel_packages=value)
                assert predicted.changed
                assert predicted.msg.endswith(f"; would be installed: {packages}")
                assert predicted.plan()["diff"][-1]["after"] == {"packages": packages.split(", ")}
            none: list[object] = [False, "false", []]
            for value in none:
                (left,) = self.play(project, "--check", **needs, cni_kernel_packages=value)
                assert left.msg.endswith("; not installed: nft")
                assert "packages" not in left.result
            # No package manager of the node has it.
            unknown = ("-e", "ansible_package_use=unknown")
            failing = project.play([], *unknown, roles=[self.ROLE], vars=needs)
            failing["Prepare the kernel"].require_failure("packages nftables, for nft, could not be installed; ")
