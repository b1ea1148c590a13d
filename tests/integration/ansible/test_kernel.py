# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module kernel and its role on this machine's own kernel, as far as a network namespace goes."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Json, Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import mounted, tmpfs

KERNEL = "cni.node.kernel"
FORWARD = "net.ipv4.ip_forward"
REDIRECTS = "net.ipv4.conf.all.accept_redirects"
FILE = pathlib.Path("/etc/sysctl.d/90-cni.node.conf")
MODULES_FILE = pathlib.Path("/etc/modules-load.d/cni.node.conf")
BRIDGE: Json = {"type": "bridge", "isGateway": True, "ipam": {"type": "host-local", "subnet": "10.1.0.0/16"}}
NETWORK: Json = reference_networks.network(BRIDGE, name="db")
WRITTEN = """\
# Kernel settings of container networks, written by the module cni.node.kernel: what is changed here gets lost.

# network db, plugins[0] bridge: isGateway
net.ipv4.ip_forward = 1

# network db, plugins[0] bridge: isGateway, and NAT is to see what passes between its containers
net.bridge.bridge-nf-call-iptables = 1

# given in sysctls
net.ipv4.tcp_rmem = 4096 131072 6291456
"""


@pytest.fixture(autouse=True)
def etc(node: EngineNode) -> t.Iterator[None]:
    """Both directories begin empty, as the network namespace does."""
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


def test_settings_are_made_kept_and_put_back(project: Project) -> None:
    wanted: Json = {"conflists": [{"config": NETWORK}], "sysctls": {"net/ipv4/tcp_rmem": "4096  131072\t6291456"}}
    played = project.play(thrice("prepare", KERNEL, wanted), "--diff").succeeded()
    done = played.require_converged("prepare")
    assert done.changed
    assert actions(done, "modules") == dict.fromkeys(("br_netfilter", "bridge", "veth"), "built_in")
    expected = {FORWARD: "set", "net.bridge.bridge-nf-call-iptables": "unchanged", "net.ipv4.tcp_rmem": "unchanged"}
    assert actions(done, "sysctls") == expected
    assert done.msg == "0 modules loaded, 1 setting changed, 1 file changed"
    assert setting(FORWARD) == "1"
    assert FILE.read_text(encoding="utf-8") == WRITTEN
    # What is built in is nothing to load at the next boot.
    assert not MODULES_FILE.exists()
    assert played.output.count("+net.ipv4.ip_forward = 1") == 2
    assert played.output.count(f'-        "{FORWARD}": "0"') == 2
    put_back = project.play(thrice("put back", KERNEL, {"state": "absent"})).succeeded().require_converged("put back")
    assert actions(put_back, "sysctls") == {FORWARD: "restored"}
    assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("0", [])


def test_what_the_kernel_resets_with_another_setting_is_as_asked_for(project: Project) -> None:
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


def test_drift_is_repaired(node: EngineNode, project: Project) -> None:
    wanted: Json = {"conflists": [{"config": NETWORK}]}
    node.run("kernel", **wanted).succeeded()
    set_to(FORWARD, "0")
    FILE.write_text("net.ipv4.ip_forward = 0\n", encoding="ascii")
    done = project.play(thrice("repair", KERNEL, wanted)).succeeded().require_converged("repair")
    assert actions(done, "sysctls")[FORWARD] == "set"
    assert (setting(FORWARD), "net.ipv4.ip_forward = 1\n" in FILE.read_text(encoding="ascii")) == ("1", True)


def test_what_somebody_else_has_set_since_is_left(node: EngineNode) -> None:
    node.run("kernel", sysctls={"net.ipv4.conf.all.arp_ignore": 1}).succeeded()
    set_to("net.ipv4.conf.all.arp_ignore", "2")
    left = node.run("kernel", state="absent").succeeded().result["sysctls"]
    assert [entry["action"] for entry in left] == ["left"]
    assert setting("net.ipv4.conf.all.arp_ignore") == "2"


def test_without_files_only_the_running_kernel_is_changed(project: Project) -> None:
    wanted: Json = {"sysctls": {FORWARD: 1}, "persist": False}
    project.play(thrice("prepare", KERNEL, wanted)).succeeded().require_converged("prepare")
    assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("1", [])
    project.play([task("put back", KERNEL, {"state": "absent", "persist": False})]).succeeded()
    assert setting(FORWARD) == "0"


