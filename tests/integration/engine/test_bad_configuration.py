# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid network configurations: the error has the file, the place in it and the expected value."""

from __future__ import annotations

import json
import os
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

GOOD = reference_networks.network(reference_networks.bridge())
TEXT = json.dumps(GOOD, indent=2)
DEFECTIVE = "is not valid JSON: "


def _with(**keys: t.Any) -> str:
    return json.dumps({**GOOD, **keys})


def _plugin(**keys: t.Any) -> str:
    return _with(plugins=[reference_networks.bridge(), {"type": "tuning", **keys}])


# The text of a file and fragments of the error.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "malformed": ('{\n  "name": "net",\n  oops\n}', (f"{DEFECTIVE}line 3, column 3: expecting property name",)),
    "truncated": (TEXT[: len(TEXT) // 2], (f"{DEFECTIVE}line ", "(the text ends there)", "may be truncated")),
    "truncated in a string": (TEXT[: TEXT.index("bridge") + 3], (f"{DEFECTIVE}line ", "may be truncated")),
    "empty": ("", (f"{DEFECTIVE}it is empty",)),
    "blank": (" \n\n", (f"{DEFECTIVE}it is empty",)),
    "two objects": (TEXT + TEXT, (f"{DEFECTIVE}line ", "extra data")),
    "comment": ('{\n  // the name\n  "name": "net"}', ("line 2, column 3", "JSON has no comments")),
    "byte order mark": ("\ufeff" + TEXT, ("save the file without a byte order mark",)),
    "not a number": (TEXT.replace("true", "NaN"), (f"{DEFECTIVE}NaN is not a JSON number",)),
    "number out of range": (TEXT.replace("true", "1e999"), ("the number 1e999 is out of range",)),
    "key given twice": (TEXT.replace('"bridge": ', '"type": '), ("the key 'type' is given twice in one object",)),
    "lone surrogate": (TEXT.replace("cni0", "\\ud800"), ("unpaired surrogate escape",)),
    "nested too deeply": (TEXT.replace("true", "[" * 300 + "]" * 300), ("nested more than 190 levels deep",)),
    "a list": ("[]", ("found a list", "expected: an object")),
    "no name": (_with(name=None), ("/name: the key 'name' is missing", "expected: the name of the network")),
    "name of a wrong type": (_with(name=5), ("/name: 5 is not a network name",)),
    "name with a path": (_with(name="../net"), ("/name: '../net' is not a network name",)),
    "name with odd characters": (_with(name="nét\n"), ("/name: 'nét\\n' is not a network name",)),
    "empty name": (_with(name=""), ("/name: '' is not a network name",)),
    "version of a wrong type": (_with(cniVersion=1.0), ("/cniVersion: found a number", 'a string such as "1.0.0"')),
    "unknown version": (_with(cniVersion="9.9.9"), ("/cniVersion: unknown version '9.9.9'", "known versions: 0.1.0, ")),
    "versions of a wrong type": (_with(cniVersions="1.0.0"), ("/cniVersions: found '1.0.0'", "a list of strings")),
    "null for versions": (_with(cniVersions=None), ("/cniVersions: found null", "leave it out")),
    "an entry that is not a version": (
        _with(cniVersions=["1.0.0", "latest"]),
        ("/cniVersions/1: 'latest' is not a version of the CNI specification", 'such as "1.0.0"'),
    ),
    "unknown versions": (
        json.dumps({"name": "net", "cniVersions": ["8.0.0", "9.9.9"], "plugins": GOOD["plugins"]}),
        ("/cniVersions: none of 8.0.0, 9.9.9 is known", "known versions: 0.1.0, "),
    ),
    "plugins of a wrong type": (_with(plugins={}), ("/plugins: found an object", "a list of plugin configuration")),
    "no plugins": (_with(plugins=[]), ("/plugins: the network has no plugin", "at least one")),
    "plugin of a wrong type": (
        _with(plugins=["bridge"]),
        ("/plugins/0: found a string", "plugin configuration object"),
    ),
    "plugin without a type": (_with(plugins=[{}]), ("/plugins/0: the plugin has no 'type'", "the plugin's executable")),
    "type of a wrong type": (_plugin(type=5), ("/plugins/1/type: 5 is not a plugin type",)),
    "type with a path": (
        _plugin(type="../bridge"),
        ("/plugins/1/type: '../bridge' is not a plugin type", "without '/'"),
    ),
    "type with an absolute path": (_plugin(type="/bin/sh"), ("/plugins/1/type: '/bin/sh' is not a plugin type",)),
    "type with odd characters": (_plugin(type="a\nb"), ("/plugins/1/type: 'a\\nb' is not a plugin type",)),
    "type of dots": (_plugin(type=".."), ("/plugins/1/type: '..' is not a plugin type",)),
    "empty type": (_plugin(type=""), ("/plugins/1/type: '' is not a plugin type",)),
    "capabilities of a wrong type": (
        _plugin(capabilities=["mac"]),
        ("(plugin 1, type tuning): /plugins/1/capabilities: found a list", "expected: an object"),
    ),
    "capability of a wrong type": (
        _plugin(capabilities={"mac": "yes"}),
        ("/plugins/1/capabilities/mac: found 'yes'", "expected: true or false"),
    ),
    "ipam of a wrong type": (_plugin(ipam="host-local"), ("/plugins/1/ipam: found a string", "expected: an object")),
    "ipam type with a path": (_plugin(ipam={"type": "x/y"}), ("/plugins/1/ipam/type: 'x/y' is not a plugin type",)),
    "ipam type of a wrong type": (_plugin(ipam={"type": []}), ("/plugins/1/ipam/type: [] is not a plugin type",)),
    "dns of a wrong type": (_plugin(dns=[1]), ("/plugins/1/dns: found a list", "expected: an object")),
    "disableCheck of a wrong type": (_with(disableCheck="maybe"), ("/disableCheck: found 'maybe'", "true or false")),
    "disableGC of a wrong type": (_with(disableGC=1), ("/disableGC: found 1", "expected: true or false")),
    "loadOnlyInlinedPlugins of a wrong type": (
        _with(loadOnlyInlinedPlugins={}),
        ("/loadOnlyInlinedPlugins: found {}", "expected: true or false"),
    ),
    "nothing inlined": (
        json.dumps({"cniVersion": "1.1.0", "name": "net", "loadOnlyInlinedPlugins": True}),
        ("/loadOnlyInlinedPlugins: true, but there are no 'plugins'",),
    ),
    "a single plugin at 1.0.0": (
        json.dumps(reference_networks.single(reference_networks.bridge(), "1.0.0")),
        ("/type: a single plugin's configuration at version 1.0.0", "move the plugin into 'plugins'"),
    ),
}
# These reach a node without the module conflists.
BYTES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    **{
        name: (CASES[name][0].encode(), CASES[name][1])
        for name in ("malformed", "truncated", "empty", "plugin without a type", "unknown version", "type with a path")
    },
    "not UTF-8": (TEXT.replace("cni0", "\xe9").encode("latin-1"), (f"{DEFECTIVE}byte ", "JSON is written in UTF-8")),
    "zeros, as a loss of power leaves them": (bytes(512), (f"{DEFECTIVE}line 1, column 1",)),
}


