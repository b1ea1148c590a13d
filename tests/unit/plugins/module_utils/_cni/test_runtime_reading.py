# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the conf dir as container runtimes read them."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni import runtime_reading
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.tests.support.error_of import error_of

SINGLE = {"cniVersion": "1.0.0", "name": "n", "type": "a"}
LIST = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "a"}]}


def read(name: str, document: object, directory: t.Sequence[tuple[str, bytes]] = ()) -> NetworkConfiguration:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return runtime_reading.read(content, f"/net.d/{name}", lambda dummy: directory)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("10-n.conf", SINGLE),
        ("10-n.json", {**SINGLE, "cniVersion": "2.0.0"}),
        ("10-n.conf", {"NAME": "n", "Type": "a", "plugins": 7}),
        ("10-n.conf", b'{"name": "x", "name": "n", "type": "a"}'),
        ("10-n.conflist", {**LIST, "cniVersion": "9.9"}),
        ("10-n.conflist", {**LIST, "cniVersions": ["1.1.0", "8.0.0"], "disableGC": "TRUE"}),
        ("10-n.conflist", {**LIST, "plugins": [{"TYPE": "a"}]}),
        ("10-n.conflist", b'{"name": "n", "plugins": [{"type": "a", "note": "\xe9"}]}'),
    ],
)
def test_runtimes_read_what_this_engine_may_refuse(name: str, document: object) -> None:
    network = read(name, document)
    assert (network.name, network.plugin_types, network.source) == ("n", ("a",), f"/net.d/{name}")
    assert network.is_list is name.endswith(".conflist")


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("10-n.conf", LIST),
        ("10-n.json", LIST),
        ("10-n.conflist", SINGLE),
        ("10-n.conf", {**SINGLE, "name": ""}),
        ("10-n.conf", {**SINGLE, "ipam": []}),
        ("10-n.conf", {**SINGLE, "capabilities": {"ips": "yes"}}),
        ("10-n.conf", {**SINGLE, "cniVersion": 1}),
        ("10-n.conflist", {**LIST, "Name": "n", "name": None}),
        ("10-n.conflist", {**LIST, "cniVersion": None}),
        ("10-n.conflist", {**LIST, "cniVersions": None}),
        ("10-n.conflist", {**LIST, "cniVersions": ["one"]}),
        ("10-n.conflist", {**LIST, "disableCheck": "yes"}),
        ("10-n.conflist", {**LIST, "plugins": []}),
        ("10-n.conflist", {"name": "n", "loadOnlyInlinedPlugins": True}),
        ("10-n.conflist", {**LIST, "plugins": [{"type": ""}]}),
        ("10-n.conflist", b'{"name": "n", "plugins": [{"type": "a"}]} text'),
        ("10-n.conflist", b'{"name": "n", "plugins": [{"type": "a", "mtu": NaN}]}'),
        ("10-n.conflist", b"[]"),
        ("10-n.conflist", b""),
    ],
)
def test_runtimes_find_no_network_in_what_libcni_refuses(name: str, document: object) -> None:
    assert f"/net.d/{name}" in error_of(read, name, document).msg


def test_runtimes_append_the_plugins_of_the_plugin_directory() -> None:
    network = read(
        "10-n.conflist", {"name": "n"}, [("n/10-a.conf", b'{"type": "a"}'), ("n/20-b.conf", b'{"type": "b"}')]
    )
    assert [(plugin.index, plugin.type) for plugin in network.plugins] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("name", "is_list", "hint"),
    [
        ("10-n.conf", True, "rename it to 10-n.conflist"),
        ("10-n.json", True, "rename it to 10-n.conflist"),
        ("10-n.conflist.json", True, "rename it to 10-n.conflist"),
        ("10-n.conflist", False, "rename it to 10-n.conf"),
        ("10-n.yaml", True, "rename it to 10-n.conflist"),
        ("10-n.CONF", False, "rename it to 10-n.conf"),
        ("net", True, "rename it to net.conflist"),
        ("10-n.conflist", True, None),
        ("10-n.conf", False, None),
        ("10-n.json", False, None),
    ],
)
def test_the_name_of_a_file_decides_what_runtimes_read_in_it(name: str, is_list: bool, hint: str | None) -> None:
    fault = runtime_reading.find_misnamed(name, is_list=is_list)
    assert fault.hint.endswith(hint) if fault and hint else fault is None
    assert bool(fault) is bool(hint)
