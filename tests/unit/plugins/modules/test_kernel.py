# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module kernel: its arguments, what it returns, and what it refuses."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements, traffic_control
from ansible_collections.cni.node.plugins.module_utils._node.kernel import settings as kernel_settings
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.toy_kernel import ToyKernel
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner, outcome

Ensure = t.Callable[..., ModuleExit]

FORWARD = "net.ipv4.ip_forward"
CONFIG: JsonObject = {
    "cniVersion": "1.0.0",
    "name": "net",
    "plugins": [
        {"type": "ptp", "ipMasq": True, "ipMasqBackend": "nftables", "ipam": {"type": "x", "subnet": "10.0.0.0/8"}}
    ],
}
MODULES = ["nf_conntrack", "nf_nat", "nf_tables", "nft_chain_nat", "nft_masq", "veth"]


@pytest.fixture
def ensure(kernel: ToyKernel, run: ModuleRunner, tmp_path: pathlib.Path) -> Ensure:
    kernel.has_settings(ipv4__ip_forward="0")
    for name in MODULES:
        kernel.has_on_disk(name)
    return lambda **options: run("kernel", cache_dir=str(tmp_path / "cache"), **options)


def test_a_run_matches_its_prediction_and_absent_restores_everything(
    kernel: ToyKernel, run: ModuleRunner, ensure: Ensure
) -> None:
    items = [{"config": CONFIG}, {"name": "gone", "state": "absent"}]
    predicted = ensure(conflists=items, check_mode=True).ok()
    assert predicted["msg"].startswith(
        "6 modules would be loaded, 1 setting would be changed, 2 files would be changed"
    )
    assert kernel.loaded_modules() == []
    done = ensure(conflists=items).ok()
    assert outcome(predicted) == outcome(done)
    assert done["msg"] == "6 modules loaded, 1 setting changed, 2 files changed"
    assert [(entry["name"], entry["action"]) for entry in done["modules"]] == [(name, "loaded") for name in MODULES]
    reasons = [
        "network net, plugins[0] ptp: the node routes between containers and networks",
        "network net, plugins[0] ptp: ipMasq with nftables",
    ]
    assert done["sysctls"] == [{"name": FORWARD, "before": "0", "after": "1", "action": "set", "reasons": reasons}]
    assert done["commands"] == [{"name": "nft", "path": None, "reasons": reasons[1:]}]
    kernel_diff, modules_diff, settings_diff = done["diff"]
    assert kernel_diff == {
        "before": {"modules": [], "sysctls": {FORWARD: "0"}},
        "after": {"modules": MODULES, "sysctls": {FORWARD: "1"}},
    }
    assert modules_diff["after_header"] == run.paths.modules_file
    assert f"{FORWARD} = 1\n" in settings_diff["after"]
    again = ensure(conflists=items).ok()
    assert (again["changed"], again["diff"]) == (False, [])
    removed = ensure(conflists=items, state="absent").ok()
    assert (removed["changed"], removed["modules"], removed["commands"]) == (True, [], [])
    assert removed["sysctls"] == [{"name": FORWARD, "before": "1", "after": "0", "action": "restored", "reasons": []}]
    assert kernel.setting("net/ipv4/ip_forward") == "0"
    assert ensure(state="absent").ok()["changed"] is False


def test_a_missing_program_is_named_with_the_plugin_that_needs_it(kernel: ToyKernel, ensure: Ensure) -> None:
    path = kernel.write("sbin/nft", "")
    path.chmod(0o755)
    (command,) = ensure(conflists=[{"content": json.dumps(CONFIG)}]).ok()["commands"]
    assert command["path"] == str(path)


