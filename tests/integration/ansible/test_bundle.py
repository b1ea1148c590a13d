# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bundles have what those who help need, and no secret of the node; none stays on the node."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tarfile
import typing as t
import urllib.parse

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import REPORT
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

ON_THE_NODE = pathlib.Path("/var/lib/cni/cni.node/bundle.tar.gz")
REPAIR: JsonObject = {"time": 1, "network": "dbnet", "container_id": "red", "ifname": "eth0", "lost": ["a rule"]}
# Where there is none.
JOURNALCTL = pathlib.Path("/usr/local/sbin/journalctl")
SIZE_LIMIT = 5 * 1024 * 1024

IN_A_KEY, IN_AN_ODD_KEY, IN_ARGS, IN_CONFIG_ARGS = (
    "s3cr@t-of-key",
    "hunter2/odd:key",
    "s3cr@t-of-args",
    "s3cr@t-of-config",
)
IN_A_URL, IN_THE_JOURNAL, IN_A_RESULT, IN_A_VARIABLE = (
    "s3cr@t-of-url",
    "s3cr@t-of-line",
    "s3cr@t-of-result",
    "s3cr@t-of-env",
)
IN_A_COMMENT, IN_A_BROKEN_FILE = "s3cr@t-of-comment", "s3cr@t-of-file"
SECRETS = (
    *(IN_A_KEY, IN_AN_ODD_KEY, IN_ARGS, IN_CONFIG_ARGS, IN_A_URL, IN_THE_JOURNAL, IN_A_RESULT, IN_A_VARIABLE),
    *(IN_A_COMMENT, IN_A_BROKEN_FILE),
)
LINES = [
    "containerd[1]: plugin bridge failed: open /etc/cni: no such file",
    f"containerd[1]: pulling https://me:{IN_A_URL}@registry.example/image@sha256:01 \x1b[2J",
    f'kubelet[2]: {{"level":"info","apiToken":"{IN_THE_JOURNAL}"}}',
    f"crio[3]: CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=web;LICENSE_SECRET={IN_A_VARIABLE}",
    f"crio[3]: the plugin said {IN_AN_ODD_KEY} and {urllib.parse.quote(IN_AN_ODD_KEY, safe='')}",
    f"crio[3]: exec env ACCESS_KEY={IN_A_VARIABLE} nice {base64.b64encode(IN_ARGS.encode()).decode()}",
]


