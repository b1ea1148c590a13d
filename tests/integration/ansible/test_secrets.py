# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No secret is shown, returned or kept, whether a task succeeds or fails."""

from __future__ import annotations

import json
import pathlib
import urllib.parse

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project, task
from ansible_collections.cni.node.tests.integration.ansible.test_plugins import PLUGINS
from ansible_collections.cni.node.tests.integration.ansible.test_plugins_download import OTHER
from ansible_collections.cni.node.tests.integration.ansible.test_survey import ROLES
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, wait_for_result
from ansible_collections.cni.node.tests.support import ring

pytestmark = pytest.mark.real_programs

TOP = pathlib.Path(__file__).parents[3]

PASSWORD = "s3/cr@t:wörd"
ENCODED = urllib.parse.quote(PASSWORD, safe="")
IN_URL = f"//me:{ENCODED}@"
# Ansible itself shows the source lines of a failed task.
SECRETS = {"secret": PASSWORD, "encoded": ENCODED}
BY_VARIABLE = "//me:{{ encoded }}@"


def _hidden(played: PlaybookRun, node: EngineNode) -> None:
    shown = played.output + json.dumps([task.result for task in played.tasks])
    kept = [path for top in (node.cache_dir, releases.BIN_DIR.parent) for path in top.rglob("*") if path.is_file()]
    for secret in (PASSWORD, ENCODED, json.dumps(PASSWORD)[1:-1], "s3/cr", "@t:w", "s3%2F"):
        assert secret not in shown
        assert [path for path in kept if secret.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("way", ["in the URL", "by options"])
def test_the_password_of_a_mirror_is_neither_shown_nor_stored(
    node: EngineNode, project: Project, tmp_path: pathlib.Path, way: str
) -> None:
    archive = releases.release(tmp_path / "www" / "plugins.tgz", "static")
    with releases.served(archive.parent, f"me:{PASSWORD}") as server:
        url, options = f"{server.url}/plugins.tgz", {"url_username": "me", "url_password": "{{ secret }}"}
        given: JsonObject = (
            {"source": url.replace("//", BY_VARIABLE)} if way == "in the URL" else {"source": url, **options}
        )
        arguments = {**given, "checksum": releases.checksum(archive), "version": "1"}
        failing = {
            "digest": {**arguments, "checksum": OTHER},
            "no digest": {**given, "source": given["source"] + "?x"},
            "missing": {**arguments, "source": given["source"] + ".gz"},
            "nobody": {**arguments, "source": given["source"].replace("127.0.0.1", "127.0.0.2")},
            "no number": {**arguments, "keep": "many"},
            "no option": {**arguments, "odd": 1},
            "other version": {
                **arguments,
                "source": given["source"].replace("plugins.tgz", "cni-plugins-linux-amd64-v1.9.1.tgz"),
            },
            "both": {**arguments, "source": f"http:{BY_VARIABLE}127.0.0.1/plugins.tgz", **options},
            "no scheme": {**arguments, "source": f"ftp:{BY_VARIABLE}127.0.0.1/plugins.tgz"},
            "no port": {**arguments, "source": "http://me:{{ secret }}@127.0.0.1/plugins.tgz"},
            "on the node": {**arguments, "source": f"ftp:{BY_VARIABLE}127.0.0.1/plugins.tgz", "remote_src": True},
        }
        tasks = [task(name, PLUGINS, faulty) for name, faulty in failing.items()]
        played = project.play([*tasks, task("install", PLUGINS, arguments)], "-vvv", "--diff", vars=SECRETS).succeeded()
    assert played["install"].ok().changed
    for name in failing:
        played[name].require_failure()
    played["no port"].require_failure("source: ", "%2F", "url_password")
    _hidden(played, node)
    source = played["install"].result["invocation"]["module_args"]["source"]
    assert source == f"{server.url}/plugins.tgz"


@pytest.mark.parametrize(("before", "after"), [("", "?sig=s3cr3t-t0ken"), ("s3cr3t-t0ken@", "")], ids=["query", "user"])
def test_a_token_in_a_url_is_neither_shown_nor_stored(
    node: EngineNode, project: Project, tmp_path: pathlib.Path, before: str, after: str
) -> None:
    archive = releases.release(tmp_path / "www" / "plugins.tgz", "static")
    with releases.served(archive.parent, "s3cr3t-t0ken:" if before else "") as server:
        url = f"{server.url}/plugins.tgz{after}".replace("//", f"//{before}")
        arguments = {"source": url, "checksum": releases.checksum(archive), "version": "1"}
        failing: dict[str, JsonObject] = {
            "digest": {**arguments, "checksum": OTHER},
            "no digest": {"source": url},
            "missing": {**arguments, "source": url.replace(".tgz", ".gz")},
            "nobody": {**arguments, "source": url.replace("127.0.0.1", "127.0.0.2")},
            "no number": {**arguments, "keep": "many"},
            "no option": {**arguments, "odd": 1},
            "no scheme": {**arguments, "source": url.replace("http", "ftp")},
            "space": {**arguments, "source": url.replace(".tgz", " .tgz")},
            "set": {"sets": [{"name": "mine", **arguments, "checksum": OTHER}]},
        }
        tasks = [task(name, PLUGINS, faulty) for name, faulty in failing.items()]
        played = project.play([*tasks, task("install", PLUGINS, arguments)], "-vvv", "--diff").succeeded()
        direct = wait_for_result(node.start("plugins", **{**arguments, "checksum": OTHER}))
    assert played["install"].ok().changed
    shown = server.url.replace("//", "//***@" if before else "//") + "/plugins.tgz" + ("?sig=***" if after else "")
    assert played["install"].result["invocation"]["module_args"]["source"] == shown
    played["digest"].require_failure(f"{shown} has the wrong digest")
    played["set"].require_failure(f"set mine: {shown} has the wrong digest")
    played["no digest"].require_failure(f"no digest is known for {shown}")
    direct.require_failure(f"{shown} has the wrong digest")
    played["no option"].require_failure("Unsupported parameters")
    assert "_urls" not in played["no option"].msg
    # Ansible itself shows the source lines of a failed task.
    results = json.dumps([played[name].result for name in (*failing, "install")] + [direct.result])
    assert "s3cr3t" not in results
    kept = [path for top in (node.cache_dir, releases.BIN_DIR.parent) for path in top.rglob("*") if path.is_file()]
    assert [path for path in kept if b"s3cr3t" in path.read_bytes()] == []


def test_the_role_shows_no_password_either(node: EngineNode, project: Project, tmp_path: pathlib.Path) -> None:
    archive = releases.release(tmp_path / "www" / "plugins.tgz", "static")
    with releases.served(archive.parent, f"me:{PASSWORD}") as server:
        variables = {
            "source": f"{server.url}/plugins.tgz",
            "url_username": "me",
            "url_password": PASSWORD,
            "checksum": releases.checksum(archive),
        }
        role = {
            "role": "cni.node.cni_plugins",
            "vars": {f"cni_plugins_{key}": value for key, value in variables.items()},
        }
        played = project.play([], "-vvv", roles=[role]).succeeded()
    assert played["Manage the plugins"].changed
    _hidden(played, node)


def test_the_module_hides_the_password_without_its_action_plugin(node: EngineNode) -> None:
    given = {"source": f"http:{IN_URL}127.0.0.2:9/plugins.tgz", "checksum": OTHER}
    done = wait_for_result(node.start("plugins", **given))
    done.require_failure("cannot download http://127.0.0.2:9/plugins.tgz: ")
    assert done.result["invocation"]["module_args"]["source"] == "http://127.0.0.2:9/plugins.tgz"
    assert not any(secret in json.dumps(done.result) for secret in (ENCODED, PASSWORD, "s3/cr"))


# These tasks get no network, attachment or source, or results that are hidden already.
WITHOUT_SECRETS = {"cni.node.netns", "cni.node.show"}


@pytest.mark.parametrize("role", ROLES)
def test_every_task_with_a_possible_secret_has_its_roles_no_log(role: str) -> None:
    tasks = [
        step for path in (TOP / "roles" / role / "tasks").glob("*.yml") for step in yaml.safe_load(path.read_text())
    ]
    own = [task for task in tasks if any(key.startswith("cni.node.") and key not in WITHOUT_SECRETS for key in task)]
    assert own
    switch = f"{{{{ {role}_no_log | cni.node.flag }}}}"
    assert [step["name"] for step in own if step.get("no_log") != switch] == []
    called = [task for task in tasks if "ansible.builtin.import_role" in task]
    assert bool(called) == (role == "cni_node")
    names = [step["ansible.builtin.import_role"]["name"].rpartition(".")[2] for step in called]
    assert [step["vars"].get(f"{name}_no_log") for step, name in zip(called, names)] == ["{{ cni_node_no_log }}"] * len(
        names
    )


@pytest.mark.parametrize("is_hidden", ring.sample(["yes", "y", ""], 3))
def test_no_log_hides_every_value_of_a_variable(node: EngineNode, project: Project, is_hidden: str) -> None:
    network = reference_networks.network({**reference_networks.PTP, "args": {"cni": {"token": PASSWORD}}})
    item = {"network": "net", "netns": "blue", "args": {"TOKEN": PASSWORD}}
    variables: JsonObject = {
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [item],
        "cni_node_concerns": ["kernel", "networks", "attachments"],
        "cni_node_packages": False,
        "cni_node_no_log": is_hidden,
    }
    plays = [
        project.run("cni.node.provision", "--check", "-vvv", "--diff", **variables),
        project.run("cni.node.validate", "-vvv", **variables),
    ]
    for played in plays:
        text = played.succeeded().output + json.dumps([task.result for task in played.tasks], ensure_ascii=False)
        shown = PASSWORD in text or json.dumps(PASSWORD)[1:-1] in text
        assert shown is not bool(is_hidden), text[text.find("s3/cr") - 300 :][:500]


@pytest.mark.parametrize("playbook", ["provision", "validate", "report"])
def test_an_invalid_no_log_is_refused_without_showing_values(project: Project, playbook: str) -> None:
    network = reference_networks.network({**reference_networks.PTP, "args": {"cni": {"token": PASSWORD}}})
    given = {"cni_node_conflists": [{"config": network}], "cni_node_no_log": "perhaps"}
    refused = project.run(f"cni.node.{playbook}", "-vvv", **given)
    assert refused.status != 0
    assert "'perhaps' is neither true nor false" in refused.output
    assert "cni_node_no_log" in refused.output
    assert json.dumps(PASSWORD)[1:-1] not in refused.output
    assert PASSWORD not in refused.output
