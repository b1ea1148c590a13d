# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules are loaded, settings are set, persisted and restored, on a kernel made of files."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._node.kernel import settings as kernel_settings
from ansible_collections.cni.node.plugins.module_utils._node.kernel.planned_changes import Plan
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs
from ansible_collections.cni.node.plugins.module_utils._node.kernel.settings import KernelSettings
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.toy_kernel import ToyKernel

FORWARD = "net.ipv4.ip_forward"
BRIDGED = "net.bridge.bridge-nf-call-iptables"


def needs(*modules: str, **settings: str) -> Needs:
    """Return needs of modules and settings; keys have two underscores for each dot."""
    values = {key.replace("__", "."): value for key, value in settings.items()}
    return Needs({name: ["m"] for name in modules}, {name: ["s"] for name in values}, {}, values)


BRIDGE = Needs({"br_netfilter": ["b"]}, {BRIDGED: ["b"], FORWARD: ["f"]}, {}, {BRIDGED: "1", FORWARD: "1"})


class KernelSettingsFixture:
    def __init__(self, kernel: ToyKernel, root: pathlib.Path) -> None:
        self.kernel = kernel
        self.cache = root / "cache"
        self.paths = NodePaths.below(str(root))
        self.modules_file = pathlib.Path(self.paths.modules_file)
        self.settings_file = pathlib.Path(self.paths.sysctl_file)

    def plan(self, required: Needs, *, persist: bool = True) -> Plan:
        return KernelSettings(str(self.cache), self.paths).plan(required, persist=persist)

    def ensure(self, required: Needs, *, persist: bool = True) -> Plan:
        """Return the plan of a run; require the same prediction before, and no change afterwards."""
        predicted = self.plan(required, persist=persist)
        plan = KernelSettings(str(self.cache), self.paths).ensure(required, persist=persist)
        assert plan == predicted
        assert not self.plan(required, persist=persist).changed
        return plan

    def files(self) -> list[pathlib.Path]:
        """Return the files that a run has written."""
        saved_values = self.cache / "cni.node" / "kernel.json"
        return [path for path in (saved_values, self.modules_file, self.settings_file) if path.exists()]


@pytest.fixture
def node(kernel: ToyKernel, tmp_path: pathlib.Path) -> KernelSettingsFixture:
    return KernelSettingsFixture(kernel, tmp_path)


def actions(plan: Plan) -> dict[str, str]:
    modules = {change.name: change.action for change in plan.modules}
    return {**modules, **{change.name: change.action for change in plan.settings}}


def test_a_plan_changes_no_file(node: KernelSettingsFixture) -> None:
    node.kernel.has_on_disk("ifb")
    node.kernel.has_settings(ipv4__ip_forward="0")
    plan = node.plan(needs("ifb", net__ipv4__ip_forward="1"))
    assert actions(plan) == {"ifb": "loaded", FORWARD: "set"}
    assert (node.kernel.loaded_modules(), node.kernel.setting("net/ipv4/ip_forward")) == ([], "0")
    assert node.files() == []


def test_modules_and_settings_are_applied_and_persisted(node: KernelSettingsFixture) -> None:
    node.kernel.has_on_disk("ifb")
    node.kernel.has_built_in("veth")
    node.kernel.write("sys/module/bridge/initstate", "live\n")
    node.kernel.has_settings(ipv4__ip_forward="0", core__somaxconn="4096")
    required = needs("veth", "ifb", "bridge", net__ipv4__ip_forward="1", net__core__somaxconn="4096")
    required.modules["ifb"].append("again")
    plan = node.ensure(required)
    assert actions(plan) == {
        "bridge": "present",
        "ifb": "loaded",
        "veth": "built_in",
        FORWARD: "set",
        "net.core.somaxconn": "unchanged",
    }
    assert (node.kernel.loaded_modules(), node.kernel.setting("net/ipv4/ip_forward")) == (["bridge", "ifb"], "1")
    banner = "for container networks, written by the module cni.node.kernel. Changes to this file are overwritten.\n\n"
    assert node.modules_file.read_text() == f"# Kernel modules {banner}# m\nbridge\n\n# m\n# again\nifb\n"
    assert node.settings_file.read_text() == (
        f"# Kernel settings {banner}# s\nnet.ipv4.ip_forward = 1\n\n# s\nnet.core.somaxconn = 4096\n"
    )
    assert {path.stat().st_mode & 0o777 for path in (node.modules_file, node.settings_file)} == {0o644}


