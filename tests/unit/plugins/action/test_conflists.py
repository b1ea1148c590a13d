# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of conflists, with Ansible's own loader, templar and template look-up, and no node behind it."""

from __future__ import annotations

import json
import pathlib
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.action.encrypted import Encrypted

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar
from ansible.utils.collection_loader import AnsibleCollectionConfig

from ansible_collections.cni.node.plugins.action.conflists import ActionModule

CONFIG: JsonObject = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "lab"}]}
_ROUTES: list[JsonObject] = [{"dst": "0.0.0.0/0"}, {"dst": "0.0.0.0/0"}]
_IPAM: JsonObject = {"type": "host-local", "subnet": "10.1.0.0/24", "routes": _ROUTES}
ROUTE_TWICE: JsonObject = {**CONFIG, "plugins": [{"type": "ptp", "ipam": _IPAM}]}
TEXT = json.dumps(CONFIG)
TEMPLATE = '{"cniVersion": "1.0.0", "name": "{{ name }}", "plugins": [{"type": "{{ type }}"}]}\n'

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


class ConflistsAction(ActionModule):
    """An action that keeps the arguments for the module and returns a fixed result."""

    sent: JsonObject | None = None
    answer: t.ClassVar[JsonObject] = {}

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        self.sent = keywords["module_args"]
        return {"changed": True, "msg": "from the node", **self.answer}


class ConflistsController:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self._loader = DataLoader()
        self._loader.set_basedir(str(directory))

    def write(self, name: str, text: str = TEMPLATE) -> pathlib.Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *items: t.Any, **variables: t.Any) -> tuple[JsonObject, JsonObject | None]:
        """Return the result for Ansible, and the arguments that the node got."""
        action = self._action({"conflists": list(items), "probe": False}, variables)
        return action.run(task_vars=variables), action.sent

    def sent(self, item: t.Any, **variables: t.Any) -> JsonObject:
        """Return the item as the node got it."""
        result, sent = self.run(item, **variables)
        assert result["msg"] == "from the node", result
        assert sent is not None
        assert sent["probe"] is False
        (item_sent,) = sent["conflists"]
        return dict(item_sent)

    def find_refusal(self, item: t.Any, **variables: t.Any) -> str:
        """Return the message for an item that follows a good one; assert that the node got nothing."""
        result, sent = self.run({"config": CONFIG}, item, **variables)
        assert (result["failed"], sent) == (True, None)
        assert result["error"].keys() == {"code", "msg", "details"}
        return str(result["msg"])

    def run_with_validation(self, *items: t.Any, **validate: t.Any) -> tuple[JsonObject, JsonObject | None]:
        """Return the same as `run`, with the option `validate`."""
        action = self._action({"conflists": list(items), "validate": validate}, {})
        return action.run(task_vars={}), action.sent

    def _action(self, arguments: JsonObject, variables: JsonObject) -> ConflistsAction:
        task: t.Any = types.SimpleNamespace(
            args=arguments,
            async_val=0,
            check_mode=False,
            diff=False,
            get_search_path=lambda: [str(self.directory / "roles/lab"), str(self.directory)],
        )
        connection: t.Any = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir=str(self.directory)))
        templar = Templar(loader=self._loader, variables=variables)
        play_context: t.Any = types.SimpleNamespace()
        return ConflistsAction(task, connection, play_context, self._loader, templar, None)


@pytest.fixture(scope="module", autouse=True)
def ansible_builtin() -> t.Iterator[None]:
    """Make the collection ansible.builtin available, as a controller does when it starts.

    All other tests import this collection as Python does.
    """
    if AnsibleCollectionConfig.collection_finder is not None:
        yield
        return
    init_plugin_loader()
    yield
    t.cast("t.Any", AnsibleCollectionConfig.collection_finder)._remove()


@pytest.fixture
def controller(tmp_path: pathlib.Path) -> ConflistsController:
    return ConflistsController(tmp_path)


@pytest.mark.parametrize("item", [{"config": CONFIG}, {"content": TEXT}, {"state": "absent", "name": "net"}], ids=str)
def test_an_item_without_a_template_reaches_the_node_unchanged(
    controller: ConflistsController, item: JsonObject
) -> None:
    assert controller.sent(item) == item


