# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook validate, which needs no node, and the documentation of validation."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project

VALIDATE = "cni.node.validate"
PLAYBOOK = pathlib.Path(__file__).parents[3] / "playbooks" / "validate.yml"
GOOD: JsonObject = {"cniVersion": "1.0.0", "name": "good", "plugins": [{"type": "loopback"}]}
ODD: JsonObject = {**GOOD, "name": "odd", "plugins": [{"type": "loopback", "colour": "red"}]}
TYPO: JsonObject = {**GOOD, "name": "typo", "plugins": [{"type": "bridge", "isGatway": True}]}


def write_conflists(project: Project, *networks: JsonObject) -> list[str]:
    return [
        str(project.write(f"net.d/{network['name']}.conflist", json.dumps(network, indent=2))) for network in networks
    ]


def test_files_without_errors_pass_and_warnings_are_shown(project: Project) -> None:
    played = project.run(VALIDATE, cni_node_conflist_files=write_conflists(project, GOOD, ODD)).succeeded()
    assert "warning: " in played.output
    assert "(unknown-key)" in played.output
    assert "0 errors and 1 warning in 2 files and the variables of 0 hosts" in played.output


def test_a_list_may_be_one_item_per_line(project: Project) -> None:
    assert (
        "in 2 files"
        in project.run(VALIDATE, cni_node_conflist_files="\n".join(write_conflists(project, GOOD, ODD))).output
    )


def test_an_error_fails_after_all_findings_are_shown(project: Project) -> None:
    files = [*write_conflists(project, GOOD, ODD, TYPO), str(project.path), "nowhere.conflist"]
    played = project.run(VALIDATE, cni_node_conflist_files=files)
    assert played.status != 0
    for code in ("misspelled-key", "unknown-key", "unreadable"):
        assert f"({code})" in played.output
    assert "3 errors and 1 warning in 5 files" in played.output


def test_a_warning_fails_in_strict_mode(project: Project) -> None:
    files = write_conflists(project, ODD)
    assert project.run(VALIDATE, cni_node_conflist_files=files, cni_node_validate_strict=True).status != 0
    levels = ["specification", "consistency"]
    project.run(
        VALIDATE, cni_node_conflist_files=files, cni_node_validate_strict="true", cni_node_validate_levels=levels
    ).succeeded()


MANIFEST = """\
# A network of the lab.
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: {name}
  namespace: lab
spec:
  config: '{{
    "cniVersion": "1.0.0",
    "type": "macvlan",
    "{key}": "eth0"
  }}'
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {{name: {name}-of-the-node}}
---
kind: Pod
"""


def test_manifests_of_a_directory_are_validated_with_the_lines_of_their_files(project: Project) -> None:
    project.write("manifests/a.yaml", MANIFEST.format(name="a", key="master"))
    project.write("manifests/b.yml", MANIFEST.format(name="b", key="mastr"))
    project.write("manifests/c.yaml", "metadata: {{ name }}: [")
    listed = {"cni_node_conflist_files": "{{ query('ansible.builtin.fileglob', manifests ~ '/*.y*ml') | sort }}"}
    played = project.run(VALIDATE, manifests=str(project.path / "manifests"), **listed)
    assert played.status != 0
    assert "b.yml, line 11: lab/b: /mastr: the key 'mastr' is unknown to macvlan" in played.output
    assert "c.yaml, line 1: this is not valid YAML: line 1, " in played.output
    assert "info: " in played.output
    assert "a-of-the-node: /spec/config: the manifest contains no network configuration" in played.output
    assert "skipped 1 document of other kinds: Pod (1)" in played.output
    assert "2 errors and 0 warnings in 3 files" in played.output
    assert "Traceback" not in played.output
    listed = {"cni_node_conflist_files": str(project.path / "manifests/a.yaml")}
    played = project.run(VALIDATE, cni_node_validate_strict=True, **listed).succeeded()
    assert "0 errors and 0 warnings in 1 file" in played.output