@pytest.mark.skipif(
    pathlib.Path("/proc/modules").exists(), reason="this kernel loads modules, so that it may have what is missing here"
)
def test_all_that_the_kernel_lacks_is_said_at_once_with_the_reasons(node: EngineNode, project: Project) -> None:
    plugins = [{"type": "ipvlan", "master": "eth0"}, {"type": "vrf", "vrfname": "red"}]
    wanted = {
        "conflists": [{"config": NETWORK}, {"config": reference_networks.network(*plugins, name="lan")}],
        "sysctls": {"net.ipv4.nothing": 1, "kernel.pid_max": 4194303},
        "modules": ["vxlan", "8021q"],
    }
    played = project.play(thrice("prepare", KERNEL, wanted))
    for name in ("prepare, predicted", "prepare"):
        played[name].require_no_change().require_failure(
            "nothing was changed, for 5 reasons",
            "kernel module ipvlan: the running kernel does not have it, and cannot load modules (network lan, plugins[0] ipvlan)",
            "kernel module vrf: the running kernel does not have it, and cannot load modules (network lan, plugins[1] vrf)",
            "kernel module 8021q: the running kernel does not have it, and cannot load modules (given in modules)",
            "kernel setting net.ipv4.nothing: the running kernel does not have it (given in sysctls)",
            "kernel setting kernel.pid_max: /proc/sys/kernel/pid_max cannot be written from here",
        )
    assert (setting(FORWARD), list(FILE.parent.iterdir()), list(node.cache_dir.iterdir())) == ("0", [], [])


def test_a_value_that_the_kernel_refuses_leaves_all_settings_as_they_were(node: EngineNode) -> None:
    """Routing is set before, and the kernel finds out only then."""
    done = node.run("kernel", sysctls={FORWARD: 1, "net.ipv4.ip_local_port_range": "5000 1000"})
    done.require_failure(
        "cannot write '5000 1000' to /proc/sys/net/ipv4/ip_local_port_range: Invalid argument; expected: integers, as the "
        "value is now: ",
        "; no setting was changed",
    )
    assert (setting(FORWARD), FILE.exists()) == ("0", False)
    done = node.run("kernel", sysctls={FORWARD: 1, "net.ipv4.conf.all.arp_ignore": "0x1"})
    done.require_failure(
        "the kernel made '1' of '0x1'; give the value as the kernel shows it; expected: an integer, as the value is"
    )
    assert (setting(FORWARD), setting("net.ipv4.conf.all.arp_ignore"), FILE.exists()) == ("0", "0", False)


def test_a_word_for_a_number_is_refused_in_check_mode_as_in_the_run(project: Project) -> None:
    wanted = {"sysctls": {FORWARD: "yes", "net.ipv4.conf.all.arp_ignore": 1}}
    played = project.play(thrice("prepare", KERNEL, wanted))
    for name in ("prepare, predicted", "prepare"):
        played[name].require_no_change().require_failure(
            f"kernel setting {FORWARD}: 'yes' is no number; expected: an integer, as the value is now: 0 (given in sysctls); "
            "nothing was changed"
        )
    assert setting("net.ipv4.conf.all.arp_ignore") == "0"


def test_where_settings_cannot_be_written_nothing_is_and_what_is_right_already_is_no_problem(node: EngineNode) -> None:
    """As in a container: /proc/sys is read-only there."""
    with mounted("--bind", "/proc/sys/net/ipv4", "/proc/sys/net/ipv4"):
        subprocess.run(["mount", "--options", "bind,remount,ro", "/proc/sys/net/ipv4"], check=True)
        node.run("kernel", conflists=[{"config": NETWORK}]).require_failure(
            f"kernel setting {FORWARD}: /proc/sys/net/ipv4/ip_forward cannot be written from here; in a container, set it on "
            "the host (network db, plugins[0] bridge: isGateway)",
        )
        assert list(FILE.parent.iterdir()) == []
        node.run("kernel", sysctls={FORWARD: 0}).succeeded()