def test_content_given_as_text_is_parsed(controller: ConflistsController) -> None:
    """Before ansible-core 2.19, a variable with JSON text has become data before any plugin sees it."""
    assert controller.sent({"content": CONFIG, "priority": 5}) == {"config": CONFIG, "priority": 5}


@pytest.mark.parametrize("form", [str, Encrypted])
def test_text_that_the_module_parses_is_parsed_on_the_controller(controller: ConflistsController, form: type) -> None:
    """Since ansible-core 2.19, a variable with JSON text stays text."""
    assert controller.sent({"config": form(TEXT)}) == {"config": CONFIG}
    assert controller.sent(form(json.dumps({"config": CONFIG}))) == {"config": CONFIG}
    assert controller.sent({"content": form(TEXT), "state": form("present")}) == {"content": TEXT, "state": "present"}


def test_an_encrypted_path_of_a_template_is_rendered(controller: ConflistsController) -> None:
    controller.write("templates/net.j2", TEXT)
    assert controller.sent({"template": Encrypted("net.j2")}) == {"content": TEXT}


def test_a_template_becomes_content_and_other_keys_are_unchanged(controller: ConflistsController) -> None:
    controller.write("templates/net.j2")
    item = {"template": "net.j2", "vars": {"name": "db"}, "priority": 5, "name": "db"}
    expected = {
        "priority": 5,
        "name": "db",
        "content": TEMPLATE.replace("{{ name }}", "db").replace("{{ type }}", "lab"),
    }
    assert controller.sent(item, type="lab", name="of the task") == expected


def test_vars_apply_to_one_item(controller: ConflistsController) -> None:
    controller.write("templates/net.j2")
    items = [{"template": "net.j2", "vars": {"name": "one"}}, {"template": "net.j2"}]
    dummy, sent = controller.run(*items, type="lab", name="of-the-task")
    assert sent is not None
    names = [json.loads(conflist["content"])["name"] for conflist in sent["conflists"]]
    assert names == ["one", "of-the-task"]


def test_templates_are_looked_for_in_the_role_first(controller: ConflistsController) -> None:
    places = ["roles/lab/templates/net.j2", "roles/lab/net.j2", "templates/net.j2", "net.j2"]
    for place in places:
        controller.write(place, TEMPLATE.replace("{{ name }}", place.replace("/", ".")))
    for place in places:
        content = controller.sent({"template": "net.j2"}, type="lab")["content"]
        assert json.loads(content)["name"] == place.replace("/", ".")
        (controller.directory / place).unlink()
    elsewhere = controller.write("elsewhere/net.j2")
    content = controller.sent({"template": str(elsewhere)}, type="lab", name="absolute")["content"]
    assert json.loads(content)["name"] == "absolute"


def test_rendered_text_is_sent_byte_for_byte(controller: ConflistsController) -> None:
    """Ansible turns text that looks like data into data, `true` into True, and drops the surrounding text."""
    text = '\n{ "name": "net",  "cniVersion": "1.0.0",\n\t"plugins": [{"type": "lab", "flag": true, "big": 9007199254740993}] }\n\n'
    controller.write("templates/net.j2", text)
    content = controller.sent({"template": "net.j2"})["content"]
    assert (content, type(json.loads(content))) == (text, dict)


@pytest.mark.parametrize("key", ["config", "content"])
def test_an_item_with_two_forms_of_content_is_passed_to_the_module(controller: ConflistsController, key: str) -> None:
    item = {"template": "nowhere.j2", key: CONFIG}
    assert controller.sent(item) == item


@pytest.mark.parametrize(
    "item",
    [{"config": CONFIG}, {"config": TEXT}, {"content": TEXT}, {"content": CONFIG}, {"template": "net.j2"}],
    ids=str,
)
def test_an_absent_network_has_the_name_of_its_configuration(controller: ConflistsController, item: JsonObject) -> None:
    controller.write("templates/net.j2")
    sent = controller.sent({**item, "state": "absent", "priority": 5}, name="net", type="lab")
    assert sent == {"name": "net", "state": "absent", "priority": 5}