def test_a_missing_library_is_named_where_rates_are_limited(
    kernel: ToyKernel, ensure: Ensure, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = {**CONFIG, "plugins": [*CONFIG["plugins"], {"type": "bandwidth"}]}
    for has_library, config, missing in ((False, limited, ["pyroute2"]), (False, CONFIG, []), (True, limited, [])):
        monkeypatch.setattr(traffic_control, "is_available", lambda has_library=has_library: has_library)
        assert ensure(conflists=[{"config": config}]).ok()["missing_libraries"] == missing


def test_given_and_derived_settings_are_merged(ensure: Ensure) -> None:
    done = ensure(conflists=[{"config": CONFIG}], modules=["veth"], sysctls={"net/ipv4/ip_forward": "1"}).ok()
    assert [entry["reasons"][-1] for entry in done["modules"] if entry["name"] == "veth"] == ["given in modules"]
    assert [entry["reasons"][-1] for entry in done["sysctls"]] == ["given in sysctls"]


def test_a_link_that_loses_its_default_route_by_ipv6_forwarding_is_named(
    kernel: ToyKernel, ensure: Ensure, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.has_settings(ipv6__conf__all__forwarding="0", ipv6__conf__up0__accept_ra="1")
    monkeypatch.setattr(router_advertisements, "find_dependent_links", lambda: ["up0"])
    accepting, forwarding = "net.ipv6.conf.up0.accept_ra", "net.ipv6.conf.all.forwarding"
    (warning,) = ensure(sysctls={forwarding: 1}, check_mode=True).warnings
    assert warning == (
        "with IPv6 forwarding, the kernel drops the default route of up0 and ignores its router advertisements"
        f" (given in sysctls); to keep it, add {accepting}: 2 to sysctls"
    )
    assert ensure(sysctls={forwarding: 1}).warnings == [warning]
    assert kernel.setting("net/ipv6/conf/up0/accept_ra") == "1"
    for options in ({}, {"sysctls": {forwarding: 0}}, {"sysctls": {forwarding: 1, accepting: 2}}, {"state": "absent"}):
        assert ensure(**options).warnings == []


REFUSED: dict[str, tuple[JsonObject, tuple[str, ...]]] = {
    "a name of a module": ({"modules": ["veth", "a/b"]}, ("modules[1]: 'a/b' is not a kernel module name",)),
    "a key": ({"sysctls": {"../x": 1}}, ("'../x' is not a kernel setting; expected: a name below /proc/sys",)),
    "a value": ({"sysctls": {FORWARD: True}}, (f"{FORWARD}: True is not a value of a kernel setting",)),
    "a network": (
        {"conflists": [{"config": CONFIG}, {"content": "{"}]},
        ("conflists[1] is not valid JSON: line 1, column 2",),
    ),
    "a template": ({"conflists": [{"template": "x.j2"}]}, ("conflists[0]: the template was not rendered",)),
    "two spellings": (
        {"sysctls": {FORWARD: 1, "net/ipv4/ip_forward": 0}},
        (f"sysctls: conflicting values for {FORWARD}: '0' and '1' (given in sysctls)",),
    ),
    "two names": (
        {"sysctls": {FORWARD: 1, "net.ipv4.conf.all.forwarding": 0}},
        (f"net.ipv4.conf.all.forwarding: sysctls: conflicting values for {FORWARD}: '0' and '1' (given in sysctls)",),
    ),
    "a setting against a network": (
        {"sysctls": {FORWARD: 0}, "conflists": [{"config": CONFIG}]},
        (f"sysctls: conflicting values for {FORWARD}: '0' and '1' (network net, plugins[0] ptp: the node routes between containers and networks",),
    ),
    "several": (
        {"modules": ["a/b"], "sysctls": {"x": 1}, "conflists": [{"content": ""}]},
        ("3 invalid values", "conflists[0] is not valid JSON", "modules[0]: ", "'x' is not a kernel setting"),
    ),
    "what the kernel lacks": ({"modules": ["ipvlan"]}, ("kernel module ipvlan: the running kernel does not have it", "(given in modules)")),
}  # fmt: skip


@pytest.mark.parametrize(("options", "fragments"), REFUSED.values(), ids=REFUSED)
def test_invalid_arguments_are_refused_before_any_change(
    kernel: ToyKernel, ensure: Ensure, options: JsonObject, fragments: tuple[str, ...], tmp_path: pathlib.Path
) -> None:
    message = ensure(**options).require_refusal()
    for fragment in fragments:
        assert fragment in message
    assert (kernel.loaded_modules(), kernel.setting("net/ipv4/ip_forward")) == ([], "0")
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "run").exists()


def test_absent_ignores_all_other_options(ensure: Ensure) -> None:
    assert (
        ensure(state="absent", modules=["a/b"], sysctls={"x": 1}, conflists=[{"content": "{"}]).ok()["changed"] is False
    )


def test_a_changing_run_waits_for_the_lock(
    kernel: ToyKernel, run: ModuleRunner, ensure: Ensure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_settings, "LOCK_TIMEOUT", 0.1)
    with hold_lock(run.paths.kernel_lock, exclusive=True, timeout=0, what="all"):
        message = ensure(sysctls={FORWARD: 1}).require_refusal()
        assert message.startswith("the kernel configuration is in use by another process; waited 0.1 s")
        assert ensure(sysctls={FORWARD: 1}, check_mode=True).ok()["changed"] is True
        assert ensure(state="absent").ok()["changed"] is False
    assert kernel.setting("net/ipv4/ip_forward") == "0"
    ensure(sysctls={FORWARD: 1}).ok()
    assert kernel.setting("net/ipv4/ip_forward") == "1"


def test_check_mode_creates_no_lock_file(ensure: Ensure, tmp_path: pathlib.Path) -> None:
    ensure(sysctls={FORWARD: 1}, check_mode=True).ok()
    assert not (tmp_path / "run").exists()


def test_settings_that_a_runtime_needs_are_added_with_the_reason(kernel: ToyKernel, ensure: Ensure) -> None:
    kernel.has_on_disk("overlay")
    done = ensure(runtime="kubelet", check_mode=True).ok()
    reasons = ["needed by kubelet with containerd"]
    assert done["modules"] == [{"name": "overlay", "action": "loaded", "reasons": reasons}]
    assert [(entry["name"], entry["after"], entry["reasons"]) for entry in done["sysctls"]] == [(FORWARD, "1", reasons)]


def test_a_runtime_that_sets_the_kernel_itself_adds_nothing(ensure: Ensure) -> None:
    done = ensure(runtime="k3s").ok()
    assert (done["changed"], done["modules"], done["sysctls"]) == (False, [], [])


def test_a_setting_against_the_runtime_is_refused(kernel: ToyKernel, ensure: Ensure) -> None:
    kernel.has_on_disk("overlay")
    refused = ensure(runtime="kubelet", sysctls={FORWARD: 0}).require_refusal()
    assert f"conflicting values for {FORWARD}: '0' and '1' (needed by kubelet with containerd)" in refused
