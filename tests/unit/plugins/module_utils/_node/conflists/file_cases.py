# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of files that conflict with a network, and of temporary files that were left behind."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    network,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import (
    absent,
    present,
    single,
    text,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    Corpus,
    NodeCase,
    among,
    expect,
)

LOOPBACK = network("loopback", {"type": "loopback"})
MULTUS = network("multus-cni-network", {"type": "multus", "delegates": []})
YOUNG = 5


def shadow(name: str, content: bytes, *words: str) -> NodeCase:
    return among({name: content}, expected=[expect("shadowed-network", "/name", name, "define network net", *words)])


def first(name: str, network_name: str, content: bytes, priority: int = 10) -> NodeCase:
    expected = [
        expect("other-file-first", "/name", f"the network {network_name} for pods", "lower priority", file=name)
    ]
    return among({name: content}, present("net", priority=priority), expected=expected)


def broken(name: str, content: bytes | str, *words: str) -> NodeCase:
    return among({name: content}, expected=[expect("broken-file", "", *words, file=name)])


def refuse(name: str, content: bytes, *words: str) -> NodeCase:
    return among({name: content}, expected=[expect("refused-file", "", *words, file=name)])


def leftover(name: str, *words: str, content: bytes = b"", age: float = 3600) -> NodeCase:
    return among({name: content}, expected=[expect("leftover-file", "", *words, file=name)], age=age)


def set_aside(name: str, *words: str) -> NodeCase:
    text_of_all = ("renamed ", f"it is set aside as {name}: ", "rename it back", *words)
    return among({name: text("net")}, expected=[expect("set-aside-file", "", *text_of_all, file=name)])


