# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node of an integration test: write networks, run the collection's modules, read the state."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.tests.support import libraries, state
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedPlugins
from ansible_collections.cni.node.tests.support.until import until

MODULES = "ansible_collections.cni.node.plugins.modules"
RUN_PLUGINS = ("attachments", "bundle", "command", "conflists", "gc", "node_info", "verify")
PLUGIN_DIRS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")


class ModuleRun(t.NamedTuple):
    """The exit status and the result of a module that printed JSON and nothing else."""

    status: int
    result: JsonObject

    @property
    def msg(self) -> str:
        return t.cast(str, self.result["msg"])

    @property
    def entries(self) -> list[JsonObject]:
        return t.cast("list[JsonObject]", self.result["attachments"])

    def succeeded(self) -> ModuleRun:
        assert self.status == 0, self.msg
        assert not self.result.get("failed"), self.msg
        return self

    def require_failure(self, *fragments: str) -> str:
        """Return the message of a module that failed; assert that it has every fragment."""
        assert self.status == 1, self.result
        assert self.result["failed"] is True
        for fragment in fragments:
            assert fragment in self.msg, f"{fragment!r} is not in: {self.msg}"
        return self.msg


class EngineNode:
    """The node that the test runs on; see `throwaway_node.empty_node`."""

    conf_dir = pathlib.Path("/etc/cni/net.d")
    cache_dir = pathlib.Path("/var/lib/cni")

    def __init__(self, builtin: str = "missing", python: str | os.PathLike[str] = sys.executable) -> None:
        """
        Args:
            builtin: When modules that run plugins use built-in ones.
            python: The interpreter of modules that run to their ends.
        """
        self.builtin, self.python = builtin, python
        self.conf_dir.mkdir(exist_ok=True)
        self.plugins = ScriptedPlugins(pathlib.Path(PLUGIN_DIRS[0]))
        self._started: list[subprocess.Popen[str]] = []

    def end_processes(self) -> None:
        """Kill the processes that a failed test left."""
        for process in self._started:
            process.kill()
            process.communicate()

    def write(self, configuration: JsonObject, filename: str = "") -> pathlib.Path:
        """Write a network's file; a configuration without `plugins` is a single plugin's."""
        ending = "conflist" if "plugins" in configuration else "conf"
        path = self.conf_dir / (filename or f"10-{configuration['name']}.{ending}")
        path.write_text(json.dumps(configuration, indent=2), encoding="utf-8")
        return path

    def start(self, module: str, **arguments: t.Any) -> subprocess.Popen[str]:
        """Start a module's process, which may be sent signals, and send its arguments."""
        return self._start(sys.executable, module, arguments)

    def _start(self, python: str | os.PathLike[str], module: str, arguments: JsonObject) -> subprocess.Popen[str]:
        arguments = self.complete(module, arguments)
        process = subprocess.Popen(
            [python, "-m", f"{MODULES}.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={
                **os.environ,
                **libraries.request(libraries.describe_checkout()),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        self._started.append(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        process.stdin.close()
        process.stdin = None
        return process

    def complete(self, module: str, arguments: JsonObject) -> JsonObject:
        """Return a module's arguments with the node's choice of built-in plugins."""
        return {"builtin": self.builtin, **arguments} if module in RUN_PLUGINS else arguments

    def run(self, module: str, **arguments: t.Any) -> ModuleRun:
        """Run a module to its end as Ansible does."""
        return wait_for_result(self._start(self.python, module, arguments))

    def attach(self, *items: JsonObject, **options: t.Any) -> list[JsonObject]:
        """Run the module attachments and return its entries; fail if it fails."""
        return self.run("attachments", attachments=list(items), **options).succeeded().entries

    def detach(self, *items: JsonObject, **options: t.Any) -> list[JsonObject]:
        return self.attach(*({**item, "state": "absent"} for item in items), **options)

    def refusal(self, item: JsonObject, *fragments: str, **options: t.Any) -> JsonObject:
        """Return the error of a refused attachment, after which the node is unchanged."""
        (error,) = self.refusals([item], **options)
        for fragment in fragments:
            assert fragment in error["text"], f"{fragment!r} is not in: {error['text']}"
        return error

    def refusals(self, items: t.Sequence[JsonObject], **options: t.Any) -> list[JsonObject]:
        """Return the errors of several refused attachments; `text` is the part that an operator reads."""
        before = self.state()
        done = self.run("attachments", attachments=list(items), **options)
        msg = done.require_failure(f"attachments: {len(items)} failed")
        difference = before.difference(self.state())
        assert not difference, f"{msg}\n{difference}"
        assert {entry["action"] for entry in done.entries} == {"failed"}
        # A failed DEL may have done part of its work.
        assert not any(entry["changed"] for item, entry in zip(items, done.entries) if item.get("state") != "absent")
        errors = [{**entry["error"], "text": _text(entry["error"])} for entry in done.entries]
        assert all(error["text"] in msg for error in errors)
        return errors

    def attach_and_detach(self, *items: JsonObject) -> state.State:
        """Add and delete the attachments; return the state that must be the same after later attachments are deleted.

        A bridge, empty chains of iptables and the kernel's settings stay by design.
        """
        engine = Engine(self)
        for item in items:
            engine.add(item)
            engine.delete(item)
        return self.state()

    def state(self) -> state.State:
        """Return the node's state without directories and lock files, which do not belong to attachments."""
        own = self.cache_dir / "cni.node"
        return state.node_state(str(self.cache_dir), [self.conf_dir, own, "/run/cni"]).without(r" drwx|^locks/")

    def record_of(self, item: JsonObject) -> pathlib.Path:
        return self.cache_dir / "results" / "-".join((item["network"], item["container_id"], item["ifname"]))

    def intents(self) -> list[pathlib.Path]:
        return sorted((self.cache_dir / "cni.node" / "intents").glob("*"))

    def leases(self, network: str) -> list[str]:
        """Return the addresses that host-local has allocated."""
        directory = pathlib.Path("/var/lib/cni/networks", network)
        return sorted(path.name for path in directory.glob("*") if path.name[0].isdigit())


class Engine:
    """The engine, called directly instead of through a module."""

    def __init__(self, node: EngineNode, builtin: str = "") -> None:
        """
        Args:
            builtin: When it uses built-in plugins; by default, as modules on this node do.
        """
        self._conf_dir = str(node.conf_dir)
        executor = make_executor(PLUGIN_DIRS, 60, builtin=builtin or node.builtin)
        self.runtime = Runtime(executor, str(node.cache_dir), 60)

    def ensure(self, item: JsonObject, *, present: bool = True, **policy: t.Any) -> AttachmentResult:
        """Reconcile one item as the module does."""
        reconciler = Reconciler(self.runtime, conf_dir.load(self._conf_dir), Policy(**policy))
        (outcome,) = reconcile_all(reconciler, [DesiredAttachment(Attachment(**item), present)], 1)
        return outcome

    def ensure_all(self, items: t.Sequence[JsonObject], *, workers: int = 1, **policy: t.Any) -> list[AttachmentResult]:
        """Reconcile several items as the module does."""
        reconciler = Reconciler(self.runtime, conf_dir.load(self._conf_dir), Policy(**policy))
        return reconcile_all(reconciler, [DesiredAttachment(Attachment(**item)) for item in items], workers)

    def add(self, item: JsonObject) -> JsonObject:
        network = conf_dir.load(self._conf_dir).get(item["network"])
        return dict(self.runtime.add(network, Attachment(**item)).keys)

    def record(self, item: JsonObject) -> Record:
        """Return the record with the item's namespace, which libcni before 1.2.0 does not keep."""
        record = self.runtime.records.read(Attachment(**item).key)
        assert record is not None
        assert record.attachment.netns in ("", item["netns"])
        return record._replace(attachment=record.attachment.with_netns(item["netns"]))

    def result(self, item: JsonObject) -> JsonObject:
        result = self.record(item).result
        assert result is not None
        return dict(result.keys)

    def delete(self, item: JsonObject) -> None:
        self.runtime.delete(self.record(item))


def require_success(outcome: AttachmentResult) -> tuple[str, bool, str]:
    """Return action, changed and reason; fail on an error."""
    assert outcome.error is None, f"{outcome.reason}: {outcome.error}"
    return outcome.action, outcome.changed, outcome.reason


def attachment(network: str, namespace: Namespace, **keys: t.Any) -> JsonObject:
    """Return an item for the modules, the engine and libcni."""
    item = {"network": network, "container_id": namespace.name, "ifname": "eth0", "netns": str(namespace.path)}
    return {**item, "args": {}, "capability_args": {}, **keys}


def _text(error: JsonObject) -> str:
    return "; ".join(filter(None, (error["msg"], error["details"])))


def remove(namespace: Namespace, *, wait: bool = True) -> None:
    """Remove a namespace and wait until the kernel has removed its veth pairs."""
    ends = _ends_on_the_node(namespace) if wait else set()
    subprocess.run(["ip", "netns", "delete", namespace.name], check=True)
    until(lambda: ends.isdisjoint(link["ifindex"] for link in ip("link", "show")) or None, 60)


def _ends_on_the_node(namespace: Namespace) -> set[int]:
    """Return the interface indexes of its veths' ends on the node; the kernel does not reuse indexes."""
    numbers = [entry["id"] for entry in ip("netns", "list") if entry["name"] == namespace.name and "id" in entry]
    return {link["ifindex"] for link in ip("link", "show", "type", "veth") if link.get("link_netnsid") in numbers}


def replace(namespace: Namespace) -> None:
    """Replace a namespace by an empty one of the same name, which often gets the same inode number."""
    remove(namespace)
    subprocess.run(["ip", "netns", "add", namespace.name], check=True)


def without_pyroute2(directory: pathlib.Path) -> str:
    """Return a directory for the search path of a Python that shall lack the library; write an import hook into it."""
    (directory / "sitecustomize.py").write_text("import sys\nsys.modules['pyroute2'] = None\n", encoding="utf-8")
    return str(directory)


def wait_for_result(process: subprocess.Popen[str]) -> ModuleRun:
    stdout, stderr = process.communicate(timeout=60)
    assert stderr == ""
    (line,) = stdout.strip().splitlines()
    return ModuleRun(process.returncode, json.loads(line))