@pytest.fixture
def journal(tmp_path: pathlib.Path) -> t.Iterator[None]:
    """Let journalctl print lines with secrets; a sandbox has no journal of its own."""
    program = tmp_path / "journalctl"
    text = "\n".join(LINES)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n", encoding="utf-8")
    program.chmod(0o755)
    real = shutil.which("journalctl", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if real is None:
        shutil.copy(program, JOURNALCTL)
        yield
        JOURNALCTL.unlink()
    else:
        subprocess.run(["mount", "--bind", str(program), real], check=True)
        yield
        subprocess.run(["umount", real], check=True)


@pytest.fixture
def red(node: EngineNode) -> t.Iterator[Namespace]:
    """Return an attached network namespace whose configuration, arguments and rules have secrets."""
    plugin = {
        **reference_networks.bridge(ipMasq=True),
        "apiToken": IN_A_KEY,
        "customThing": {"list": [IN_AN_ODD_KEY]},
        "registry": f"https://me:{IN_A_URL}@registry.example/x",
    }
    node.write(reference_networks.network(plugin, reference_networks.PORTMAP, name="dbnet"))
    (node.conf_dir / "90-broken.conflist").write_text(f'{{"password": "{IN_A_BROKEN_FILE}", ', encoding="utf-8")
    with namespace("red") as made:
        node.attach(
            {
                "network": "dbnet",
                "netns": "red",
                "args": {"IgnoreUnknown": "1", "DB_PASSWORD": IN_ARGS},
                "config_args": {"key": IN_CONFIG_ARGS},
                "capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]},
            }
        )
        path = node.record_of({"network": "dbnet", "container_id": "red", "ifname": "eth0"})
        record = json.loads(path.read_text(encoding="utf-8"))
        record["result"]["interfaces"][0]["vendorKey"] = IN_A_RESULT
        path.write_text(json.dumps(record), encoding="utf-8")
        state = WatchState(NODE_PATHS.watch_state)
        state.note_repair({**REPAIR, "by": [f"token={IN_A_COMMENT}"]}, is_own=True)
        state.write()
        flush()
        comment = ["-m", "comment", "--comment", f"token={IN_A_COMMENT}"]
        subprocess.run(["iptables", "-A", "INPUT", *comment, "-j", "ACCEPT"], check=True)
        yield made


def read(path: pathlib.Path) -> dict[str, str]:
    """Return the files of a bundle by their names below its directory."""
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert {os.path.dirname(member.name).partition("/")[0] for member in members} == {
            f"cni-node-bundle-{os.uname().nodename}"
        }
        contents = {member.name.partition("/")[2]: archive.extractfile(member) for member in members}
        return {name: stream.read().decode() for name, stream in contents.items() if stream}


@pytest.mark.usefixtures("journal")
def test_a_bundle_is_fetched_from_each_node_without_secrets(node: EngineNode, project: Project, red: Namespace) -> None:
    directory = project.path / "bundles"
    refused = project.run(REPORT, cni_node_bundle_path=directory.name)
    assert "cni_node_bundle_path: bundles; expected: an existing directory of the controller" in refused.output
    directory.mkdir()
    project.run(REPORT, "--check", cni_node_bundle_path=directory.name).succeeded()
    assert list(directory.iterdir()) == []
    played = project.run(REPORT, cni_node_bundle_path=directory.name).succeeded()
    assert not ON_THE_NODE.exists()
    path = directory / "node.tar.gz"
    assert path.stat().st_size < SIZE_LIMIT
    files = read(path)
    everything = "\n".join([*files, *files.values(), played.output])
    for secret in SECRETS:
        for form in (secret[5:], urllib.parse.quote(secret, safe="")):
            assert form not in everything, form
        assert base64.b64encode(secret.encode()).decode() not in everything
    assert "\x1b" not in everything.replace(played.output, "")
    _require_content(files)


def _require_content(files: t.Mapping[str, str]) -> None:
    assert next(iter(files)) == "README.txt"
    for name in files:
        assert name in files["README.txt"] or name == "README.txt" or name.startswith("kernel/namespaces/"), name
    assert "the masquerade rule of 10.1.0.2 is gone" in files["status.txt"]
    data: dict[str, t.Any] = {name: json.loads(text) for name, text in files.items() if name.endswith(".json")}
    (entry,) = data["drift.json"]["attachments"]
    assert (entry["container_id"], entry["action"]) == ("red", "repaired")
    assert data["repairs.json"] == [{**REPAIR, "by": ["token=***"]}]
    networks: list[JsonObject] = data["networks.json"]
    assert [bool(network["error"]) for network in networks] == [False, True]
    assert networks[0]["config"]["plugins"][0]["ipMasq"] is True
    (record,) = data["records.json"]
    assert record["arguments"] == ["DB_PASSWORD", "IgnoreUnknown", "key", "portMappings"]
    assert record["result"]["ips"][0]["address"].startswith("10.1.0.2/")
    assert data["leases.json"][0]["taken"] == 1
    assert "msg" in data["leaks.json"]
    assert "eth0" in files["kernel/namespaces/run_netns_red.txt"]
    assert "10.1.0.2" in files["kernel/namespaces/run_netns_red.txt"]
    assert "cni0" in files["kernel/node.txt"]
    assert "-A INPUT" in files["kernel/rules.txt"]
    assert "net/ipv4/ip_forward = 1" in files["kernel/settings.txt"]
    assert "plugin bridge failed: open /etc/cni: no such file" in files["journal.txt"]
    assert "https://***@registry.example/image@sha256:01 \\x1b[2J" in files["journal.txt"]
    assert "K8S_POD_NAME=web" in files["journal.txt"]
    assert "results/dbnet-red-eth0" in files["files.txt"]
    assert "Linux" in files["versions.txt"]


def test_a_bundle_belongs_to_root_alone_and_its_directory_too(node: EngineNode, tmp_path: pathlib.Path) -> None:
    done = node.run("bundle").succeeded().result
    status = ON_THE_NODE.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_size) == (0o600, 0, done["size"])
    assert [file["name"] for file in done["files"]] == list(read(ON_THE_NODE))
    removed = node.run("bundle", state="absent").succeeded().result
    assert (removed["changed"], ON_THE_NODE.exists()) == (True, False)
    assert list(node.cache_dir.glob("cni.node")) == []
    assert not node.run("bundle", state="absent").succeeded().result["changed"]
    open_to_all = pathlib.Path("/run/open")
    open_to_all.mkdir()
    with contextlib.ExitStack() as stack:
        stack.callback(open_to_all.rmdir)
        open_to_all.chmod(0o777)
        for check in (True, False):
            node.run("bundle", path=f"{open_to_all}/x.tar.gz", _ansible_check_mode=check).require_failure(
                "the bundle cannot be in /run/open; /run/open: every user can write it"
            )
        assert list(open_to_all.iterdir()) == []