BROKEN: t.Final[Corpus] = {
    "shadowed-network": {
        "by a higher priority's file": shadow("20-net.conflist", text("net"), "runtimes use the first file; remove"),
        "by a lower one's": shadow("05-net.conflist", text("net"), "05-net.conflist and"),
        "a single plugin's file": shadow("20-net.conf", single("net"), "runtimes use the first file; remove"),
        "a single plugin's file that comes first for some": shadow(
            "00-net.conf", single("net"), "first file, but containerd and CRI-O use"
        ),
        "with the ending .json": shadow("50-net.json", single("net"), "rename one of the networks"),
        "podman's, of the same name": among(
            {"87-podman.conflist": text("podman")},
            present("podman"),
            expected=[expect("shadowed-network", "/name", "define network podman", file="10-podman.conflist")],
        ),
        "by two": among(
            {"20-net.conflist": text("net"), "30-net.conflist": text("net")},
            expected=[
                expect(
                    "shadowed-network", "/name", "10-net.conflist, ", "20-net.conflist and ", "30-net.conflist define"
                )
            ],
        ),
        "of the same subnet, which is not a second finding": among(
            {"20-net.conflist": network("net", bridge("10.1.0.0/16", "cni1"))},
            present("net", network("net", bridge("10.1.0.0/16"))),
            expected=[expect("shadowed-network", "/name", "20-net.conflist")],
        ),
        "two networks, each by its own": among(
            {"60-a.conflist": text("a"), "60-b.conflist": text("b")},
            present("a"),
            present("b"),
            expected=[
                expect("shadowed-network", "/name", "60-a.conflist", file="10-a.conflist"),
                expect("shadowed-network", "/name", "60-b.conflist", file="10-b.conflist"),
            ],
        ),
    },
    "other-file-first": {
        "Cilium's": first("05-cilium.conflist", "cilium", text("cilium")),
        "Calico's, by its letter": first("10-calico.conflist", "k8s-pod-network", text("k8s-pod-network")),
        "flannel's, by its letter": first("10-flannel.conflist", "cbr0", text("cbr0")),
        "CRI-O's, by the order of letters": first("100-crio-bridge.conflist", "crio", text("crio"), 11),
        "podman's": first("87-podman.conflist", "podman", text("podman"), 90),
        "behind one that is to be gone": among(
            {"00-old.conflist": text("old"), "05-cilium.conflist": text("cilium")},
            present("net"),
            absent("old"),
            expected=[expect("other-file-first", "/name", "the network cilium", file="05-cilium.conflist")],
        ),
        "a single plugin's": first("00-bridge.conf", "bridge", single("bridge")),
        "with the ending .json": first("01-bridge.json", "bridge", single("bridge")),
        "the loopback only": first("200-loopback.conflist", "loopback", LOOPBACK, 99),
    },
    "broken-file": {
        "half written": broken("20-lab.conflist", text("lab")[:-9], "the file is not valid JSON", "fix or remove it"),
        "empty, and the first": broken("00-lab.conflist", b"", "containerd: pods have no network"),
        "YAML": broken("20-lab.conf", b"name: lab\ntype: bridge\n", "fix or remove it"),
        "a comment in it": broken("20-lab.conflist", b"// podman\n" + text("lab"), "fix or remove it"),
        "without a name": broken("20-lab.conflist", b'{"cniVersion": "1.0.0", "plugins": [{"type": "a"}]}', "/name"),
        "without plugins": broken(
            "20-lab.conflist", b'{"cniVersion": "1.0.0", "name": "lab", "plugins": []}', "/plugins"
        ),
        "a plugin without a type": broken(
            "20-lab.conflist", network("lab", {"bridge": "cni0"}), "/plugins/0: the plugin has no 'type'"
        ),
        "a list in a file for a single plugin": broken(
            "20-lab.conf", text("lab"), "do not load a list", "rename it to 20-lab.conflist", "or remove it"
        ),
        "the same, and the first": broken("00-lab.json", text("lab"), "containerd: pods have no network"),
        "a single plugin in a file for a list": broken(
            "20-lab.conflist", single("lab"), "has to have a list", "rename it to 20-lab.conf"
        ),
        "with the ending of YAML": broken("20-lab.yaml", text("lab"), "no file with such a name", "20-lab.conflist"),
        "without an ending": broken("lab", single("lab"), "no file with such a name", "rename it to lab.conf"),
        "with an ending in capitals": broken("20-lab.CONFLIST", text("lab"), "rename it to 20-lab.conflist"),
        "a link to nothing": broken(
            "10-lab.conflist", "/opt/cni/conf/gone.conflist", "no longer exists", "containerd: pods have no network"
        ),
    },
    "refused-file": {
        "a version that there is not": refuse(
            "20-lab.conflist", network("lab", {"type": "a"}, version="2.0.0"), "unknown version '2.0.0'"
        ),
        "in Latin-1": refuse("20-lab.conflist", text("lab").replace(b'"a"', b'"\xe9"'), "is not UTF-8"),
        "a key twice": refuse(
            "20-lab.conflist", text("lab").replace(b'"name"', b'"name": "x", "name"'), "containerd and CRI-O read"
        ),
        "a name that is none": refuse("20-lab.conflist", text("my lab"), "'my lab' is not a network name"),
        "a type that is a path": refuse("20-lab.conf", single("lab").replace(b'"a"', b'"/bin/a"'), "not a plugin type"),
        "a type in another case": refuse("20-lab.conflist", network("lab", {"Type": "a"}), "has no 'type'"),
        "a single plugin, and twice a key": refuse(
            "20-lab.json", single("lab").replace(b'"name"', b'"name": "x", "name"'), "this collection does not"
        ),
        "the first one of a single plugin since 1.0.0": among(
            {"00-lab.conf": single("lab").replace(b"0.4.0", b"1.0.0")},
            expected=[
                expect("single-plugin", "/type", "container runtimes read it", "as a list", file="00-lab.conf"),
                expect("other-file-first", "/name", "containerd and CRI-O use the network lab", file="00-lab.conf"),
            ],
        ),
        "the same network": among(
            {"20-net.conf": single("net").replace(b"0.4.0", b"1.1.0")},
            expected=[
                expect("single-plugin", "/type", "at version 1.1.0", file="20-net.conf"),
                expect("shadowed-network", "/name", "20-net.conf define network net"),
            ],
        ),
    },
    "leftover-file": {
        "a copy of Ansible's, that runtimes read": leftover(
            ".ansible_tmpq1w2e3r410-net.conflist", "runtimes read this file before all others", content=text("net")
        ),
        "hidden, that runtimes read": leftover(".10-old.conf", "although its name begins with a dot", age=YOUNG),
        "ours": leftover(".cni.node-8f3b.tmp", "interrupted run of this collection", "cni.node.gc"),
        "dpkg's": leftover("87-podman.conflist.dpkg-new", "interrupted run of another program"),
        "of an installer": leftover("10-calico.conflist.tmp", "interrupted run of another program"),
        "of a download": leftover("10-flannel.conflist.part", "interrupted run of another program"),
        "of an editor": leftover(
            ".10-net.conflist.swp", "interrupted run of another program", "text in it that was not saved"
        ),
        "just old enough": leftover("00-multus.conf.new", "interrupted run of another program", age=90),
    },
    "set-aside-file": {
        "Cilium's": set_aside("10-net.conflist.cilium_bak", "set cni.exclusive to false in Cilium"),
        "of a package manager": set_aside("10-net.conflist.rpmsave"),
        "of another one": set_aside("10-net.conflist.dpkg-old"),
        "of a person": set_aside("10-net.conflist.disabled"),
        "of an administrator": set_aside("10-net.conflist.off"),
    },
}