def test_variables_and_templates_are_validated_as_the_module_does(project: Project) -> None:
    project.write("templates/net.j2", json.dumps(TYPO, indent=2))
    project.run(VALIDATE, cni_node_conflists=[{"config": GOOD}, {"config": ODD}]).succeeded()
    played = project.run(
        VALIDATE, cni_node_conflists=[{"config": GOOD}, {"template": str(project.path / "templates/net.j2")}]
    )
    assert played.status != 0
    assert "templates/net.j2, rendered, line 7: /plugins/0/isGatway: " in played.output


def test_attachments_are_validated_with_their_networks_in_files_and_in_variables(project: Project) -> None:
    given: JsonObject = {
        "cni_node_attachments": [{"network": "good", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}],
        "cni_node_validate_levels": ["specification", "node"],
    }
    for networks in (
        {"cni_node_conflist_files": write_conflists(project, GOOD)},
        {"cni_node_conflists": [{"config": GOOD}]},
    ):
        played = project.run(VALIDATE, **networks, **given)
        assert played.status != 0
        assert "attachments[0]: /capability_args/mac: " in played.output


def test_variables_may_be_those_of_an_import(project: Project) -> None:
    (good,) = write_conflists(project, GOOD)
    items = [{"network": "good", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}]
    given = {"cni_node_conflist_files": good, "cni_node_attachments": items}
    play = json.dumps([{"ansible.builtin.import_playbook": VALIDATE, "vars": given}])
    played = project.run(str(project.write("import.yml", play)))
    assert "(undeclared-capability)" in played.output


def _inventory(project: Project, **hosts: JsonObject) -> None:
    """Write an inventory of unreachable nodes, each with its own variables."""
    unreachable = {
        "ansible_connection": "ssh",
        "ansible_host": "192.0.2.1",
        "ansible_become": True,
        "ansible_python_interpreter": "/nowhere",
    }
    nodes = {name: {**unreachable, **variables} for name, variables in hosts.items()}
    project.inventory = str(project.write("inventory.yml", json.dumps({"nodes": {"hosts": nodes}})))


def test_variables_of_each_host_are_validated_and_equal_findings_shown_once(project: Project) -> None:
    subnet = {"config": {**GOOD, "name": "net", "plugins": [{"type": "bridge", "ipam": "{{ own_ipam }}"}]}}
    right, wrong = ({"type": "host-local", "subnet": subnet} for subnet in ("10.1.0.0/24", "10.1.0.1/24"))
    hosts: dict[str, JsonObject] = {
        "a": {"cni_node_conflists": [{"config": TYPO}, subnet], "own_ipam": right},
        "b": {"cni_node_conflists": [{"config": TYPO}, subnet], "own_ipam": wrong},
        "c": {"cni_node_conflists": "[]"},
        "d": {"cni_node_conflists": [{"template": "nowhere.j2"}]},
    }
    _inventory(project, **hosts)
    played = project.run(VALIDATE)
    assert played.status != 0
    assert played.output.count("(misspelled-key)") == 1
    assert "error: a, b: conflists[0]: /plugins/0/isGatway: " in played.output
    assert "error: b: conflists[1]: /plugins/0/ipam/subnet: 10.1.0.1/24 is an address inside" in played.output
    assert "error: d: conflists[0]: template nowhere.j2 cannot be rendered" in played.output
    assert "3 errors and 0 warnings in 0 files and the variables of 3 hosts" in played.output
    assert "Traceback" not in played.output
    hosts = {"a": {"cni_node_conflists": [subnet], "own_ipam": right}, "b": {"cni_node_conflists": []}}
    _inventory(project, **hosts)
    assert "0 errors" in project.run(VALIDATE).succeeded().output


