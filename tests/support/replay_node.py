# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the steps of recorded cases, each on a node of its own: a process in new mount and network namespaces.

Each line of standard input is a `Job` as JSON. A line of standard output is its outcome: the key `steps` with what each
plugin answered and what changed, or the key `error`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pathlib
import signal
import sys
import tempfile
import traceback
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import syscall
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import executable as builtin_program
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.tests.support import replay_names, replay_snapshot
from ansible_collections.cni.node.tests.support.replay_commands import HOST, NAMESPACES, SYSTEM_PATH, command, inside
from ansible_collections.cni.node.tests.support.until import until

_BIN_DIR = "/opt/cni/bin"
_CANARY = "canary"
_RUN_SECONDS = 120
_CLONE_NEWNS = 0x20000


class Job(t.NamedTuple):
    """
    Attributes:
        case: The key `case` of a recording.
        steps: The steps to run; what they recorded is ignored.
        plugins: A directory with an executable for each plugin, or an empty one.
    """

    case: JsonObject
    steps: list[JsonObject]
    plugins: str


class Replay:
    """One case on one node."""

    def __init__(self, case: JsonObject) -> None:
        self._case = case
        # The result of the last plugin of ADD by attachment, if ADD succeeded.
        self._results: dict[str, JsonObject | None] = {}

    def run(self, steps: t.Iterable[JsonObject]) -> list[JsonObject]:
        """Return the steps, each with the answers of its plugins and the state after it."""
        base = self._snapshot()
        requests, answers, snapshots = [], [], []
        for step in steps:
            requests.append({key: value for key, value in step.items() if key not in ("plugins", "state")})
            answers.append(self._perform(step))
            snapshots.append(self._snapshot() if step["op"] not in ("SHELL", "DELNS") else None)
        answers, (before, *states) = replay_names.with_stable_names(self._case, answers, [base, *snapshots])
        outcomes = []
        last: JsonObject = {}
        for request, answer, state in zip(requests, answers, states):
            outcome = {**request, **answer}
            if state is not None:
                changed = replay_names.changes(before or {}, state)
                outcome["state"] = "same" if changed == last else changed
                last = changed
            outcomes.append(outcome)
        return outcomes

    def _snapshot(self) -> replay_snapshot.Snapshot:
        return replay_snapshot.take(self._case.get("sysctls", []))

    def _perform(self, step: JsonObject) -> JsonObject:
        """Run one step; return the answers of its plugins, if it runs plugins."""
        operation = step["op"]
        if operation == "SHELL":
            run_shell(step)
            return {}
        if operation == "DELNS":
            delete_namespace(step["netns"])
            return {}
        if operation == "EXEC":
            return {"plugins": [execute(step["plugin"], step["env"], step["stdin"])]}
        config = self._case["configs"][step["config"]] if "config" in step else self._case["config"]
        if operation in ("GC", "STATUS"):
            return {"plugins": self._ask_network(config, step)}
        attachment = {**self._case["attachments"][step["as"]], **step.get("override", {})}
        return {"plugins": list(self._run_chain(config, operation, step["as"], attachment))}

    def _ask_network(self, config: JsonObject, step: JsonObject) -> list[JsonObject]:
        keys: JsonObject = {}
        if step["op"] == "GC":
            valid = [self._case["attachments"][name] for name in step["valid"]]
            keys["cni.dev/valid-attachments"] = [{key: a[key] for key in ("containerID", "ifname")} for a in valid]
        environment = {"CNI_COMMAND": step["op"]}
        return [
            execute(plugin["type"], environment, {**request_for(config, plugin), **keys})
            for plugin in config["plugins"]
        ]

    def _run_chain(
        self, config: JsonObject, operation: str, name: str, attachment: JsonObject
    ) -> t.Iterator[JsonObject]:
        """Run the plugins of a list until one fails, and yield their answers."""
        has_previous = operation != "ADD" and config.get("cniVersion") not in ("0.1.0", "0.2.0", "0.3.0", "0.3.1")
        previous = self._results.get(name) if has_previous else None
        if operation == "ADD":
            self._results[name] = None
        for plugin in config["plugins"][:: -1 if operation == "DEL" else 1]:
            request = request_for(config, plugin, attachment)
            if previous is not None:
                request["prevResult"] = previous
            answer = execute(plugin["type"], environment_of(operation, attachment), request)
            yield answer
            if answer.get("exit") != 0:
                return
            if operation == "ADD":
                previous = answer.get("result")
        if operation == "ADD":
            self._results[name] = previous


def request_for(config: JsonObject, plugin: JsonObject, attachment: JsonObject | None = None) -> JsonObject:
    """Return what a plugin of a list reads from its standard input, without the previous result."""
    request = {**plugin, **{key: config[key] for key in ("name", "cniVersion") if config.get(key) is not None}}
    arguments = (attachment or {}).get("capabilityArgs", {})
    granted = {
        name: arguments[name] for name, is_on in plugin.get("capabilities", {}).items() if is_on and name in arguments
    }
    return {**request, "runtimeConfig": granted} if granted else request