@pytest.mark.parametrize("given", [{"name": "other"}, {"filename": "other.conflist"}], ids=str)
def test_an_absent_network_that_is_named_has_that_name(controller: ConflistsController, given: JsonObject) -> None:
    item = {"config": CONFIG, "state": "absent", **given}
    assert controller.sent(item) == item


def test_an_absent_network_without_a_name_is_refused_with_its_place(controller: ConflistsController) -> None:
    nameless = {"cniVersion": "1.0.0", "plugins": []}
    assert controller.find_refusal({"config": nameless, "state": "absent"}).startswith(
        "conflists[1]: /name: the key 'name' is missing"
    )
    assert controller.find_refusal({"content": "{", "state": "absent"}).startswith("conflists[1] is not valid JSON: ")
    assert controller.find_refusal({"content": "[]", "state": "absent"}).startswith("conflists[1] is not valid JSON: ")


def test_an_absent_item_without_a_configuration_is_refused_by_the_node(controller: ConflistsController) -> None:
    assert controller.sent({"state": "absent"}) == {"state": "absent"}


def test_an_absent_network_needs_no_template(controller: ConflistsController) -> None:
    item = {"template": "nowhere.j2", "name": "net", "state": "absent"}
    assert controller.sent(item) == item


@pytest.mark.parametrize("items", ["text", None, 5, {"config": CONFIG}])
def test_items_of_a_wrong_form_are_passed_to_the_module(controller: ConflistsController, items: t.Any) -> None:
    action = controller._action({"conflists": items}, {})
    assert action.run(task_vars={})["msg"] == "from the node"
    assert action.sent == {"conflists": items}
    assert controller.sent({"config": "text"}) == {"config": "text"}


def test_an_item_that_is_not_a_mapping_is_passed_to_the_module(controller: ConflistsController) -> None:
    dummy, sent = controller.run("text", 5)
    assert sent is not None
    assert sent["conflists"] == ["text", 5]


BAD: dict[str, tuple[JsonObject, tuple[str, ...]]] = {
    "a misspelled key": ({"conf": CONFIG}, ("conflists[1]: the key 'conf' is unknown here; did you mean config?",)),
    "an unknown key": (
        {"name": "net", "state": "absent", "colour": "red"},
        (
            "conflists[1]: the key 'colour' is unknown here; expected: config, template, vars, content, name, priority, ",
        ),
    ),
    "text": ({"content": "{\n  oops\n}"}, ("conflists[1], line 2: this is not valid JSON: line 2, column 3: ",)),
    "empty text": ({"content": ""}, ("conflists[1], line 1: this is not valid JSON: it is empty",)),
    "data": ({"config": {**CONFIG, "cniVersion": "9.9.9"}}, ("conflists[1]: /cniVersion: unknown version '9.9.9'",)),
    "data that is not JSON": (
        {"config": {**CONFIG, "x": {1, 2}}},
        ("conflists[1]: the configuration cannot be written as JSON: ",),
    ),
    "not a number": (
        {"config": {**CONFIG, "x": float("nan")}},
        ("conflists[1]: this is not valid JSON: NaN is not a",),
    ),
    "undefined": (
        {"template": "undefined.j2"},
        ("conflists[1]: template undefined.j2 cannot be rendered: ", "'nowhere' is undefined"),
    ),
    "syntax": ({"template": "syntax.j2"}, ("conflists[1]: template syntax.j2 cannot be rendered: ",)),
    "missing": (
        {"template": "missing.j2"},
        (
            "conflists[1]: template missing.j2 cannot be rendered: the controller has no such file; looked for /",
            "/roles/lab/templates/missing.j2, ",
            'for a file beside the inventory, begin with "{{ inventory_dir }}/"',
        ),
    ),
    "missing at an absolute path": (
        {"template": "/nowhere/missing.j2"},
        ("the controller has no such file; looked for /nowhere/missing.j2",),
    ),
    "vars": ({"template": "net.j2", "vars": "text"}, ("conflists[1]: template net.j2 cannot be rendered: ", "text")),
}


