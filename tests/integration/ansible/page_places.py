# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes on which tests follow the pages: this node, or nodes made of namespaces that are reached over SSH.

The inventory of a page names nodes and their addresses as a reader would. Files in ``host_vars`` beside it, which
Ansible prefers, lead to the nodes of the test. They also replace the download of the plugins by an archive here.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import make_builtin_plugins
from ansible_collections.cni.node.tests.fleet import archives, life
from ansible_collections.cni.node.tests.fleet.main import inventory
from ansible_collections.cni.node.tests.fleet.place import places
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.until import until

FILES = pathlib.Path(__file__).parents[3] / "extensions" / "molecule" / "runtimes" / "files"
# What a container runtime needs of the reference plugins.
PLUGINS = ("bridge", "firewall", "host-local", "loopback", "portmap")
# What the programs of runtimes print.
_VERSIONS = {"nomad": "Nomad v1.10.3", "kubelet": "Kubernetes v1.31.0"}
NODE_PYTHON = "/usr/bin/python3"
# Says of one service that it is active, as systemd would.
_SYSTEMCTL = """\
#!/bin/sh
case "$1 $*" in
    show*{unit}*) printf 'Id={unit}\\nLoadState=loaded\\nActiveState=active\\nActiveEnterTimestampMonotonic=1\\n' ;;
esac
"""


class Place(t.NamedTuple):
    """Nodes for a page.

    Attributes:
        kind: ``none``, ``local`` for this node, or ``fleet``.
        hosts: Their names in the page's inventory.
        runtime: The container runtime that they have, or an empty string.
    """

    kind: str
    hosts: tuple[str, ...] = ()
    runtime: str = ""


@contextlib.contextmanager
def prepared(place: Place, directory: pathlib.Path) -> t.Iterator[list[pathlib.Path]]:
    """Yield the root directories of the nodes of a page; the reader's directory leads to them."""
    if place.kind == "none":
        yield []
    elif place.kind == "local":
        with empty_node():
            _write_host_vars(directory, {host: {"ansible_connection": "local"} for host in place.hosts})
            yield [pathlib.Path("/")]
    else:
        with _fleet(place.hosts, directory) as roots:
            for root in roots:
                _install_runtime(root, place.runtime)
            yield roots


@contextlib.contextmanager
def _fleet(hosts: t.Sequence[str], directory: pathlib.Path) -> t.Iterator[list[pathlib.Path]]:
    # An overlay cannot lie on an overlay, as the directory of the test does.
    top = pathlib.Path("/run") / directory.name
    program = pathlib.Path(archives.__file__).with_name("fleet")
    try:
        subprocess.run([str(program), "--dir", str(top), "up", str(len(hosts))], check=True, stdout=subprocess.DEVNULL)
        listed = inventory(top)
        common = {**listed["fleet"]["vars"], **_plugins_source(directory)}
        addresses = listed["_meta"]["hostvars"].values()
        _write_host_vars(directory, {host: {**common, **keys} for host, keys in zip(hosts, addresses)})
        yield [pathlib.Path(f"/proc/{life.pid_of(node)}/root") for node in places(top)]
    finally:
        subprocess.run([str(program), "--dir", str(top), "down"], check=True)


def _write_host_vars(directory: pathlib.Path, variables: t.Mapping[str, JsonObject]) -> None:
    (directory / "host_vars").mkdir(parents=True, exist_ok=True)
    for host, keys in variables.items():
        (directory / "host_vars" / f"{host}.json").write_text(json.dumps(keys), encoding="utf-8")


def _plugins_source(directory: pathlib.Path) -> JsonObject:
    """Make archives in the form of the releases that pages name; return the variables that lead to them."""
    for version in ("1.8.0", "1.9.1"):
        archive = releases.pack(directory / f"cni-plugins-linux-amd64-v{version}.tgz", _plugins(version))
        pathlib.Path(f"{archive}.sha256").write_text(releases.checksum(archive), encoding="utf-8")
    return {
        "cni_node_plugins_source": f"{directory}/cni-plugins-linux-amd64-v{{{{ cni_node_plugins_version }}}}.tgz",
        "cni_node_plugins_checksum": "{{ lookup('ansible.builtin.file', cni_node_plugins_source ~ '.sha256') }}",
    }


def _plugins(version: str) -> dict[str, bytes]:
    """Return executables that do what a current release does, as those of the distribution are too old for it."""
    made = make_builtin_plugins(NODE_PYTHON, libraries.describe_checkout())
    return {name: made[name] + f"# {version}\n".encode() for name in PLUGINS}


def _install_runtime(root: pathlib.Path, runtime: str) -> None:
    """Write the files that a runtime has on its node, as its packages or a role for it would."""
    if not runtime:
        return
    shutil.copytree(FILES / runtime, root, dirs_exist_ok=True)
    write_program(root / "usr/local/bin" / runtime, f"#!/bin/sh\necho '{_VERSIONS[runtime]}'\n")
    write_program(root / "usr/sbin/systemctl", _SYSTEMCTL.format(unit=f"{runtime}.service"))
    (root / "run/systemd/system").mkdir(parents=True)


def install_plugins(root: pathlib.Path) -> None:
    """Unpack plugins as the instructions of runtimes say, without the collection."""
    for name, content in _plugins("unpacked by hand").items():
        write_program(root / "opt/cni/bin" / name, content)
    libraries.install(libraries.describe_checkout(root / libraries.TOP[1:]))


def write_program(path: pathlib.Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o755)


def wait_for_port(netns: str, port: int) -> None:
    """Wait until a process listens on a port of a network namespace."""
    command = ["ip", "netns", "exec", netns, "ss", "-Hltn", f"sport = :{port}"]
    until(lambda: subprocess.run(command, check=True, capture_output=True).stdout or None)
