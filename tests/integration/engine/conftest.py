# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import signal
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, Engine, EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import NETWORK, map_port
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import (
    empty_node,
    inside,
    spare_duplicate_address_detection,
)
from ansible_collections.cni.node.tests.support import build, libraries
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.programs import path_without
from ansible_collections.cni.node.tests.support.warm_python import PYTHON, WarmProgram

_ALTERNATIVES = [
    pathlib.Path("/etc/alternatives", f"{tool}{kind}")
    for tool in ("iptables", "ip6tables")
    for kind in ("", "-save", "-restore")
]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Require that the suite `uml` finds the file of a test that it has to run."""
    if item.get_closest_marker("other_kernel") and "other_kernel" not in item.path.read_text(encoding="utf-8"):
        raise pytest.UsageError(f"{item.path}: the file of a test with the mark other_kernel has to have this word")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that cannot run here; the reason says what to do."""
    if item.get_closest_marker("requires_root") and (os.geteuid() != 0 or "CNI_SANDBOX" not in os.environ):
        pytest.skip("it changes the node: run it as root, inside tests/support/sandbox")
    if item.get_closest_marker("requires_plugins") and not any(
        os.access(f"{path}/bridge", os.X_OK) for path in PLUGIN_DIRS
    ):
        pytest.skip("the reference plugins are missing: install containernetworking-plugins")
    missing = build.find_missing()
    if item.get_closest_marker("interop") and missing:
        pytest.skip(missing)


@pytest.fixture(autouse=True, scope="session")
def accept_hang_ups() -> t.Iterator[None]:
    """Reset SIGHUP to its default: under nohup, the tests and their child processes would ignore the signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a library outside the node, for `libraries.provide`."""
    return libraries.install_for_session(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory, library: pathlib.Path) -> t.Iterator[WarmProgram]:
    program = WarmProgram(tmp_path_factory.mktemp("python"), PYTHON, os.environ, library=library)
    program.wait()
    yield program
    program.close()


@pytest.fixture
def node(request: pytest.FixtureRequest, warm_python: WarmProgram) -> t.Iterator[EngineNode]:
    """Return an empty node. Its parameter says when modules use built-in plugins."""
    with empty_node():
        made = EngineNode(getattr(request, "param", "missing"), warm_python.path)
        yield made
        made.end_processes()


@pytest.fixture
def restorable(node: EngineNode) -> EngineNode:
    """Return a node with the library, which attachments that survive reboots need."""
    libraries.provide()
    return node


@pytest.fixture
def engine(node: EngineNode) -> Engine:
    return Engine(node)


@pytest.fixture
def blue(node: EngineNode) -> t.Iterator[Namespace]:
    with namespace("blue") as made:
        with inside(made.path):
            spare_duplicate_address_detection()
        yield made


@pytest.fixture
def libcni(node: EngineNode) -> Libcni:
    return Libcni(build.libcni_runner(), str(node.conf_dir), PLUGIN_DIRS, str(node.cache_dir))


@pytest.fixture(scope="session")
def path_without_ip6tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    programs: pathlib.Path = tmp_path_factory.mktemp("programs")
    return path_without({"ip6tables"}, programs)


@pytest.fixture
def attached(node: EngineNode, blue: Namespace) -> JsonObject:
    """Return an attachment of the node with a mapped port, whose plugins write rules of iptables."""
    node.write(NETWORK)
    item = map_port(blue)
    node.attach(item)
    return item


@pytest.fixture
def legacy_iptables(node: EngineNode) -> t.Iterator[EngineNode]:
    """Return a node whose iptables writes legacy tables."""
    links_to = {path: os.readlink(path) for path in map(str, _ALTERNATIVES) if os.path.islink(path)}
    if not links_to or not os.path.exists("/usr/sbin/iptables-legacy"):
        pytest.skip("iptables-legacy is missing, or this is not Debian")
    for path, target in links_to.items():
        pathlib.Path(path).unlink()
        pathlib.Path(path).symlink_to(target.replace("-nft", "-legacy"))
    yield node
    for path, target in links_to.items():
        pathlib.Path(path).unlink()
        pathlib.Path(path).symlink_to(target)