@pytest.mark.parametrize(("item", "fragments"), BAD.values(), ids=BAD)
def test_an_error_names_its_place_and_stops_the_task_before_the_node(
    controller: ConflistsController, item: JsonObject, fragments: tuple[str, ...]
) -> None:
    controller.write("templates/net.j2")
    controller.write("templates/undefined.j2", "{{ nowhere }}")
    controller.write("templates/syntax.j2", "{{ name")
    message = controller.find_refusal(item)
    for fragment in fragments:
        assert fragment in message
    assert "remote_src" not in message


def test_broken_rendered_text_names_the_template_and_the_line(controller: ConflistsController) -> None:
    path = controller.write("templates/net.j2", '{\n  "name": "{{ name }}"\n  oops\n}\n')
    message = controller.find_refusal({"template": "net.j2", "vars": {"name": "db"}})
    assert message.startswith(f"conflists[1]: template {path}, rendered")
    assert "is not valid JSON: line 3, column 3: expecting ',' delimiter" in message


TYPOS: JsonObject = {
    **CONFIG,
    "name": "typos",
    "plugins": [{"type": "bridge", "isGatway": True, "vlan": 5000, "colour": "red"}],
}
ODD: JsonObject = {**CONFIG, "name": "odd", "plugins": [{"type": "bridge", "colour": "red"}]}


def codes(result: JsonObject) -> list[tuple[str, str]]:
    return [(finding["file"], finding["code"]) for finding in result["findings"]]


def test_the_errors_of_all_items_are_reported_at_once(controller: ConflistsController) -> None:
    result, sent = controller.run_with_validation({"config": TYPOS}, {"config": CONFIG}, {"content": "{"})
    assert (result["failed"], sent) == (True, None)
    assert codes(result) == [
        ("conflists[0]", "misspelled-key"),
        ("conflists[0]", "unknown-key"),
        ("conflists[0]", "out-of-range"),
        ("conflists[2]", "not-json"),
    ]
    assert result["msg"].startswith("3 errors in network configurations; conflists[0]: /plugins/0/isGatway: ")
    assert [warning.rpartition(" ")[2] for warning in result["warnings"]] == ["(unknown-key)"]


@pytest.mark.parametrize("form", [str, Encrypted])
@pytest.mark.parametrize("key", ["config", "content"])
def test_a_network_given_as_text_is_validated_like_data(controller: ConflistsController, key: str, form: type) -> None:
    result, sent = controller.run_with_validation({key: form(json.dumps(TYPOS))})
    assert ([code for dummy, code in codes(result)], sent) == (["misspelled-key", "unknown-key", "out-of-range"], None)


def test_networks_of_one_node_are_compared(controller: ConflistsController) -> None:
    result, sent = controller.run_with_validation({"config": CONFIG}, {"content": TEXT})
    assert (codes(result), sent) == ([("conflists[1]", "duplicate-network")], None)


def test_a_warning_does_not_stop_the_task(controller: ConflistsController) -> None:
    result, sent = controller.run_with_validation({"config": ODD})
    assert (codes(result), result["msg"]) == ([("conflists[0]", "unknown-key")], "from the node")
    assert len(result["warnings"]) == 1
    assert sent is not None


@pytest.mark.parametrize("builtin", [{}, {"builtin": "missing"}, {"builtin": "always"}])
def test_a_route_that_is_given_twice_is_a_warning_if_built_in_plugins_may_run(
    controller: ConflistsController, builtin: JsonObject
) -> None:
    action = controller._action({"conflists": [{"config": ROUTE_TWICE}], **builtin}, {})
    result = action.run(task_vars={})
    assert (codes(result), result["msg"]) == ([("conflists[0]", "route-twice")], "from the node")
    assert [finding["severity"] for finding in result["findings"]] == ["warning"]


def test_a_route_that_is_given_twice_is_an_error_if_only_executables_run(controller: ConflistsController) -> None:
    action = controller._action({"conflists": [{"config": ROUTE_TWICE}], "builtin": "never"}, {})
    result = action.run(task_vars={})
    assert (codes(result), action.sent) == ([("conflists[0]", "route-twice")], None)
    assert [finding["severity"] for finding in result["findings"]] == ["error"]


@pytest.mark.parametrize("strict", [True, "yes"])
def test_a_warning_is_an_error_with_strict(controller: ConflistsController, strict: t.Any) -> None:
    result, sent = controller.run_with_validation({"config": ODD}, strict=strict)
    assert (result["failed"], sent, "warnings" in result) == (True, None, False)