@pytest.mark.parametrize(("text", "fragments"), CASES.values(), ids=CASES)
def test_conflists_refuses_an_invalid_configuration_and_keeps_the_old_file(
    node: EngineNode, text: str, fragments: tuple[str, ...]
) -> None:
    node.write(GOOD)
    before = node.state()
    done = node.run("conflists", conflists=[{"content": TEXT}, {"content": text}])
    msg = done.require_failure("conflists[1]", *fragments)
    assert done.result["error"]["msg"] in msg
    assert before.difference(node.state()) == ""


@pytest.mark.parametrize(("content", "fragments"), BYTES.values(), ids=BYTES)
def test_attachments_names_the_broken_file(
    node: EngineNode, blue: Namespace, content: bytes, fragments: tuple[str, ...]
) -> None:
    path = node.conf_dir / "10-net.conflist"
    path.write_bytes(content)
    error = node.refusal(attachment("net", blue), "no network 'net' in /etc/cni/net.d", str(path), *fragments)
    assert error["code"] == 7


def test_a_broken_file_does_not_hide_other_networks(node: EngineNode, blue: Namespace) -> None:
    """Attach although a broken file sorts first; libcni stops at it."""
    (node.conf_dir / "00-broken.conflist").write_text("{", encoding="utf-8")
    node.write(GOOD)
    assert node.attach(attachment("net", blue))[0]["action"] == "added"


