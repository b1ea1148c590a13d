# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of plugins: what plugin directories hold, and what each plugin answers."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plugin_checks import PluginProbe
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.example_conflists import (
    bridge,
    network,
    ptp,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import (
    FILE,
    ExpectedFinding,
    expect,
)

Install = t.Callable[[ScriptedPlugins, str], object]


@dataclasses.dataclass(frozen=True)
class PluginCase:
    """A network, the plugins that are installed for it, by name, and the expected findings."""

    plugins: t.Mapping[str, Install]
    content: bytes
    expected: t.Sequence[ExpectedFinding] = ()

    def findings(self, path: pathlib.Path) -> list[Finding]:
        first, second = ScriptedPlugins(path / "first"), ScriptedPlugins(path / "second")
        for name, install in self.plugins.items():
            install(second, name)
        probe = PluginProbe(ProcessExecutor([str(first.path), str(second.path)], 60), tolerate_missing=False)
        return list(probe.check(config.parse(self.content, FILE)))


def supports(*versions: str) -> Install:
    return lambda directory, name: directory.write(name, versions=versions)


def answers(stdout: str = "", **keys: t.Any) -> Install:
    return lambda directory, name: directory.write(name, VERSION=ScriptedAnswer(stdout=stdout, **keys))


def file(content: bytes, mode: int = 0o755) -> Install:
    def install(directory: ScriptedPlugins, name: str) -> None:
        (directory.path / name).write_bytes(content)
        (directory.path / name).chmod(mode)

    return install


def link(target: str) -> Install:
    return lambda directory, name: (directory.path / name).symlink_to(target)


def case(
    plugins: t.Mapping[str, Install], *configured: JsonObject, expected: t.Sequence[ExpectedFinding] = (), **keys: str
) -> PluginCase:
    return PluginCase(plugins, network("net", *configured, **keys), expected)


def expect_missing(path: str, *words: str) -> list[ExpectedFinding]:
    return [expect("missing-plugin", path, *words)]


# By the versions that releases of the reference plugins speak.
V0_6 = supports("0.1.0", "0.2.0", "0.3.0", "0.3.1")
V0_9 = supports("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0")
V1_1 = supports("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0")
NEWEST = supports("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
USUAL: t.Final[t.Mapping[str, Install]] = {"bridge": V1_1, "host-local": V1_1}
LIST = bridge("10.1.0.0/16")
TYPE = "/plugins/0/type"
OF_VERSIONS = b'{"cniVersions": ["0.4.0", "1.1.0"], "name": "net", "plugins": [{"type": "a"}, {"type": "b"}]}'


def broken(install: Install, *words: str) -> PluginCase:
    return case({"lab": install}, {"type": "lab"}, expected=[expect("broken-plugin", TYPE, *words)])


BROKEN: t.Final[t.Mapping[str, t.Mapping[str, PluginCase]]] = {
    "missing-plugin": {
        "never installed": case(
            USUAL, LIST, {"type": "portmap"}, expected=expect_missing("/plugins/1/type", "'portmap' is not installed")
        ),
        "a misspelled one": case(
            USUAL, {**LIST, "type": "brige"}, expected=expect_missing(TYPE, "'brige' is not installed")
        ),
        "the IPAM plugin": case(
            {"ptp": V1_1}, ptp("10.1.0.0/16"), expected=expect_missing("/plugins/0/ipam/type", "'host-local'")
        ),
        "not executable": case(
            {"lab": file(b"", 0o644)}, {"type": "lab"}, expected=expect_missing(TYPE, "not executable", "0755")
        ),
        "a link to a release that is gone": case(
            {"lab": link("/opt/cni/releases/1.1.1/lab")},
            {"type": "lab"},
            expected=expect_missing(TYPE, "'lab' is not installed"),
        ),
        "a directory": case(
            {"lab": lambda directory, name: (directory.path / name).mkdir()},
            {"type": "lab"},
            expected=expect_missing(TYPE, "looked in"),
        ),
        "what flannel runs": case(
            {"flannel": V1_1},
            {"type": "flannel"},
            expected=[
                *expect_missing("/plugins/0/ipam", "'host-local'"),
                *expect_missing("/plugins/0/delegate/type", "'bridge'"),
            ],
        ),
        "what Multus runs": case(
            {**USUAL, "multus": V1_1},
            {"type": "multus", "delegates": [LIST, {"type": "calico"}]},
            expected=expect_missing("/plugins/0/delegates/1/type", "'calico'"),
        ),
        "of a single plugin's configuration": PluginCase(
            {}, b'{"cniVersion": "0.4.0", "name": "net", "type": "weave-net"}', expect_missing("/type", "'weave-net'")
        ),
    },
    "broken-plugin": {
        "for another processor": broken(
            file(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00"), "cannot be started", "built for this"
        ),
        "a download that was cut": broken(file(b"\x7fELF"), "cannot be started"),
        "an empty file": broken(file(b""), "cannot be started"),
        "a page in place of the download": broken(file(b"<!DOCTYPE html><title>Sign in</title>"), "cannot be started"),
        "a script without its interpreter": broken(file(b"#!/opt/python2/bin/python\n"), "cannot be started"),
        "one that crashes": broken(answers(signal=11), "lab failed (VERSION)", "SIGSEGV"),
        "one that fails": broken(answers("panic: no kubeconfig", exit=2), "lab failed (VERSION)"),
        "its own error": broken(
            answers('{"cniVersion": "1.0.0", "code": 7, "msg": "no kubeconfig"}', exit=1), "no kubeconfig"
        ),
        "no answer": broken(answers(""), "answer of plugin lab to VERSION"),
        "an answer that is not JSON": broken(answers("lab v1.2.3\n"), "answer of plugin lab to VERSION"),
        "an answer without versions": broken(
            answers('{"cniVersion": "1.0.0", "supportedVersions": []}'), "/supportedVersions", "a list of versions"
        ),
        "an IPAM plugin": case(
            {"bridge": V1_1, "host-local": file(b"")},
            LIST,
            expected=[expect("broken-plugin", "/plugins/0/ipam/type", "host-local")],
        ),
    },
    "incompatible-plugin": {
        "a distribution's old release": case(
            {"lab": V0_9},
            {"type": "lab"},
            expected=[expect("incompatible-plugin", TYPE, "0.4.0, but not 1.0.0", "install")],
        ),
        "a newer version than any plugin's": case(
            USUAL,
            LIST,
            expected=[
                expect("incompatible-plugin", TYPE, "bridge supports", "but not 1.1.0"),
                expect("incompatible-plugin", "/plugins/0/ipam/type", "host-local supports", "but not 1.1.0"),
            ],
            version="1.1.0",
        ),
        "an older version than a plugin's": case(
            {"lab": supports("1.0.0", "1.1.0")},
            {"type": "lab"},
            expected=[expect("incompatible-plugin", TYPE, "lab supports 1.0.0, 1.1.0, but not 0.3.1")],
            version="0.3.1",
        ),
        "one of the chain": case(
            {**USUAL, "portmap": V0_6},
            LIST,
            {"type": "portmap"},
            expected=[expect("incompatible-plugin", "/plugins/1/type", "portmap supports", "0.3.1, but not 1.0.0")],
        ),
        "the IPAM plugin": case(
            {"bridge": NEWEST, "host-local": V0_9},
            LIST,
            expected=[expect("incompatible-plugin", "/plugins/0/ipam/type", "host-local supports")],
        ),
        "one from before VERSION": case(
            {"lab": answers('{"cniVersion": "0.1.0", "code": 100, "msg": "unknown CNI_COMMAND: VERSION"}', exit=1)},
            {"type": "lab"},
            expected=[expect("incompatible-plugin", TYPE, "lab supports 0.1.0, but not 0.4.0")],
            version="0.4.0",
        ),
        "what Multus runs, by its own version": case(
            {"multus": V1_1, "lab": V0_9},
            {"type": "multus", "delegates": [{"cniVersion": "1.0.0", "type": "lab"}]},
            expected=[expect("incompatible-plugin", "/plugins/0/delegates/0/type", "but not 1.0.0")],
            version="0.4.0",
        ),
        "no version in common": PluginCase(
            {"a": supports("0.4.0"), "b": supports("1.1.0")},
            OF_VERSIONS,
            [expect("incompatible-plugin", "/cniVersions", "no version of 0.4.0, 1.1.0", "b supports 1.1.0")],
        ),
    },
}

FINE: t.Final[t.Mapping[str, t.Mapping[str, PluginCase]]] = {
    "missing-plugin": {
        "all of them, in the second directory": case({**USUAL, "portmap": V1_1}, LIST, {"type": "portmap"}),
        "a link to a release": case({"lab-1.2": V1_1, "lab": link("lab-1.2")}, {"type": "lab"}),
        "no addresses, so no IPAM plugin": case({"bridge": V1_1}, {"type": "bridge", "ipam": {}}),
        "flannel with another IPAM plugin": case(
            {"flannel": V1_1, "bridge": V1_1, "lab": V1_1}, {"type": "flannel", "ipam": {"type": "lab"}}
        ),
    },
    "broken-plugin": {
        "one that talks beside its answer": case(
            {"lab": answers('{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}', stderr="level=info\n")},
            {"type": "lab"},
        ),
        "one that reads nothing": case(
            {"lab": answers('{"supportedVersions": ["1.0.0"]}', read_stdin=False)}, {"type": "lab"}
        ),
        "one from before VERSION": case(
            {"lab": answers('{"code": 100, "msg": "unknown CNI_COMMAND: VERSION"}', exit=1)},
            {"type": "lab"},
            version="0.1.0",
        ),
        "one whose answer has no list yet": case(
            {"lab": answers('{"cniVersion": "0.2.0"}')}, {"type": "lab"}, version="0.2.0"
        ),
    },
    "incompatible-plugin": {
        "a version that nobody here knows yet": case({"lab": supports("1.0.0", "1.2.0", "2.0.0")}, {"type": "lab"}),
        "an old release, spoken to as such": case({"lab": V0_9}, {"type": "lab"}, version="0.4.0"),
        "one version in common": PluginCase({"a": supports("0.4.0"), "b": V0_9}, OF_VERSIONS),
        "Multus' own version, and that of what it runs": case(
            {"multus": supports("1.0.0"), "lab": V0_9},
            {"type": "multus", "delegates": [{"cniVersion": "0.4.0", "type": "lab"}]},
        ),
    },
}