def test_check_mode_predicts_a_setting_that_a_module_creates(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(ipv4__ip_forward="0")
    node.kernel.has_on_disk("br_netfilter")
    node.kernel.brings("br_netfilter", "net/bridge/bridge-nf-call-iptables", "0")
    plan = node.ensure(BRIDGE)
    assert [(change.name, change.before, change.after, change.action) for change in plan.settings] == [
        (FORWARD, "0", "1", "set"),
        (BRIDGED, None, "1", "set"),
    ]
    assert node.kernel.setting("net/bridge/bridge-nf-call-iptables") == "1"
    node.ensure(Needs())
    assert node.kernel.setting("net/bridge/bridge-nf-call-iptables") == "0"


def test_a_setting_that_no_module_adds_is_an_error_before_any_setting_changes(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(ipv4__ip_forward="0")
    node.kernel.has_on_disk("br_netfilter")
    settings = KernelSettings(str(node.cache), node.paths)
    error = error_of(settings.apply, settings.plan(BRIDGE, persist=True))
    assert str(error) == (
        f"kernel setting {BRIDGED}: no loaded module has added it (b); "
        "modules that were loaded stay loaded; no setting was changed"
    )
    assert (node.kernel.setting("net/ipv4/ip_forward"), node.settings_file.exists()) == ("0", False)


def test_a_value_that_the_kernel_changes_is_rolled_back_and_loaded_modules_are_named(
    node: KernelSettingsFixture,
) -> None:
    node.kernel.has_settings(core__a="1", core__b="1")
    node.kernel.has_on_disk("veth")
    settings = KernelSettings(str(node.cache), node.paths)
    plan = settings.plan(needs("veth", net__core__a="2", net__core__b="2  3"), persist=True)
    error = error_of(lambda: settings.apply(plan))
    assert error.msg == "net.core.b: the kernel changed '2  3' to '2 3'"
    assert error.details == (
        "use the value as the kernel shows it; expected: an integer, such as the current value: 1; no setting was changed; "
        "modules that stay loaded: veth"
    )
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["1", "1"]


def test_drift_is_repaired_and_the_first_value_stays_saved(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(ipv4__ip_forward="0", core__a="5")
    required = needs(net__ipv4__ip_forward="1", net__core__a="6")
    node.ensure(required)
    node.kernel.has_settings(ipv4__ip_forward="2")
    node.settings_file.write_text("net.core.a = 7\n")
    node.settings_file.chmod(0o600)
    plan = node.ensure(required)
    assert actions(plan) == {FORWARD: "set", "net.core.a": "unchanged"}
    assert [change.action for change in plan.files] == ["unchanged", "changed"]
    node.settings_file.chmod(0o666)
    assert [change.action for change in node.ensure(required).files] == ["unchanged", "changed"]
    node.ensure(Needs())
    assert (node.kernel.setting("net/ipv4/ip_forward"), node.kernel.setting("net/core/a")) == ("0", "5")


def test_a_second_value_does_not_change_the_saved_one(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(core__a="5")
    node.ensure(needs(net__core__a="6"))
    node.ensure(needs(net__core__a="7"))
    node.ensure(Needs())
    assert node.kernel.setting("net/core/a") == "5"


def test_a_setting_equal_to_its_first_value_saves_nothing(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(core__a="5")
    node.ensure(needs(net__core__a="6"), persist=False)
    node.ensure(needs(net__core__a="5"), persist=False)
    assert not node.ensure(Needs(), persist=False).changed
    assert node.kernel.setting("net/core/a") == "5"
    assert node.files() == []


def test_a_setting_that_is_no_longer_required_is_restored(node: KernelSettingsFixture) -> None:
    node.kernel.has_on_disk("ifb")
    node.kernel.has_settings(core__a="5", core__b="5", core__c="6", core__d="")
    node.ensure(needs("ifb", net__core__a="6", net__core__b="6", net__core__c="6", net__core__d="6"))
    plan = node.ensure(needs(net__core__a="6"))
    assert actions(plan) == {"net.core.a": "unchanged", "net.core.b": "restored", "net.core.d": "restored"}
    assert [node.kernel.setting(f"net/core/{name}") for name in "abcd"] == ["6", "5", "6", ""]
    assert not node.modules_file.exists()
    assert node.kernel.loaded_modules() == ["ifb"]
    plan = node.ensure(Needs())
    assert [change.action for change in plan.files] == ["unchanged", "removed"]
    assert node.kernel.setting("net/core/a") == "5"
    assert node.files() == []


def test_a_setting_that_recorded_attachments_need_is_not_restored(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(ipv4__ip_forward="0", core__somaxconn="1")
    node.ensure(needs(net__ipv4__ip_forward="1", net__core__somaxconn="2"))
    bridge = {"type": "bridge", "isGateway": True, "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}
    config = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": [bridge]}).encode()
    store = RecordStore.of_records(str(node.cache))
    store.write(Record(Attachment("net", "blue", "eth0", "/run/netns/blue"), config))
    left = Needs()
    KernelSettings(str(node.cache), node.paths).add_needs_of_attachments(left)
    plan = node.ensure(left)
    assert actions(plan) == {FORWARD: "unchanged", "net.core.somaxconn": "restored"}
    assert "of attachments that exist" in node.settings_file.read_text()
    store.remove(("net", "blue", "eth0"))
    broken = node.cache / "results" / "net-red-eth0"
    broken.write_text("{")
    left = Needs()
    KernelSettings(str(node.cache), node.paths).add_needs_of_attachments(left)
    assert actions(node.ensure(left)) == {FORWARD: "unchanged"}
    broken.unlink()
    left = Needs()
    KernelSettings(str(node.cache), node.paths).add_needs_of_attachments(left)
    assert actions(node.ensure(left)) == {FORWARD: "restored"}


def test_a_setting_that_was_changed_since_stays(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(core__a="5", core__b="5")
    node.ensure(needs(net__core__a="6", net__core__b="6"))
    node.kernel.has_settings(core__a="9")
    node.kernel.path("proc/sys/net/core/b").unlink()
    plan = node.plan(Needs())
    assert actions(plan) == {"net.core.a": "left"}
    node.ensure(Needs())
    assert node.kernel.setting("net/core/a") == "9"
    assert node.files() == []


def test_without_persist_only_the_running_kernel_is_changed_and_restorable(node: KernelSettingsFixture) -> None:
    node.kernel.has_on_disk("ifb")
    node.kernel.has_settings(core__a="5")
    required = needs("ifb", net__core__a="6")
    node.ensure(required)
    plan = node.ensure(required, persist=False)
    assert [change.action for change in plan.files] == ["removed", "removed"]
    assert (node.kernel.loaded_modules(), node.kernel.setting("net/core/a")) == (["ifb"], "6")
    node.ensure(Needs(), persist=False)
    assert node.kernel.setting("net/core/a") == "5"


def test_all_errors_are_reported_at_once_before_any_change(node: KernelSettingsFixture) -> None:
    node.kernel.has_on_disk("ifb")
    node.kernel.has_settings(ipv4__ip_forward="0")
    required = needs("ifb", "ipvlan", "vrf", net__ipv4__ip_forward="1", net__ipv4__ip_forwrd="1")
    error = error_of(node.plan, required)
    assert (error.code, error.msg) == (
        Code.NOT_AVAILABLE,
        "the kernel does not meet 3 requirements; nothing was changed",
    )
    first, second, third = error.details.splitlines()
    assert first.startswith("kernel module ipvlan: the running kernel does not have it: ")
    assert first.endswith(" (m)")
    assert second.startswith("kernel module vrf: ")
    assert third == "kernel setting net.ipv4.ip_forwrd: the running kernel does not have it (s)"
    assert (node.kernel.loaded_modules(), node.kernel.setting("net/ipv4/ip_forward")) == ([], "0")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (0, "is not writable; in a container, set it on the host (s)"),
        (1000, ": Permission denied; this process does not run as root; a task on a node needs become: true (s)"),
    ],
)
def test_the_error_of_an_unwritable_setting_names_a_remedy(
    node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch, user: int, expected: str
) -> None:
    node.kernel.has_settings(ipv4__ip_forward="0")
    monkeypatch.setattr(sysctl, "is_writable", lambda key: False)
    monkeypatch.setattr("os.geteuid", lambda: user)
    error = error_of(node.plan, needs(net__ipv4__ip_forward="1"))
    assert error.msg.startswith(f"kernel setting {FORWARD}: ")
    assert error.msg.endswith(expected)


PORTS = "net.ipv4.ip_local_port_range"


@pytest.mark.parametrize(
    ("name", "now", "required", "expected"),
    [
        (FORWARD, "0", "yes", f"kernel setting {FORWARD}: 'yes' is not a number; expected: an integer, such as the current value: 0 (s)"),
        (PORTS, "32768\t60999", "all of them", "expected: integers, such as the current value: 32768 60999 (s)"),
    ],
)  # fmt: skip
def test_a_non_numeric_value_is_refused_before_any_change(
    node: KernelSettingsFixture, name: str, now: str, required: str, expected: str
) -> None:
    node.kernel.write(f"proc/sys/{name.replace('.', '/')}", now)
    error = error_of(lambda: node.plan(needs(**{name.replace(".", "__"): required})))
    assert error.code == Code.NOT_AVAILABLE
    assert error.msg.endswith(expected)
    assert error.details == "nothing was changed"


@pytest.mark.parametrize(
    ("name", "now", "required"),
    [
        ("kernel.hostname", "7", "node"),
        ("net.ipv4.tcp_congestion_control", "cubic", "reno"),
        ("net.ipv4.ip_local_reserved_ports", "8080", "8080-8090,x"),
        ("net.core.rps_default_mask", "0", "ff"),
    ],
)
def test_a_setting_that_may_have_words_is_left_to_the_kernel_to_judge(
    node: KernelSettingsFixture, name: str, now: str, required: str
) -> None:
    node.kernel.write(f"proc/sys/{name.replace('.', '/')}", now)
    assert actions(node.plan(needs(**{name.replace(".", "__"): required}))) == {name: "set"}


def test_conntrack_adds_settings_beside_existing_ones(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(netfilter__nf_hooks="0")
    required = needs(net__netfilter__nf_conntrack_max="5")
    assert "does not have it" in error_of(node.plan, required).msg
    node.kernel.has_on_disk("nf_conntrack")
    node.kernel.brings("nf_conntrack", "net/netfilter/nf_conntrack_max", "9")
    required.modules["nf_conntrack"] = ["m"]
    assert actions(node.ensure(required))["net.netfilter.nf_conntrack_max"] == "set"
    assert node.kernel.setting("net/netfilter/nf_conntrack_max") == "5"


def test_routing_is_set_first_because_the_kernel_resets_other_settings_with_it(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(ipv4__conf__all__x="0", ipv4__ip_forward="0", ipv6__conf__all__forwarding="0", core__a="0")
    required = needs(
        net__core__a="1", net__ipv4__conf__all__x="1", net__ipv4__ip_forward="1", net__ipv6__conf__all__forwarding="1"
    )
    order = [FORWARD, "net.ipv6.conf.all.forwarding", "net.core.a", "net.ipv4.conf.all.x"]
    assert [change.name for change in node.ensure(required).settings] == order
    lines = [line.split()[0] for line in node.settings_file.read_text().splitlines() if " = " in line]
    assert lines == order


REDIRECTS = "net.ipv4.conf.all.accept_redirects"
ALL_FORWARD = "net.ipv4.conf.all.forwarding"
ROUTES = {"net__ipv4__ip_forward": "1"}


@pytest.fixture
def routing(node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch) -> KernelSettingsFixture:
    """Behave as the kernel: a router accepts no redirects, and both names stand for one setting."""
    write = sysctl.write

    def reset(key: str, value: str) -> None:
        is_new = sysctl.read(key) != value
        write(key, value)
        if is_new and key in (FORWARD, ALL_FORWARD):
            node.kernel.has_settings(
                ipv4__ip_forward=value,
                ipv4__conf__all__forwarding=value,
                ipv4__conf__all__accept_redirects="0" if value == "1" else "1",
            )

    node.kernel.has_settings(
        ipv4__ip_forward="0", ipv4__conf__all__forwarding="0", ipv4__conf__all__accept_redirects="1"
    )
    monkeypatch.setattr(sysctl, "write", reset)
    return node


def values(*names: str) -> list[str | None]:
    return [sysctl.read(name) for name in names]


@pytest.mark.parametrize("redirects", ["0", "1"])
def test_a_setting_that_the_kernel_resets_is_written_again(routing: KernelSettingsFixture, redirects: str) -> None:
    routing.kernel.has_settings(ipv4__conf__all__accept_redirects=redirects)
    plan = routing.ensure(needs(net__ipv4__conf__all__accept_redirects=redirects, **ROUTES))
    assert actions(plan) == {FORWARD: "set", REDIRECTS: "unchanged"}
    assert values(FORWARD, REDIRECTS) == ["1", redirects]
    assert actions(routing.ensure(Needs())) == {FORWARD: "restored"}
    assert routing.files() == []


def test_a_foreign_value_stays_where_the_kernel_resets_it(routing: KernelSettingsFixture) -> None:
    routing.ensure(needs(net__ipv4__conf__all__accept_redirects="0"))
    routing.kernel.has_settings(ipv4__conf__all__accept_redirects="1")
    plan = routing.ensure(needs(**ROUTES))
    assert actions(plan) == {FORWARD: "set", REDIRECTS: "left"}
    assert values(FORWARD, REDIRECTS) == ["1", "1"]


def test_the_required_name_of_a_setting_wins_over_the_saved_one(routing: KernelSettingsFixture) -> None:
    routing.ensure(needs(net__ipv4__conf__all__forwarding="1"))
    routing.kernel.has_settings(ipv4__ip_forward="0", ipv4__conf__all__forwarding="0")
    assert actions(routing.ensure(needs(**ROUTES))) == {FORWARD: "set", ALL_FORWARD: "left"}
    assert values(FORWARD, ALL_FORWARD) == ["1", "1"]


def test_required_settings_hold_after_routing_is_restored(routing: KernelSettingsFixture) -> None:
    routing.ensure(needs(**ROUTES))
    plan = routing.ensure(needs(net__ipv4__conf__all__accept_redirects="0"))
    assert actions(plan) == {REDIRECTS: "unchanged", FORWARD: "restored"}
    assert values(FORWARD, REDIRECTS) == ["0", "0"]


@pytest.mark.parametrize("redirects", ["0", "1"])
def test_restored_settings_have_their_first_values(routing: KernelSettingsFixture, redirects: str) -> None:
    routing.kernel.has_settings(ipv4__conf__all__accept_redirects=redirects)
    other = "1" if redirects == "0" else "0"
    routing.ensure(needs(net__ipv4__conf__all__accept_redirects=other, **ROUTES))
    assert values(FORWARD, REDIRECTS) == ["1", other]
    routing.ensure(Needs())
    assert values(FORWARD, REDIRECTS) == ["0", redirects]


def test_the_required_name_of_a_setting_wins_over_its_restored_other_name(routing: KernelSettingsFixture) -> None:
    for asked in ("net__ipv4__conf__all__forwarding", "net__ipv4__ip_forward"):
        routing.ensure(Needs())
        other = {"net__ipv4__conf__all__forwarding", "net__ipv4__ip_forward"} - {asked}
        routing.ensure(needs(**dict.fromkeys(other, "1")))
        routing.ensure(needs(**{asked: "1"}))
        assert values(FORWARD, ALL_FORWARD) == ["1", "1"]


@pytest.mark.parametrize("redirects", ["0", "1"])
@pytest.mark.parametrize("asked", ["0", "1"])
def test_settings_that_the_kernel_resets_are_restored_when_it_refuses_a_value(
    routing: KernelSettingsFixture, redirects: str, asked: str
) -> None:
    routing.kernel.has_settings(ipv4__conf__all__accept_redirects=redirects, zone="1")
    settings = KernelSettings(str(routing.cache), routing.paths)
    required = needs(net__ipv4__conf__all__accept_redirects=asked, net__zone="2  3", **ROUTES)
    plan = settings.plan(required, persist=True)
    assert "; no setting was changed" in error_of(settings.apply, plan).details
    assert values(FORWARD, REDIRECTS, "net.zone") == ["0", redirects, "1"]


def test_a_setting_that_cannot_be_restored_is_named(
    routing: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    routing.kernel.has_settings(ipv4__conf__all__accept_redirects="1", zone="1")
    write = sysctl.write

    def refuse(key: str, value: str) -> None:
        if key == "net.zone" or (key, value) == (FORWARD, "0"):
            raise CniError(Code.IO_FAILURE, f"{key} cannot be {value}")
        write(key, value)

    monkeypatch.setattr(sysctl, "write", refuse)
    settings = KernelSettings(str(routing.cache), routing.paths)
    plan = settings.plan(needs(net__ipv4__conf__all__accept_redirects="1", net__zone="2", **ROUTES), persist=True)
    error = error_of(settings.apply, plan)
    assert error.msg == "net.zone cannot be 2"
    assert f"; could not be rolled back: {FORWARD}" in error.details
    assert values(FORWARD, REDIRECTS) == ["1", "1"]


@pytest.mark.parametrize("text", ["{", "[]", '{"settings": 5}', '{"settings": {"a": {"before": "1"}}}', "{}"])
def test_a_broken_file_of_saved_values_is_an_error(node: KernelSettingsFixture, text: str) -> None:
    path = node.cache / "cni.node" / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    assert str(path) in error_of(node.plan, Needs()).msg


def test_a_run_killed_after_saving_values_can_be_restored(
    node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.kernel.has_settings(core__a="1", core__b="1")
    write = sysctl.write

    def kill_at_b(key: str, value: str) -> None:
        if key.endswith("b"):
            raise KeyboardInterrupt
        write(key, value)

    settings = KernelSettings(str(node.cache), node.paths)
    plan = settings.plan(needs(net__core__a="2", net__core__b="2"), persist=True)
    monkeypatch.setattr(sysctl, "write", kill_at_b)
    with pytest.raises(KeyboardInterrupt):
        settings.apply(plan)
    monkeypatch.setattr(sysctl, "write", write)
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["2", "1"]
    node.ensure(Needs())
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["1", "1"]
    assert node.files() == []


@pytest.mark.parametrize("end", [KeyboardInterrupt(), CniError(Code.IO_FAILURE, "refused")])
def test_the_first_value_can_be_restored_after_a_second_was_refused(
    node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    node.kernel.has_settings(core__a="1")
    node.ensure(needs(net__core__a="2"))
    write = sysctl.write

    def end_run(key: str, value: str) -> None:
        raise end

    for value in ("3", "4"):
        settings = KernelSettings(str(node.cache), node.paths)
        monkeypatch.setattr(sysctl, "write", end_run)
        with pytest.raises(type(end)):
            settings.apply(settings.plan(needs(net__core__a=value), persist=True))
        monkeypatch.setattr(sysctl, "write", write)
    assert node.kernel.setting("net/core/a") == "2"
    assert actions(node.ensure(Needs())) == {"net.core.a": "restored"}
    assert node.kernel.setting("net/core/a") == "1"
    assert node.files() == []


def test_a_run_fails_while_another_holds_the_lock(node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    node.kernel.has_settings(core__a="1", core__b="1")
    monkeypatch.setattr(kernel_settings, "LOCK_TIMEOUT", 0.0)
    write, codes = sysctl.write, []

    def is_overtaken(key: str, value: str) -> None:
        monkeypatch.setattr(sysctl, "write", write)
        codes.append(error_of(lambda: node.ensure(needs(net__core__b="2"))).code)
        write(key, value)

    monkeypatch.setattr(sysctl, "write", is_overtaken)
    node.ensure(needs(net__core__a="2"))
    assert codes == [Code.TRY_AGAIN]
    node.ensure(needs(net__core__b="2"))
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["1", "2"]
    node.ensure(Needs())
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["1", "1"]
    assert not os.path.lexists(node.paths.kernel_lock)


def test_a_run_that_has_waited_uses_the_values_of_the_other(
    node: KernelSettingsFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.kernel.has_settings(core__a="1", core__b="1")

    def is_overtaken(*arguments: t.Any, **keywords: t.Any) -> t.ContextManager[None]:
        monkeypatch.setattr(kernel_settings, "hold_lock", hold_lock)
        node.ensure(needs(net__core__a="2"))
        return hold_lock(*arguments, **keywords)

    monkeypatch.setattr(kernel_settings, "hold_lock", is_overtaken)
    plan = KernelSettings(str(node.cache), node.paths).ensure(needs(net__core__b="2"), persist=True)
    assert actions(plan) == {"net.core.a": "restored", "net.core.b": "set"}
    node.ensure(Needs())
    assert [node.kernel.setting(f"net/core/{name}") for name in "ab"] == ["1", "1"]


def test_a_saved_value_of_a_foreign_setting_is_forgotten(node: KernelSettingsFixture) -> None:
    node.kernel.has_settings(core__a="1")
    node.ensure(needs(net__core__a="2"), persist=False)
    node.kernel.has_settings(core__a="3")
    assert not node.ensure(Needs(), persist=False).changed
    assert node.files() == []