def test_a_misspelled_variable_of_one_host_is_found(project: Project) -> None:
    hosts: dict[str, JsonObject] = {
        "a": {"cni_node_conflists": [{"config": GOOD}]},
        "b": {"cni_node_conflist": [{"config": GOOD}]},
    }
    _inventory(project, **hosts)
    played = project.run(VALIDATE)
    assert played.status != 0
    assert "error: b: cni_node_conflist: the variable is unknown; did you mean cni_node_conflists?" in played.output
    assert "1 error and 0 warnings in 0 files and the variables of 2 hosts" in played.output
    played = project.run(VALIDATE, cni_node_conflist_files=write_conflists(project, TYPO), cni_node_zzz=5)
    assert played.status != 0
    assert "error: a, b: cni_node_zzz: the variable is unknown; names that begin with cni_node_ belong" in played.output
    assert "/plugins/0/isGatway: " in played.output


def test_networks_of_two_hosts_that_assign_the_same_addresses_are_found(project: Project) -> None:
    ipam = {"type": "host-local", "subnet": "{{ own_subnet }}"}
    networks = [{"config": {**GOOD, "name": "pods", "plugins": [{"type": "bridge", "ipam": ipam}]}}]
    subnets = {"a": "10.64.1.0/24", "b": "10.64.2.0/24", "c": "10.64.2.128/25"}
    hosts = {name: {"cni_node_conflists": networks, "own_subnet": subnet} for name, subnet in subnets.items()}
    _inventory(project, **hosts)
    played = project.run(VALIDATE)
    assert played.status != 0
    assert "10.64.2.1 to 10.64.2.254 of the network 'pods' on b overlaps with 10.64.2.129 to " in played.output
    assert "1 error and 0 warnings in 0 files and the variables of 3 hosts" in played.output


def test_a_value_other_than_a_list_of_networks_is_a_finding(project: Project) -> None:
    write_inventory(project, {"one": {"cni_node_conflists": False}, "two": {"cni_node_conflists": [{"config": TYPO}]}})
    played = project.run(VALIDATE)
    assert "error: one: conflists: " in played.output
    assert "error: two: conflists[0]: /plugins/0/isGatway: " in played.output


def test_without_an_inventory_the_variables_of_the_command_line_are_validated(project: Project) -> None:
    project.inventory = str(project.write("empty.yml", "all: {hosts: {}}\n"))
    played = project.run(VALIDATE, cni_node_conflists=[{"config": TYPO}])
    assert "error: localhost: conflists[0]: /plugins/0/isGatway: " in played.output


def test_validate_fails_if_there_is_nothing_to_validate(project: Project) -> None:
    played = project.run(VALIDATE)
    assert played.status != 0
    assert "nothing to validate: set cni_node_conflist_files" in played.output


def test_blank_lines_and_an_empty_list_are_ignored(project: Project) -> None:
    (good,) = write_conflists(project, GOOD)
    assert "in 1 file and" in project.run(VALIDATE, cni_node_conflist_files=f"\n {good}\n\n").succeeded().output
    played = project.run(VALIDATE, cni_node_conflists="[]", cni_node_conflist_files="\n")
    assert played.status != 0
    assert "nothing to validate: " in played.output


def test_validate_fails_without_a_level(project: Project) -> None:
    played = project.run(
        VALIDATE, cni_node_conflist_files=write_conflists(project, TYPO), cni_node_validate_levels=["node"]
    )
    assert played.status != 0
    assert "cni_node_validate_levels: this playbook has no node for the level 'node'" in played.output


def write_inventory(project: Project, hosts: JsonObject) -> None:
    project.inventory = str(project.write("hosts.json", json.dumps({"all": {"hosts": hosts}})))


def test_no_host_is_contacted_not_even_localhost(project: Project) -> None:
    """Describe a localhost without an SSH server, which `-i localhost,` would connect to."""
    unreachable = {"ansible_connection": "ssh", "ansible_port": 9, "ansible_become": True}
    write_inventory(project, {"localhost": {**unreachable, "ansible_python_interpreter": "/nowhere/python"}})
    played = project.run(VALIDATE, cni_node_conflists=[{"config": GOOD}]).succeeded()
    assert "0 errors and 0 warnings in 0 files and the variables of 1 host" in played.output