def test_a_template_is_rendered_on_the_controller(project: Project) -> None:
    project.write("templates/db.j2", json.dumps({**NETWORK, "name": "{{ who }}net"}))
    arguments = {"conflists": [{"template": "db.j2", "vars": {"who": "db"}}]}
    done = project.play([task("prepare", KERNEL, arguments)]).succeeded()["prepare"]
    assert done.result["sysctls"][0]["reasons"] == ["network dbnet, plugins[0] bridge: isGateway"]


def test_all_is_put_back_without_the_templates_of_the_networks(project: Project) -> None:
    absent = {"state": "{{ 'absent' }}", "conflists": [{"template": "gone.j2"}]}
    played = project.play([task("prepare", KERNEL, {"sysctls": {FORWARD: 1}}), task("put back", KERNEL, absent)])
    assert actions(played.succeeded()["put back"], "sysctls") == {FORWARD: "restored"}


class TestRole:
    ROLE = "cni.node.cni_kernel"

    def play(self, project: Project, *options: str, **variables: t.Any) -> list[TaskRun]:
        """What it did, without what is only a look at variables."""
        played = project.play([], *options, roles=[self.ROLE], vars=variables, ignore_errors=False).succeeded()
        looks = {f"ansible.builtin.{name}" for name in ("validate_argument_spec", "assert", "include_tasks")}
        return [one for one in played.tasks if one.module not in looks]

    def test_a_node_that_has_its_programs_is_asked_once(self, project: Project) -> None:
        items = [{"config": reference_networks.network(BRIDGE, {"type": "firewall"}, name="db")}]
        predicted = self.play(project, "--check", cni_kernel_conflists=items)
        done = self.play(project, cni_kernel_conflists=items)
        again = self.play(project, cni_kernel_conflists=items)
        asked = [[one.module for one in tasks if one.status != "skipped"] for tasks in (predicted, done, again)]
        assert asked == [[KERNEL]] * 3
        assert [tasks[0].changed for tasks in (predicted, done, again)] == [True, True, False]
        assert self.play(project, cni_kernel_state="absent")[0].changed
        assert (setting(FORWARD), list(FILE.parent.iterdir())) == ("0", [])

    def test_a_survey_gives_text(self, project: Project) -> None:
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
    def test_settings_as_text_may_have_comments_and_may_be_yaml(self, project: Project, text: str) -> None:
        done = self.play(project, "--check", cni_kernel_sysctls=text)[0]
        assert actions(done, "sysctls") == {"net.ipv4.conf.all.arp_ignore": "set"}

    @pytest.mark.parametrize(
        "text", ["net.ipv4.conf.all.arp_ignore 1", "net.ipv4.ip_forward=1\nnet.ipv4.conf.all.arp_ignore 1"]
    )
    def test_a_line_that_is_no_setting_is_named(self, project: Project, text: str) -> None:
        played = project.play([], roles=[self.ROLE], vars={"cni_kernel_sysctls": text}, ignore_errors=False)
        played["Prepare the kernel"].require_failure("'net.ipv4.conf.all.arp_ignore 1'", "expected: key=value")

    def test_check_mode_says_which_packages_a_node_lacks(self, project: Project, tmp_path: pathlib.Path) -> None:
        """nft is taken away, by an empty file that nobody may execute."""
        guarded = reference_networks.network({"type": "bridge", "macspoofchk": True}, name="db")
        empty = tmp_path / "empty"
        empty.touch(0o644)
        with contextlib.ExitStack() as stack:
            for place in ("/usr/sbin/nft", "/sbin/nft"):
                if pathlib.Path(place).exists():
                    stack.enter_context(mounted("--bind", str(empty), place))
            tasks = self.play(project, "--check", cni_kernel_conflists=[{"config": guarded}])
            said = [one for one in tasks if one.module.endswith("debug")]
            assert [(one.msg, one.changed) for one in said] == [("packages: nftables, for nft", True)]
            named = self.play(
                project, "--check", cni_kernel_conflists=[{"config": guarded}], cni_kernel_packages="a\nb"
            )
            assert [one.msg for one in named if one.module.endswith("debug")] == ["packages: a, b, for nft"]
            none: list[object] = [False, "false", []]
            for nothing in none:
                tasks = self.play(
                    project, "--check", cni_kernel_conflists=[{"config": guarded}], cni_kernel_packages=nothing
                )
                assert [one.module for one in tasks if one.status != "skipped"] == [KERNEL]
