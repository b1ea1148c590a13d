# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages of the documentation are followed from their first to their last step, and what they show is printed."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.ansible import ansible_project
from ansible_collections.cni.node.tests.integration.ansible.page_places import (
    Place,
    install_plugins,
    prepared,
    wait_for_port,
    write_program,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.support import pages, ring
from ansible_collections.cni.node.tests.support.pages import Command, File, Other, Reader, Step, read_steps
from ansible_collections.cni.node.tests.support.warm_python import WarmProgram

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, pytest.mark.slow]

DOCS = pathlib.Path(__file__).parents[3] / "docs"
# A reader follows these from the first to the last line. Other pages show examples, which may be parts of files.
GUIDES = sorted(str(path.relative_to(DOCS)) for kind in ("tutorials", "howto") for path in (DOCS / kind).glob("*.md"))
ONE = ("node1",)
PLACES = {
    "howto/ci.md": Place("none"),
    "howto/fleet.md": Place("fleet", ("node1", "node2", "node3")),
    "howto/inside.md": Place("fleet", ONE),
    "howto/leaks.md": Place("local", ONE),
    "howto/offline.md": Place("fleet", ONE),
    "howto/ports.md": Place("local", ONE),
    "howto/subnets.md": Place("none"),
    "howto/take-over.md": Place("fleet", ONE),
    "howto/upgrade.md": Place("fleet", ("node1", "node2")),
    "playbooks.md": Place("fleet", ONE),
    "reliability.md": Place("fleet", ONE),
    "report.md": Place("fleet", ONE),
    "tutorials/firewall-reload.md": Place("local", ("web1",)),
    "tutorials/kubeadm.md": Place("fleet", ("cp1",), "kubelet"),
    "tutorials/lab.md": Place("local", ("lab",)),
    "tutorials/unreachable.md": Place("local", ("web1",)),
    "tutorials/nomad.md": Place("fleet", ("client1",), "nomad"),
    "validation.md": Place("none"),
}
SAMPLE = ring.sample(list(PLACES), 3, key=lambda page: page.partition("/")[0])
# These need systemd; the scenario of a booted machine follows them.
BOOTED = {"tutorials/service.md": None, "tutorials/firewall-reload.md": "Let the node do it"}
# What runs the commands of other pages.
ELSEWHERE = {
    "controllers.md": "tests/controller",
    "differences.md": "tests/conformance",
    "index.md": "docs/tutorials/lab.md",
    "installation.md": "tests/integration/ansible/test_artifact.py",
    "performance.md": "tests/bench/run",
    "releases.md": "tests/integration/ansible/test_artifact.py",
    "runtimes.md": "extensions/molecule/vm/preflight.yml",
    "testing.md": "Makefile",
}
# Nor does this test follow what other suites do.
LEFT_OUT = {**BOOTED, "reliability.md": "Proof"}
MANIFEST = (
    "apiVersion: k8s.cni.cncf.io/v1",
    "kind: NetworkAttachmentDefinition",
    "metadata: {name: macvlan-conf, namespace: lab}",
    "spec:",
    "  config: |",
)
SCENARIO = DOCS.parent / "extensions" / "molecule" / "vm" / "tutorials.yml"


def steps_of(page: str) -> list[Step]:
    return read_steps((DOCS / page).read_text(encoding="utf-8"))


def commands_of(path: pathlib.Path) -> list[str]:
    return [step.text for step in read_steps(path.read_text(encoding="utf-8")) if isinstance(step, Command)]


def make_reader(directory: pathlib.Path, playbook: WarmProgram) -> Reader:
    """Return a reader whose `ansible-playbook` is a warm one, which has the callback of projects, but not enabled."""
    environment = ansible_project.environment(directory / ".ansible", is_warm=False)
    del environment["ANSIBLE_CALLBACKS_ENABLED"]
    return Reader(directory, {**environment, "PATH": f"{playbook.path.parent}:{environment['PATH']}"})


