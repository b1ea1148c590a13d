# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Job templates, surveys, workflows and schedules as code agree with the playbooks, the role and the rules of AWX."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows
from ansible_collections.cni.node.plugins.plugin_utils._known_variables import KNOWN_VARIABLES
from ansible_collections.cni.node.tests.support import awx

ROOT = pathlib.Path(__file__).parents[4]
CONTROLLER = ROOT / "extensions" / "controller"
CONFIG: JsonObject = {
    key: value for path in sorted((CONTROLLER / "config").glob("*.yml")) for key, value in awx.load(path).items()
}
TEMPLATES: dict[str, JsonObject] = {template["name"]: template for template in CONFIG["controller_templates"]}
WORKFLOWS: dict[str, JsonObject] = {workflow["name"]: workflow for workflow in CONFIG["controller_workflows"]}
QUESTIONS = [
    pytest.param(template, question, id=f"{name} {question['variable']}")
    for name, template in TEMPLATES.items()
    for question in template["survey_spec"]["spec"]
]
SPECIFICATION: JsonObject = awx.load(ROOT / "roles" / "cni_node" / "meta" / "argument_specs.yml")["argument_specs"]
OPTIONS: JsonObject = SPECIFICATION["main"]["options"]
# The keys that the roles of infra.aap_configuration read; they ignore others.
PROMPTS = {f"ask_{name}_on_launch" for name in ("limit", "verbosity", "job_type", "diff_mode", "tags")}
KEYS = {
    "controller_execution_environments": {"name", "description", "organization", "image", "pull"},
    "controller_projects": {
        *("name", "description", "organization", "scm_type", "scm_url", "scm_branch", "scm_update_on_launch"),
        *("scm_update_cache_timeout", "default_environment", "update_project", "wait"),
    },
    "controller_inventories": {"name", "description", "organization"},
    "controller_inventory_sources": {
        *("name", "organization", "inventory", "source", "source_project", "source_path", "overwrite"),
        *("overwrite_vars", "update_on_launch", "update_cache_timeout"),
    },
    "controller_credential_types": {"name", "description", "kind", "inputs", "injectors"},
    "controller_templates": {
        *("name", "description", "organization", "project", "inventory", "execution_environment", "credentials"),
        *("job_type", "job_slice_count", "allow_simultaneous", "playbook", "survey_enabled", "survey_spec", *PROMPTS),
    },
    "controller_workflows": {
        *("name", "description", "organization", "ask_limit_on_launch", "allow_simultaneous"),
        "simplified_workflow_nodes",
    },
    "controller_schedules": {"name", "unified_job_template", "organization", "rrule", "enabled"},
}
NODE_KEYS = {
    *("identifier", "unified_job_template", "approval_node", "success_nodes", "failure_nodes", "always_nodes"),
}


def list_texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from list_texts(part)


def read_default(template: JsonObject, variable: str) -> t.Any:
    """Return the default of a variable of the role, or of one that the template's playbook reads itself."""
    if variable in OPTIONS:
        return OPTIONS[variable]["default"]
    text = (ROOT / "playbooks" / template["playbook"]).read_text(encoding="utf-8")
    (default,) = set(re.findall(rf"{variable} \| default\(''\) \| cni\.node\.(?:or_default|batches)\('?([^')]+)", text))
    return default


@pytest.mark.parametrize("kind", KEYS)
def test_objects_have_known_keys_and_names_of_their_own(kind: str) -> None:
    objects = CONFIG[kind]
    assert [key for item in objects for key in item if key not in KEYS[kind]] == []
    assert len({item["name"] for item in objects}) == len(objects)


def test_configured_variables_are_read_by_a_role() -> None:
    assert {name for name in CONFIG if not name.startswith("cni_controller_")} == KEYS.keys()


def test_values_of_a_site_are_all_defined_and_all_used() -> None:
    site = awx.load(CONTROLLER / "config" / "site.yml")
    read = {name for text in list_texts(CONFIG) for name in re.findall(r"\bcni_controller_\w+", text)}
    assert read == site.keys()


def test_each_playbook_has_a_job_template() -> None:
    playbooks = sorted(template["playbook"] for template in TEMPLATES.values())
    assert playbooks == awx.offered_playbooks(CONTROLLER / "project")
    assert [name for name, template in TEMPLATES.items() if f"{name.split()[1]}.yml" != template["playbook"]] == []


def test_objects_refer_to_objects_that_exist() -> None:
    names = {kind: {item["name"] for item in CONFIG[kind]} for kind in KEYS}
    for template in TEMPLATES.values():
        assert template["project"] in names["controller_projects"]
        assert template["inventory"] in names["controller_inventories"]
        assert template["execution_environment"] in names["controller_execution_environments"]
    (source,) = CONFIG["controller_inventory_sources"]
    assert source["inventory"] in names["controller_inventories"]
    assert source["source_project"] in names["controller_projects"]
    assert (CONTROLLER / "project" / source["source_path"]).is_file()
    for schedule in CONFIG["controller_schedules"]:
        assert schedule["unified_job_template"] in TEMPLATES.keys() | WORKFLOWS.keys()


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_survey_is_accepted_by_the_controller(template: JsonObject) -> None:
    assert awx.survey_problems(template["survey_spec"]) == []


