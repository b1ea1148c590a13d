# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a kernel module, and the reasons why it is unavailable."""

from __future__ import annotations

import gzip
import os

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module
from ansible_collections.cni.node.plugins.module_utils._linux.kernel_module import State
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.toy_kernel import ToyKernel


def test_a_loaded_module_differs_from_a_built_in_one(kernel: ToyKernel) -> None:
    kernel.write("sys/module/bridge/initstate", "live\n")
    kernel.write("sys/module/ipv6/parameters/disable", "0\n")
    assert kernel_module.state("bridge") is State.PRESENT
    assert kernel_module.state("ipv6") is State.BUILT_IN
    assert kernel.calls() == []


def test_a_built_in_module_absent_from_sys_is_listed(kernel: ToyKernel) -> None:
    kernel.has_built_in("veth", "sch-tbf")
    assert {kernel_module.state(name) for name in ("veth", "sch_tbf")} == {State.BUILT_IN}
    assert kernel.calls() == []


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("veth", "VETH"),
        ("8021q", "VLAN_8021Q"),
        ("vrf", "NET_VRF"),
        ("br_netfilter", "BRIDGE_NETFILTER"),
        ("sch_tbf", "NET_SCH_TBF"),
        ("act_mirred", "NET_ACT_MIRRED"),
        ("cls_u32", "NET_CLS_U32"),
        ("xt_comment", "NETFILTER_XT_MATCH_COMMENT"),
        ("xt_mark", "NETFILTER_XT_MARK"),
        ("xt_nat", "NETFILTER_XT_NAT"),
        ("xt_MASQUERADE", "NETFILTER_XT_TARGET_MASQUERADE"),
        ("nft_chain_nat", "NFT_NAT"),
    ],
)
def test_a_kernel_without_modules_is_checked_by_its_configuration(kernel: ToyKernel, name: str, option: str) -> None:
    kernel.has_no_list()
    kernel.path("proc/modules").unlink()
    packed = kernel.path("proc/config.gz")
    packed.write_bytes(gzip.compress(f"# Linux\nCONFIG_{option}=y\n# CONFIG_X is not set\n".encode()))
    assert kernel_module.state(name) is State.BUILT_IN
    kernel.forget()
    packed.write_bytes(
        gzip.compress(f"\n# CONFIG_{option} is not set\nCONFIG_{option}_MORE=y\nX=CONFIG_{option}=y".encode())
    )
    error = error_of(kernel_module.state, name)
    assert (error.code, error.msg) == (
        Code.NOT_AVAILABLE,
        "the running kernel does not have it and does not support loadable modules",
    )


def test_the_configuration_may_lie_in_boot_and_a_module_of_it_is_not_built_in(kernel: ToyKernel) -> None:
    kernel.has_no_list()
    kernel.write(f"boot/config-{os.uname().release}", "\nCONFIG_VETH=y\nCONFIG_DUMMY=m\n")
    assert kernel_module.state("veth") is State.BUILT_IN
    assert "boot the installed kernel" in error_of(kernel_module.state, "dummy").msg


def test_a_module_on_disk_is_loadable(kernel: ToyKernel) -> None:
    kernel.has_on_disk("ifb")
    assert kernel_module.state("ifb") is State.LOADABLE
    assert kernel.loaded_modules() == []
    kernel_module.load(["ifb"])
    assert kernel_module.state("ifb") is State.PRESENT
    assert kernel.calls() == ["-D ifb", "-a ifb"]


def test_an_alias_is_resolved_to_its_module(kernel: ToyKernel) -> None:
    kernel.has_on_disk("ipt_MASQUERADE", "insmod /lib/modules/x_tables.ko.xz\ninsmod /lib/modules/xt-MASQUERADE.ko.xz")
    assert kernel_module.state("ipt_MASQUERADE") is State.LOADABLE
    kernel.write("sys/module/xt_MASQUERADE/initstate", "live\n")
    assert kernel_module.state("ipt_MASQUERADE") is State.PRESENT
    kernel.has_on_disk("old_name", "builtin new_name")
    assert kernel_module.state("old_name") is State.BUILT_IN


def test_the_error_names_the_obstacle(kernel: ToyKernel) -> None:
    missing = error_of(kernel_module.state, "nowhere").msg
    assert missing.startswith("the running kernel does not have it: modprobe: FATAL: Module nowhere not found")
    assert "kernel-modules-extra" in missing
    kernel.has_on_disk("dummy", "install /bin/false --ignore")
    assert "configuration forbids it: install /bin/false --ignore" in error_of(kernel_module.state, "dummy").msg
    kernel.has_on_disk("ifb")
    kernel.write("proc/sys/kernel/modules_disabled", "1\n")
    assert "modules_disabled" in error_of(kernel_module.state, "ifb").msg
    kernel.path("sbin/modprobe").unlink()
    assert "modprobe is missing" in error_of(kernel_module.state, "ifb").msg


@pytest.mark.parametrize("capabilities", ["0000000000000000", "00000000a80425fb", "000001fffffeffff"])
def test_an_error_without_the_right_to_load_modules_names_the_right(kernel: ToyKernel, capabilities: str) -> None:
    kernel.has_on_disk("ifb")
    kernel.write("proc/self/status", f"Name:\tx\nCapEff:\t{capabilities}\n")
    kernel.write("sys/module/bridge/initstate", "live\n")
    assert kernel_module.state("bridge") is State.PRESENT
    error = error_of(kernel_module.state, "ifb")
    assert error.msg.endswith("may not load modules (CAP_SYS_MODULE): in a container, load it on the host")


def test_the_error_of_a_failed_load_has_modprobes_output(kernel: ToyKernel) -> None:
    kernel.has_on_disk("ifb")
    error = error_of(kernel_module.load, ["ifb", "gone"])
    assert error.msg == "modprobe -a ifb gone failed"
    assert error.details.startswith("modprobe: FATAL: Module gone not found")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "-r --force", "a b", "é", "a\n", "x;y"])
def test_an_invalid_name_is_refused(name: str) -> None:
    error = error_of(kernel_module.canonical, name)
    assert error.code == Code.INVALID_CONFIG


def test_a_module_name_is_normalized_as_in_the_kernel() -> None:
    assert [kernel_module.canonical(name) for name in ("br-netfilter", "xt_MASQUERADE", "8021q")] == [
        "br_netfilter",
        "xt_MASQUERADE",
        "8021q",
    ]