def list_tasks(value: object) -> t.Iterator[JsonObject]:
    """Yield each task of a playbook or a file of tasks, those in blocks included."""
    for entry in value if isinstance(value, list) else []:
        yield entry
        for key in ("tasks", "block", "rescue", "always"):
            yield from list_tasks(entry.get(key))


def test_every_task_on_the_controller_is_local_whatever_the_inventory_says() -> None:
    files = [*PLAYBOOK.parent.glob("*.yml"), *PLAYBOOK.parents[1].glob("roles/*/*/*.yml")]
    tasks = [task for file in files for task in list_tasks(yaml.safe_load(file.read_text(encoding="utf-8")))]
    delegated = [task for task in tasks if task.get("delegate_to") == "localhost"]
    assert len(delegated) >= 2
    local = {
        "ansible_connection": "local",
        "ansible_become": False,
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    assert [task["name"] for task in delegated if not task.get("vars", {}).items() >= local.items()] == []


def test_a_variable_that_uses_facts_is_one_finding_and_hides_no_other(project: Project) -> None:
    parent = "{{ ansible_facts['default_ipv4']['interface'] }}"
    macvlan = {**GOOD, "name": "lan", "plugins": [{"type": "macvlan", "master": parent, "ipam": {"type": "dhcp"}}]}
    uses_facts = {"cni_node_conflists": [{"config": macvlan}], "cni_node_attachments": [{"network": parent}]}
    write_inventory(project, {"one": uses_facts, "two": {"cni_node_conflists": [{"config": TYPO}]}})
    played = project.run(VALIDATE, cni_node_conflist_files=write_conflists(project, ODD))
    assert played.status != 0
    assert played.output.count("one: cni_node_conflists: it cannot be evaluated: ") == 1
    assert "facts of the node are not gathered here: use fact caching, or set the value (invalid-configuration)" in (
        played.output
    )
    assert "(misspelled-key)" in played.output
    assert "(unknown-key)" in played.output
    assert "2 errors and 1 warning in 1 file and the variables of 2 hosts" in played.output


@pytest.mark.real_programs
def test_an_error_of_the_controller_is_not_a_finding_about_a_configuration(project: Project) -> None:
    write_inventory(project, {"localhost": {"ansible_remote_tmp": "/proc/none"}})
    played = project.run(VALIDATE, cni_node_conflists=[{"config": GOOD}])
    assert played.status != 0
    assert "/proc/none" in played.output
    assert "(invalid-configuration)" not in played.output


def test_a_template_in_a_file_is_shown_and_not_evaluated(project: Project) -> None:
    evaluated = project.path / "evaluated"
    template = f"{{{{ lookup('pipe', 'touch {evaluated}') }}}}"
    files = write_conflists(project, {**GOOD, "plugins": [{"type": "acme", "note": template}]})
    played = project.run(VALIDATE, cni_node_conflist_files=files).succeeded()
    assert f"/plugins/0/note: the placeholder {template!r} is not filled in" in played.output.replace('\\"', '"')
    assert not evaluated.exists()


def test_findings_are_encoded_where_ansible_evaluates_templates_in_data() -> None:
    """Before ansible-core 2.19, these are facts and the items of loops. tests/integration/ansible/test_artifact.py runs such releases."""
    (play,) = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))
    facts = [fact for task in play["tasks"] for fact in task.get("ansible.builtin.set_fact", {}).values()]
    items = [task["loop"] for task in play["tasks"] if "loop" in task]
    assert facts
    assert [text for text in (*facts, *items) if "b64encode" not in text] == []


def test_the_playbook_validates_its_files_in_one_place_whose_result_is_kept() -> None:
    """A variable of the play would validate them again wherever it is used."""
    (play,) = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))
    assert "cni_node_conflist_files" not in json.dumps(play["vars"])
    (task,) = (task for task in play["tasks"] if "cni_node_conflist_files" in json.dumps(task))
    assert "cni_node_conflist_files" in json.dumps(task["ansible.builtin.set_fact"])