FINE: t.Final[Corpus] = {
    "shadowed-network": {
        "another network of the same plugins": among({"20-lab.conflist": text("lab")}),
        "a file that is to be gone": among(
            {"20-net.conflist": text("net")}, present("net"), absent(filename="20-net.conflist")
        ),
        "the network's file under its old priority": among({}, present("net"), ours=[present("net", priority=20)]),
        "a copy under another ending": among({"20-net.conflist.bak": text("net"), "20-net.conflist~": text("net")}),
        "the file that is replaced": among({"10-net.conflist": text("net")}),
    },
    "other-file-first": {
        "Multus, which runs the others": among({"00-multus.conflist": MULTUS}),
        "Multus' newer plugin": among({"00-multus.conflist": MULTUS.replace(b'"multus"', b'"multus-shim"')}),
        "one that this collection has written": among({}, ours=[present("first", priority=5)]),
        "CRI-O's, by the order of letters": among(
            {"100-crio-bridge.conflist": text("crio"), "200-loopback.conflist": LOOPBACK}
        ),
        "podman's, behind ours": among({"87-podman.conflist": text("podman")}),
        "one that is to be gone": among({"05-cilium.conflist": text("cilium")}, present("net"), absent("cilium")),
        "no desired network": among({"05-cilium.conflist": text("cilium")}, absent("lab")),
        "another file of the task is before it": among(
            {"05-cilium.conflist": text("cilium")}, present("net", priority=1)
        ),
    },
    "broken-file": {
        "what is not a network": among({"calico-kubeconfig": b"apiVersion: v1\n", "README": b"", "multus.d": None}),
        "a directory with such a name": among({"lab.conflist": None}),
        "set aside by Cilium": among({"10-flannel.conflist.cilium_bak": b"{"}),
        "to be written anew": among({"10-net.conflist": b"{"}),
        "to be removed": among({"20-lab.conf": b"{"}, present("net"), absent(filename="20-lab.conf")),
        "a link to a right one": among({"20-lab.conflist": "lab.json.orig", "lab.json.orig": text("lab")}),
        "another program's configuration": among(
            {"multus.yaml": b'{"cniVersion": "1.0.0"}', "nerdctl": b'{"type": "a"}'}
        ),
        "hidden": among({".lab": text("lab")}),
    },
    "refused-file": {
        "an old single plugin": among({"20-lab.conf": single("lab")}),
        "a key in another case that plugins read": among({"20-lab.conflist": network("lab", {"type": "a", "MTU": 1})}),
        "to be removed": among(
            {"20-lab.conf": single("lab").replace(b"0.4.0", b"1.0.0")}, present("net"), absent(filename="20-lab.conf")
        ),
        "to be removed by the network's name": among(
            {"20-lab.conf": single("lab").replace(b"0.4.0", b"1.0.0")}, present("net"), absent("lab")
        ),
    },
    "set-aside-file": {
        "a copy beside the file": among({"10-net.conflist": text("net"), "10-net.conflist.bak": text("net")}),
        "of another file": among({"20-net.conflist.bak": text("net")}),
    },
    "leftover-file": {
        "somebody may be writing it": among({"10-calico.conflist.tmp": b"", ".cni.node-8f3b.tmp": b""}, age=YOUNG),
        "what packages set aside for people to compare": among(
            dict.fromkeys(
                (f"87-podman.conflist.{ending}" for ending in ("rpmnew", "rpmsave", "dpkg-dist", "dpkg-old")), b""
            )
        ),
        "backups": among({"10-net.conflist~": b"", "10-a.conflist.1234.2026-11-21@15:00:00~": b"", "a.conf.bak": b""}),
        "hidden, and nobody reads it": among({".gitignore": b"", ".directory": b""}),
        "a directory": among({"10-net.conflist.tmp": None, ".10-net.conflist": None}),
        "temporary, and of something else": among({"kubeconfig.tmp": b"", "whereabouts.yaml.swp": b""}),
    },
}