@pytest.mark.parametrize(("template", "question"), QUESTIONS)
def test_a_question_agrees_with_the_variable_that_it_asks_for(template: JsonObject, question: JsonObject) -> None:
    variable = question["variable"]
    assert variable in KNOWN_VARIABLES
    default = read_default(template, variable)
    # An answer would replace what the inventory says, so nothing is selected or written beforehand where it may say it.
    if question["type"] == "multiselect":
        assert question["default"] == ""
    elif question["default"] != "":
        given = question["default"]
        assert given == (str(default).lower() if isinstance(default, bool) else type(given)(default))
    if variable in OPTIONS and "choices" in OPTIONS[variable]:
        assert set(question["choices"]) == set(OPTIONS[variable]["choices"]) - {""}
    if question["type"] == "multiplechoice" and isinstance(default, bool):
        assert question["choices"] == ["false", "true"]
    if isinstance(default, int) and not isinstance(default, bool):
        assert question["type"] == "integer"


def test_the_page_lists_the_templates_and_what_they_ask_for() -> None:
    text = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(cni\.node \w+)` \| (.*) \|$", text, re.MULTILINE)
    asked = {name: [question["variable"] for question in TEMPLATES[name]["survey_spec"]["spec"]] for name in TEMPLATES}
    assert {name: re.findall(r"`(\w+)`", cell) for name, cell in rows} == asked


@pytest.mark.parametrize(
    ("name", "variable", "choices"),
    [
        ("cni.node provision", "cni_node_concerns", OPTIONS["cni_node_concerns"]["default"]),
        ("cni.node repair", "cni_node_repair_owners", ["cni.node", *sorted(rows.OWNER_NAMES)]),
        ("cni.node repair", "cni_node_repair_resources", ["rules", "interfaces"]),
        ("cni.node gc", "cni_node_gc_owners", sorted(rows.OWNER_NAMES)),
    ],
)
def test_a_list_offers_every_choice(name: str, variable: str, choices: list[str]) -> None:
    (question,) = [entry for entry in TEMPLATES[name]["survey_spec"]["spec"] if entry["variable"] == variable]
    assert question["choices"] == choices


def test_templates_that_start_without_a_person_have_no_required_question() -> None:
    nodes = [node for workflow in WORKFLOWS.values() for node in workflow["simplified_workflow_nodes"]]
    started = {item.get("unified_job_template") for item in (*nodes, *CONFIG["controller_schedules"])}
    asked = [entry for name in started & TEMPLATES.keys() for entry in TEMPLATES[name]["survey_spec"]["spec"]]
    assert [entry["variable"] for entry in asked if entry["required"]] == []


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_starts_once_and_links_nodes_that_exist(workflow: JsonObject) -> None:
    nodes = {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}
    assert {key for node in nodes.values() for key in node} <= NODE_KEYS
    linked = [
        name for node in nodes.values() for key, names in node.items() if key.endswith("_nodes") for name in names
    ]
    assert sorted([*linked, "verify"]) == sorted(nodes)
    for node in nodes.values():
        assert ("approval_node" in node) is not (node.get("unified_job_template") in TEMPLATES)
    # A limit of the workflow reaches its jobs.
    prompting = [item["ask_limit_on_launch"] for item in (workflow, *TEMPLATES.values())]
    assert all(prompting)


@pytest.mark.parametrize("schedule", CONFIG["controller_schedules"], ids=lambda schedule: str(schedule["name"]))
def test_a_schedule_is_accepted_by_the_controller(schedule: JsonObject) -> None:
    assert awx.schedule_problems(schedule["rrule"]) == []


def test_no_schedule_is_enabled_unless_the_site_names_it() -> None:
    assert CONFIG["cni_controller_schedules"] == []
    for schedule in CONFIG["controller_schedules"]:
        assert schedule["enabled"] == f"{{{{ '{schedule['name']}' in cni_controller_schedules }}}}"


def test_the_credential_of_a_mirror_sets_the_variables_of_its_user_and_hides_the_password() -> None:
    (kind,) = CONFIG["controller_credential_types"]
    injected = kind["injectors"]["extra_vars"]
    assert injected.keys() <= KNOWN_VARIABLES
    fields = {field["id"]: field for field in kind["inputs"]["fields"]}
    assert sorted(injected.values()) == [f"{{{{ {name} }}}}" for name in sorted(fields)]
    hidden = [name for name in injected if OPTIONS[name].get("no_log")]
    assert [f"{{{{ {name} }}}}" for name, field in fields.items() if field.get("secret")] == [
        injected[name] for name in hidden
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"type": "choice"}, "unknown type"),
        ({"required": "yes"}, "required is not bool"),
        ({"default": "green"}, "'green' is not a choice"),
        ({"default": ["red"]}, "has another type"),
        ({"choices": []}, "there is no list of choices"),
        ({"choices": "red\nblue"}, "there is no list of choices"),
        ({"type": "integer", "default": "1"}, "has another type"),
        ({"max": "9"}, "min or max is not a number"),
    ],
)
def test_surveys_that_the_controller_refuses_are_found(changes: JsonObject, problem: str) -> None:
    question = {
        "question_name": "Colour",
        "variable": "colour",
        "required": True,
        "type": "multiplechoice",
        "choices": ["red", "blue"],
        "default": "red",
    }
    survey: JsonObject = {"name": "x", "description": "y", "spec": [question]}
    assert awx.survey_problems(survey) == []
    assert problem in awx.survey_problems({**survey, "spec": [{**question, **changes}]})[0]
    assert awx.survey_problems({**survey, "spec": [question, question]}) == ["colour: asked more than once"]


@pytest.mark.parametrize(
    "rule",
    ["RRULE:FREQ=DAILY;INTERVAL=1", "DTSTART:20260101T000000Z RRULE:FREQ=DAILY", "DTSTART:20260101T000000 RRULE:x"],
)
def test_schedules_that_the_controller_refuses_are_found(rule: str) -> None:
    assert awx.schedule_problems(rule) != []