def environment_of(operation: str, attachment: JsonObject) -> dict[str, str]:
    environment = {
        "CNI_COMMAND": operation,
        "CNI_CONTAINERID": attachment["containerID"],
        "CNI_IFNAME": attachment["ifname"],
    }
    if attachment["netns"]:
        environment["CNI_NETNS"] = str(NAMESPACES / attachment["netns"])
    if "args" in attachment:
        environment["CNI_ARGS"] = ";".join(f"{key}={value}" for key, value in attachment["args"].items())
    return environment


def execute(plugin: str, environment: t.Mapping[str, str], stdin: t.Any) -> JsonObject:
    """Run a plugin once; return its exit status and what it printed, or that there is no such plugin."""
    if plugin not in registry.TYPES:
        return {"type": plugin, "missing": True}
    request = stdin if isinstance(stdin, str) else json.dumps(stdin)
    status, printed = _run_in_fork(plugin, {"PATH": SYSTEM_PATH, "CNI_PATH": _BIN_DIR, **environment}, request)
    answer: JsonObject = {"type": plugin, "exit": status}
    if printed.strip():
        answer["error" if status else "result"] = printed
        with contextlib.suppress(ValueError):
            answer["error" if status else "result"] = json.loads(printed)
    return answer


def _run_in_fork(plugin: str, environment: t.Mapping[str, str], request: str) -> tuple[int, str]:
    """Do what the executable of a plugin does, in a process that has its modules already; return status and output."""
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as stdout:
        stdin.write(request)
        stdin.seek(0)
        child = os.fork()
        if child == 0:
            status = -1
            try:
                os.environ.clear()
                os.environ.update(environment)
                sys.stdin, sys.stdout = stdin, stdout
                status = builtin_program.main(f"{_BIN_DIR}/{plugin}")
                stdout.flush()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stdout.seek(0)
        return status, stdout.read()


def prepare_node(case: JsonObject, plugins: str) -> None:
    """Make an empty node with an uplink and the namespaces of a case, and run the case's own preparation."""
    os.umask(0o022)
    os.chdir("/")
    for directory in ("/etc/cni", "/opt/cni", "/run", "/var/lib/cni"):
        os.makedirs(directory, exist_ok=True)
        command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", directory)
    command("mount", "-t", "sysfs", "sysfs", "/sys")
    NAMESPACES.mkdir()
    os.mkdir(_BIN_DIR)
    command("mount", "--bind", plugins, _BIN_DIR)
    spare_delays_of_ipv6()
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("0", encoding="ascii")
    uplink, peer = replay_names.UPLINK_MACS
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "up0", "address", uplink, "type", "veth", "peer", "name", "up1", "address", peer)
    command("ip", "address", "add", "192.0.2.10/24", "dev", "up0")
    for link in ("up1", "up0"):
        command("ip", "link", "set", link, "up")
    used = {attachment["netns"] for attachment in case["attachments"].values()}
    for name in case.get("namespaces") or sorted(used):
        command("ip", "netns", "add", name)
        with inside(name):
            spare_delays_of_ipv6()
    for step in case.get("prepare", []):
        run_shell(step)


def spare_delays_of_ipv6() -> None:
    """Turn off what makes the kernel wait before an IPv6 address can be used in this namespace."""
    for interface in ("all", "default", "lo"):
        for key in ("dad_transmits", "router_solicitation_delay", "router_solicitations"):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{interface}/{key}").write_text("0", encoding="ascii")


def run_shell(step: JsonObject) -> None:
    with inside(step.get("in", HOST)):
        command("sh", "-ec", step["run"])


def delete_namespace(name: str) -> None:
    """Delete a namespace and wait for its links: the kernel removes them later, all at the same time."""
    command("ip", "link", "add", _CANARY, "type", "veth", "peer", "name", _CANARY, "netns", name)
    command("ip", "netns", "delete", name)
    until(lambda: None if os.path.exists(f"/proc/sys/net/ipv4/conf/{_CANARY}") else True)


def run_apart(job: Job) -> JsonObject:
    """Run a job in a forked process, which has imported everything, and return its outcome."""
    with tempfile.TemporaryFile("w+") as outcome:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(_RUN_SECONDS)
                syscall.unshare(_CLONE_NEWNS | syscall.CLONE_NEWNET)
                command("mount", "--make-rprivate", "/")
                prepare_node(job.case, job.plugins)
                json.dump({"steps": Replay(job.case).run(job.steps)}, outcome)
                outcome.flush()
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        outcome.seek(0)
        found: JsonObject = json.load(outcome) if status == 0 else {"error": f"exit status {status}"}
        return found


def main() -> None:
    for name in registry.TYPES:
        registry.load(name)
    gc.freeze()  # so that collecting garbage in forks does not copy what is imported
    for line in sys.stdin:
        print(json.dumps(run_apart(Job(**json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