def test_the_error_for_an_unknown_network_lists_the_existing_ones(node: EngineNode, blue: Namespace) -> None:
    node.write(GOOD)
    node.refusal(attachment("nat", blue), "no network 'nat' in /etc/cni/net.d", "networks in this directory: net")


def _is_directory(node: EngineNode) -> None:
    (node.conf_dir / "10-net.conflist").mkdir()


def _is_hidden(node: EngineNode) -> None:
    node.write(GOOD, ".10-net.conflist")


def _is_absent(node: EngineNode) -> None:
    node.conf_dir.rmdir()


def _is_temporary(node: EngineNode) -> None:
    node.write(GOOD, "10-net.conflist.tmp")


@pytest.mark.parametrize("prepare", [_is_directory, _is_hidden, _is_absent, _is_temporary])
def test_files_that_no_runtime_reads_are_ignored(
    node: EngineNode, blue: Namespace, prepare: t.Callable[[EngineNode], None]
) -> None:
    prepare(node)
    node.refusal(attachment("net", blue), "no network 'net'", "networks in this directory: none")


def test_a_recorded_attachment_needs_no_file(node: EngineNode, blue: Namespace) -> None:
    """Cilium, package managers and people rename files while attachments go on."""
    node.write(GOOD)
    item = attachment("net", blue)
    node.attach(item)
    path = node.conf_dir / "10-net.conflist"
    path.rename(f"{path}.cilium_bak")
    blue.run("ip", "link", "set", "eth0", "down")
    done = node.run("attachments", attachments=[item]).succeeded()
    assert [entry["action"] for entry in done.entries] == ["repaired"]
    (warning,) = node.run("attachments", attachments=[item]).succeeded().result["warnings"]
    for fragment in (
        "no network 'net'",
        "set aside as 10-net.conflist.cilium_bak",
        "of blue (eth0) to network net is kept as",
    ):
        assert fragment in str(warning)
    blue.run("ip", "link", "delete", "eth0")
    node.refusal(item, "it cannot be recreated: no network 'net'", "10-net.conflist.cilium_bak")
    assert [entry["action"] for entry in node.detach(item)] == ["removed"]


def test_a_pipe_among_the_files_does_not_block(node: EngineNode, blue: Namespace) -> None:
    os.mkfifo(node.conf_dir / "10-net.conflist")
    node.refusal(attachment("net", blue), "no network 'net'", "10-net.conflist", "it is empty")


def test_a_dangling_link_is_named(node: EngineNode, blue: Namespace) -> None:
    (node.conf_dir / "10-net.conflist").symlink_to("/nonexistent")
    node.refusal(attachment("net", blue), "no network 'net'", "10-net.conflist")


@pytest.mark.parametrize(
    ("item", "fragment"),
    [
        ({"filename": "../net.conflist"}, "'../net.conflist' is not a valid file name for a network configuration"),
        ({"filename": ".net.conflist"}, "'.net.conflist' is not a valid file name for a network configuration"),
        ({"filename": "net.txt"}, "expected: letters, digits, '_', '.', '@', '+', '-', and one of .conflist"),
        ({"priority": 100}, "priority: 100; expected: 0 to 99"),
        ({"name": "other"}, "the name is 'other', but the configuration defines 'net'"),
    ],
)
def test_conflists_refuses_a_filename_that_no_runtime_reads(node: EngineNode, item: JsonObject, fragment: str) -> None:
    before = node.state()
    node.run("conflists", conflists=[{"config": GOOD, **item}]).require_failure("conflists[0]", fragment)
    assert before.difference(node.state()) == ""
