# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys and values of kernel settings."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._linux.toy_kernel import ToyKernel


@pytest.mark.parametrize(
    ("given", "key", "path"),
    [
        ("net.ipv4.ip_forward", "net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net/ipv4/ip_forward", "net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.eth0/100.forwarding", "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding"),
        ("net/ipv4/conf/eth0.100/forwarding", "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding"),
        (
            "net.bridge.bridge-nf-call-iptables",
            "net.bridge.bridge-nf-call-iptables",
            "net/bridge/bridge-nf-call-iptables",
        ),
    ],
)
def test_both_spellings_of_a_key_name_the_same_file(given: str, key: str, path: str) -> None:
    assert sysctl.canonical(given) == key
    assert sysctl.path_of(key) == f"/proc/sys/{path}"


PART = st.text("abcz09_-.", min_size=1).filter(lambda part: part not in (".", ".."))


@hypothesis.given(st.lists(PART, min_size=2))
def test_a_path_is_converted_to_its_key_and_back(parts: list[str]) -> None:
    path = "/".join(parts)
    hypothesis.assume("." not in parts[0])
    assert sysctl.path_of(sysctl.canonical(path)) == f"/proc/sys/{path}"


@hypothesis.given(st.text(max_size=40))
def test_no_key_names_a_file_outside_proc_sys(key: str) -> None:
    try:
        path = sysctl.path_of(sysctl.canonical(key))
    except CniError:
        return
    assert path.startswith("/proc/sys/")
    assert not {"", ".", ".."} & set(path.split("/")[1:])


@pytest.mark.parametrize(
    "key",
    ["", "net", "../x", "net/../kernel/x", "net..ipv4", "/net/ipv4/ip_forward", ".net.x", "net.ipv4.", "a/./b", "a.b c", "a.b\n",
     "net.*.x", "a.//.b"],
)  # fmt: skip
def test_an_invalid_key_is_refused(key: str) -> None:
    error = error_of(sysctl.canonical, key)
    assert (error.code, error.msg) == (Code.INVALID_CONFIG, f"{key!r} is not a kernel setting")


@pytest.mark.parametrize(
    ("given", "value"),
    [(1, "1"), ("1", "1"), (" 4096\t16384  4194304 ", "4096 16384 4194304"), (-1, "-1"), ("bbr", "bbr")],
)
def test_a_value_has_the_kernels_own_form(given: object, value: str) -> None:
    assert sysctl.normal(given) == value


@pytest.mark.parametrize("given", [True, None, 1.5, "", " ", "1\n2", "a\0", [1], {"a": 1}])
def test_an_invalid_value_is_refused(given: object) -> None:
    error = error_of(sysctl.normal, given)
    assert (error.code, error.msg) == (Code.INVALID_CONFIG, f"{given!r} is not a value of a kernel setting")


def test_a_setting_is_read_normalized_and_written_unchanged(kernel: ToyKernel) -> None:
    kernel.has_settings(ipv4__tcp_rmem="4096\t131072\t6291456")
    assert sysctl.read("net.ipv4.tcp_rmem") == "4096 131072 6291456"
    sysctl.write("net.ipv4.tcp_rmem", "1 2 3")
    assert kernel.setting("net/ipv4/tcp_rmem") == "1 2 3"


@pytest.mark.parametrize("key", ["net.ipv4.nothing", "net.ipv4", "net.ipv4.tcp_rmem.more"])
def test_a_missing_setting_has_no_value(kernel: ToyKernel, key: str) -> None:
    kernel.has_settings(ipv4__tcp_rmem="1")
    assert sysctl.read(key) is None