@contextlib.contextmanager
def as_the_page_assumes(page: str, roots: t.Sequence[pathlib.Path], reader: Reader) -> t.Iterator[None]:
    """Bring the nodes to the state from which a page starts."""
    if page in ("howto/take-over.md", "tutorials/kubeadm.md"):
        install_plugins(roots[0])
    if page == "howto/take-over.md":
        network = reference_networks.network(reference_networks.bridge(), name="old")
        write_program(roots[0] / "etc/cni/net.d/10-old.conflist", json.dumps(network))
    if page in ("playbooks.md", "reliability.md", "report.md"):
        reader.follow(step for step in steps_of("playbooks.md") if isinstance(step, File))
        reader.write("inventory", "".join(f"{host}\n" for host in PLACES[page].hosts))
    if page == "report.md":
        (roots[0] / "var/lib/prometheus/node-exporter").mkdir(parents=True)
    if page == "validation.md":
        write_faulty_networks(reader)
    if page in ("tutorials/firewall-reload.md", "tutorials/unreachable.md"):
        with web_server(reader):
            yield
    else:
        yield


def write_faulty_networks(reader: Reader) -> None:
    """Write a file, variables and a manifest with the mistakes that the page of validation shows."""
    plugin = {"type": "bridge", "isGatway": True}
    network = {"cniVersion": "1.0.0", "name": "dbnet", "plugins": [plugin]}
    reader.write("net.d/10-dbnet.conflist", json.dumps(network, indent=2))
    reader.write("inventory", "web1\nweb2\nweb3\n")
    for host, variable in {"web1": "conflists", "web2": "conflists", "web3": "conflist"}.items():
        reader.write(f"host_vars/{host}.json", json.dumps({f"cni_node_{variable}": [{"config": network}]}))
    plugin = {"type": "macvlan", "mastr": "eth0"}
    lines = json.dumps({**network, "name": "macvlan-conf", "plugins": [plugin]}, indent=2).splitlines()
    reader.write("manifests/lab.yaml", "\n".join([*MANIFEST, *(f"    {line}" for line in lines), ""]))


@contextlib.contextmanager
def web_server(reader: Reader) -> t.Iterator[None]:
    """Do what the tutorial before says, but run the program of its service without systemd."""
    before = steps_of("tutorials/service.md")
    reader.follow(step for step in before if step.section in ("Write three files", "Attach the network namespace"))
    (unit,) = (step.text for step in before if isinstance(step, File) and step.name == "web.service")
    (program,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    argv = ["ip", "netns", "exec", "web", *program.split()]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port("web", 8000)
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("page", SAMPLE)
def test_a_reader_who_follows_a_page_sees_what_it_says(
    page: str, warm_playbook: WarmProgram, tmp_path: pathlib.Path
) -> None:
    steps = [step for step in steps_of(page) if step.section != LEFT_OUT.get(page)]
    reader = make_reader(tmp_path, warm_playbook)
    with prepared(PLACES[page], tmp_path) as roots, as_the_page_assumes(page, roots, reader):
        reader.follow(steps)


def test_the_playbook_of_the_readme_attaches_a_namespace_and_changes_nothing_again(
    warm_playbook: WarmProgram, tmp_path: pathlib.Path
) -> None:
    (playbook,) = (step for step in steps_of("../README.md") if isinstance(step, File))
    command = f"ansible-playbook -i inventory {playbook.name}"
    runs = [
        Command(1, "", command, ["...", "node1                      : ok=4    changed=3    unreachable=0 ..."]),
        Command(2, "", "ip -brief -n red address show eth0", ["eth0@if...", "..."]),
        Command(3, "", command, ["...", "node1                      : ok=4    changed=0    unreachable=0 ..."]),
    ]
    reader = make_reader(tmp_path, warm_playbook)
    with prepared(Place("local", ONE), tmp_path):
        reader.write("inventory", "[nodes]\nnode1\n")
        reader.follow([playbook, *runs])


def test_every_block_of_a_guide_is_followed() -> None:
    assert {*GUIDES} <= {*PLACES, *BOOTED}
    assert [step for page in GUIDES for step in steps_of(page) if isinstance(step, Other)] == []


def test_every_command_of_every_page_is_run_by_a_test() -> None:
    by_page = {str(path.relative_to(DOCS)): commands_of(path) for path in DOCS.rglob("*.md")}
    with_commands = {page for page, commands in by_page.items() if commands}
    assert with_commands == {*PLACES, *BOOTED, *ELSEWHERE}
    assert [path for path in ELSEWHERE.values() if not (DOCS.parent / path).exists()] == []
    every = [command for commands in by_page.values() for command in commands]
    assert all(every)
    assert {*pages.NOT_RUN} <= {*every}


def test_the_scenario_of_a_booted_machine_follows_what_needs_systemd() -> None:
    text = SCENARIO.read_text(encoding="utf-8")
    for page, section in BOOTED.items():
        assert f"docs/{page}" in text
        assert section is None or section in text