def test_each_network_namespace_has_a_file_whatever_its_path_is(
    node: EngineNode, red: Namespace, tmp_path: pathlib.Path
) -> None:
    paths = [tmp_path / name for name in ("a+b", "a=b", "é", "x" * 250, f"{'x' * 250}y")]
    for number, path in enumerate(paths):
        path.symlink_to(red.path)
        node.attach({"network": "dbnet", "container_id": "red", "ifname": f"eth{number + 1}", "netns": str(path)})
    node.run("bundle").succeeded()
    subprocess.run(["tar", "-C", str(tmp_path), "-xzf", str(ON_THE_NODE)], check=True)
    files = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*/kernel/namespaces/*")]
    assert sorted(text.partition("\n")[0] for text in files) == sorted(f"# {path}" for path in (*paths, red.path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_age": "nan"}, "min_age: nan; expected: a number above 0"),
        ({"timeout": 0}, "timeout: 0; expected: a number above 0"),
        ({"path": "x.tar.gz"}, "path: 'x.tar.gz' is not an absolute path"),
        ({"path": "/run/missing/"}, "path: '/run/missing/'; expected: the path of a file"),
        ({"path": "/var/lib/cni"}, "path: '/var/lib/cni' is a directory; expected: a file"),
        ({"path": "/var/lib/cni", "state": "absent"}, "path: '/var/lib/cni' is a directory; expected: a file"),
    ],
)
def test_options_with_which_there_is_no_bundle_are_refused(node: EngineNode, options: JsonObject, message: str) -> None:
    for check in (True, False):
        node.run("bundle", **options, _ansible_check_mode=check).require_failure(message)
    assert not pathlib.Path("/run/missing").exists()
    assert not ON_THE_NODE.exists()


def test_a_bundle_of_a_broken_node_has_the_errors(node: EngineNode) -> None:
    node.conf_dir.rmdir()
    node.conf_dir.write_text("")
    try:
        node.run("bundle").succeeded()
        files = read(ON_THE_NODE)
    finally:
        node.conf_dir.unlink()
        node.conf_dir.mkdir()
        ON_THE_NODE.unlink(missing_ok=True)
    assert "not read: cannot read /etc/cni/net.d" in files["status.txt"]
    assert "/etc/cni/net.d" in json.loads(files["leaks.json"])["msg"]
    assert "# ip rule" in files["kernel/node.txt"]