def test_only_the_requested_levels_are_checked(controller: ConflistsController) -> None:
    result, sent = controller.run_with_validation({"config": TYPOS}, levels=["specification", "consistency"])
    assert (codes(result), result["msg"]) == ([], "from the node")
    result, sent = controller.run_with_validation({"config": {**CONFIG, "name": "a/b"}}, levels=[])
    assert (result["findings"], sent) == ([], None)
    assert "'a/b' is not a network name" in result["msg"]


@pytest.mark.parametrize(
    "validate",
    ["levels=specification", '{"levels": "specification"}', {"levels": "specification,consistency"}],
    ids=str,
)
def test_levels_given_as_text_are_read_as_in_the_module(controller: ConflistsController, validate: t.Any) -> None:
    action = controller._action({"conflists": [{"config": TYPOS}], "validate": validate}, {})
    result = action.run(task_vars={})
    assert (codes(result), result["msg"]) == ([], "from the node")
    assert action.sent is not None
    assert action.sent["validate"] == validate


def test_an_option_given_as_text_stops_the_task_like_data(controller: ConflistsController) -> None:
    action = controller._action({"conflists": [{"config": ODD}], "validate": "strict=yes"}, {})
    assert (action.run(task_vars={})["failed"], action.sent) == (True, None)


def test_attachments_given_as_text_are_validated(controller: ConflistsController) -> None:
    attachment = '{"network": "net", "capability_args": {"mac": "02:00:00:00:00:01"}}'
    result, sent = controller.run_with_validation({"config": CONFIG}, attachments=[attachment])
    assert (codes(result), sent) == ([("attachments[0]", "undeclared-capability")], None)


def test_findings_of_the_node_follow_those_of_the_controller(
    controller: ConflistsController, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_the_node = {"file": "/etc/cni/net.d/10-net.conflist", "code": "shadowed-network"}
    monkeypatch.setattr(ConflistsAction, "answer", {"findings": [of_the_node], "warnings": ["it is shadowed"]})
    result, dummy = controller.run_with_validation({"config": ODD}, levels=["schema", "node"])
    assert codes(result) == [("conflists[0]", "unknown-key"), tuple(of_the_node.values())]
    assert [warning.rpartition(" ")[2] for warning in result["warnings"]] == ["shadowed", "(unknown-key)"]


def test_attachments_are_validated_with_their_network_and_not_sent(controller: ConflistsController) -> None:
    attachment = {"network": "net", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}
    result, sent = controller.run_with_validation({"config": CONFIG}, attachments=[attachment])
    assert (codes(result), sent) == ([("attachments[0]", "undeclared-capability")], None)
    result, sent = controller.run_with_validation(
        {"config": CONFIG}, attachments=[{**attachment, "network": "other"}], strict=True
    )
    assert (result["findings"], sent and sent["validate"]) == ([], {"strict": True})
    result, sent = controller.run_with_validation({"config": CONFIG}, attachments=[])
    assert sent is not None
    assert sent["validate"] == {}


def test_attachments_of_a_wrong_form_are_passed_to_the_module(controller: ConflistsController) -> None:
    for attachments in ("all", [5]):
        dummy, sent = controller.run_with_validation({"config": CONFIG}, attachments=attachments)
        assert sent is not None
        assert sent["validate"] == {"attachments": attachments}


def test_an_unknown_level_is_refused(controller: ConflistsController) -> None:
    result, sent = controller.run_with_validation({"config": CONFIG}, levels=["scheme"])
    assert (result["failed"], sent) == (True, None)
    assert "expected: a list of schema, specification, consistency, node" in result["msg"]


def test_a_finding_in_rendered_text_has_the_template_and_the_line(controller: ConflistsController) -> None:
    path = controller.write("templates/net.j2", TEMPLATE.replace(', "plugins"', ',\n\n "plugins"'))
    action = controller._action({"conflists": [{"template": "net.j2", "vars": {"name": "n", "type": "a/b"}}]}, {})
    (finding,) = action.run(task_vars={})["findings"]
    assert (finding["file"], finding["line"]) == (f"conflists[0]: template {path}, rendered", 3)
