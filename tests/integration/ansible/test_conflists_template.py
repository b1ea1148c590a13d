# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Templates of conflists are found and rendered as by ansible.builtin.template, and validated on the controller."""

from __future__ import annotations

import json

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.test_conflists import CONFLISTS, network_named
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

BUILTIN = "ansible.builtin.template"
TEMPLATE = """\
{# what nobody gets to see #}
{
  "cniVersion": "1.0.0",
  "name": "{{ name }}",
  "plugins": [
{% for mtu in mtus %}
    {"type": "loopback", "mtu": {{ mtu }}, "comment": "{{ place }}: \\u00e9 é {{ inventory_hostname }}"}{{ "" if loop.last else "," }}
{% endfor %}
  ]
}
"""


def variables(who: str) -> JsonObject:
    return {"name": f"{who}net", "mtus": [1400, 1500]}


def test_a_template_is_found_and_rendered_as_by_ansible(node: EngineNode, project: Project) -> None:
    """Find templates beside the playbook, in its templates directory, by an absolute path, and first of all in a role."""
    beside = project.write("beside.j2", TEMPLATE.replace("{{ place }}", "beside"))
    for directory in ("templates", "roles/lab/templates"):
        project.write(f"{directory}/net.conflist.j2", TEMPLATE.replace("{{ place }}", directory))
    project.write("templates/sub/included.j2", "{% include 'net.conflist.j2' %}")
    sources = {
        "one": "net.conflist.j2",
        "two": "beside.j2",
        "three": str(beside),
        "four": "sub/included.j2",
    }
    items = [
        {"template": source, "vars": variables(who), "filename": f"{who}.conflist"} for who, source in sources.items()
    ]
    reference = [
        task(f"{who} by Ansible itself", BUILTIN, {"src": source, "dest": f"/etc/cni/{who}"}, vars=variables(who))
        for who, source in sources.items()
    ]
    in_role = {"template": "net.conflist.j2", "vars": variables("role")}
    role = [
        task("in a role", CONFLISTS, {"conflists": [in_role]}),
        task(
            "role by Ansible itself",
            BUILTIN,
            {"src": "net.conflist.j2", "dest": "/etc/cni/role"},
            vars=variables("role"),
        ),
    ]
    project.write("roles/lab/tasks/main.yml", json.dumps(role))
    loop = task("in a loop", CONFLISTS, {"conflists": [{"template": "{{ item }}", "vars": variables("loop")}]})
    tasks = [*reference, *thrice("render", CONFLISTS, {"conflists": items}), {**loop, "loop": ["beside.j2"]}]
    played = project.play(tasks, "--diff", roles=["lab"], vars={"place": "of the play"}).succeeded()
    assert played.require_converged("render").files == {f"{who}.conflist": "created" for who in sources}
    assert played["in a role"].files == {"10-rolenet.conflist": "created"}
    assert (node.conf_dir / "10-loopnet.conflist").exists()
    for who in (*sources, "role"):
        written = node.conf_dir / ("10-rolenet.conflist" if who == "role" else f"{who}.conflist")
        assert written.read_bytes() == node.conf_dir.with_name(who).read_bytes()
    comments = {who: _comment(node, f"{who}.conflist") for who in sources}
    assert comments == {
        who: f"{place}: é é node" for who, place in zip(sources, ["templates", "beside", "beside", "templates"])
    }
    assert _comment(node, "10-rolenet.conflist") == "roles/lab/templates: é é node"
    assert '+  "name": "onenet",' in played.output


def _comment(node: EngineNode, filename: str) -> str:
    plugins = json.loads((node.conf_dir / filename).read_text(encoding="utf-8"))["plugins"]
    assert [plugin["mtu"] for plugin in plugins] == [1400, 1500]
    return str(plugins[0]["comment"])


def test_the_vars_of_an_item_take_precedence_and_end_with_it(node: EngineNode, project: Project) -> None:
    project.write("templates/net.j2", TEMPLATE)
    items = [
        {"template": "net.j2", "vars": {"name": "a", "place": "of the item"}},
        {"template": "net.j2", "name": "b"},
    ]
    variables = {"name": "b", "place": "of the task", "mtus": "{{ [1400, 1400 + 100] }}"}
    played = project.play([task("render", CONFLISTS, {"conflists": items}, vars=variables)]).succeeded()
    assert played["render"].files == {"10-a.conflist": "created", "10-b.conflist": "created"}
    assert _comment(node, "10-a.conflist") == "of the item: é é node"
    assert _comment(node, "10-b.conflist") == "of the task: é é node"


def test_a_template_that_cannot_be_rendered_reaches_no_node(project: Project) -> None:
    broken = project.write("templates/broken.j2", '{\n  "cniVersion": "1.0.0",\n  "name": {{ name }}\n  oops\n}\n')
    typed = project.write("templates/typed.j2", '{"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "a/b"}]}')
    project.write("templates/undefined.j2", '{"name": "{{ no_such_variable }}"}')
    project.write("templates/syntax.j2", '{"name": "{{ name"}')
    good = {"config": network_named("good")}
    bad = {
        "broken": (
            f"conflists[1]: template {broken}, rendered",
            "is not valid JSON: line 4, column 3: expecting ',' delimiter",
        ),
        "typed": (f"conflists[1]: template {typed}, rendered", "/plugins/0/type: 'a/b' is not a plugin type"),
        "undefined": ("conflists[1]: template undefined.j2 cannot be rendered: ", "'no_such_variable' is undefined"),
        "syntax": ("conflists[1]: template syntax.j2 cannot be rendered: ",),
        "none": (
            "conflists[1]: template none.j2 cannot be rendered: the controller has no such file; looked for ",
            str(project.path / "templates/none.j2"),
        ),
    }
    tasks = [
        task(name, CONFLISTS, {"conflists": [good, {"template": f"{name}.j2", "vars": {"name": '"a"'}}]})
        for name in bad
    ]
    both = {"template": "typed.j2", "config": network_named("a")}
    absent = {"template": "none.j2", "name": "good", "state": "absent"}
    tasks += [
        task("two forms", CONFLISTS, {"conflists": [both]}),
        task("absent", CONFLISTS, {"conflists": [absent]}),
    ]
    played = project.play(tasks)
    for name, fragments in bad.items():
        played[name].require_no_change().require_failure(*fragments)
    played["two forms"].require_no_change().require_failure(
        "parameters are mutually exclusive: config|template|content"
    )
    played["absent"].ok().require_no_change()
