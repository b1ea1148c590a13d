# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Floors and rooms: imports go down only, rooms import permitted rooms only, and each floor has its own libraries.

modules, _command -> _module, _node -> _reference -> _cni, _linux -> _base. The rooms are the directories of _node and _validation.
"""

from __future__ import annotations

import ast
import collections
import functools
import pathlib
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import error
from tools import imports

COLLECTION = "ansible_collections.cni.node.plugins"
PLUGINS = pathlib.Path(error.__file__).parents[2]
BANNER = (
    "# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.\n"
    "# Do not use this from other collections or standalone plugins/modules!\n"
)

NODE = tuple(f"module_utils.{floor}" for floor in ("_base", "_cni", "_linux", "_reference", "_node", "_module"))
CONTROLLER = ("plugin_utils", "action", "become", "filter", "inventory", "test", "lookup")
# The modules of the collection that each floor may import besides itself.
MAY_IMPORT = {
    "module_utils._base": set(),
    "module_utils._cni": {"module_utils._base"},
    "module_utils._linux": {"module_utils._base"},
    "module_utils._reference": set(NODE[:3]),
    "module_utils._node": set(NODE[:4]),
    "module_utils._module": set(NODE[:5]),
    "module_utils._command": set(NODE),
    "modules": {"module_utils._base", "module_utils._module", "module_utils._node"},
    "doc_fragments": set(),
    **{floor: {"plugin_utils", *NODE} for floor in CONTROLLER},
}
# What each room may import of its neighbours; the files that lie beside the rooms may import them all.
ROOMS: dict[str, dict[str, set[str]]] = {
    "module_utils._node": {
        "files": set(),
        "library": {"files"},
        "conflists": {"files", "runtimes"},
        "plugins": {"files"},
        "kernel": {"files", "runtimes"},
        "runtimes": set(),
        "repair": {"runtimes"},
        "attachments": {"repair"},
        "gc": {"attachments", "runtimes"},
        "watch": {"repair"},
        "boot": {"attachments", "files", "library", "repair", "runtimes", "watch"},
        "info": {"files", "plugins", "runtimes", "watch"},
        "bundle": {"info"},
        "preflight": {"kernel", "plugins", "runtimes"},
        "trial": {"attachments"},
        "diagnosis": set(),
    },
    "plugin_utils._validation": {
        "schema": set(),
        "document": {"schema"},
        "manifests": {"document"},
        "rules": {"schema", "document"},
        "fleet": {"schema", "document", "rules"},
    },
}
# Packages are empty, except the one that keeps bytecode.
PACKAGES_WITH_CODE = {"plugin_utils.__init__"}
BESIDE_THE_ROOMS = {"plugin_utils._validation.inputs", "plugin_utils._validation.validate"}
# What each floor may import of others' besides the standard library.
LIBRARIES = {
    "module_utils._linux": {"pyroute2"},
    "module_utils._module": {"ansible"},
    "modules": {"ansible"},
    **{floor: {"ansible"} for floor in CONTROLLER},
    "plugin_utils": {"ansible", "jinja2", "jsonschema", "markupsafe", "yaml"},
}
# Python 3.9 has no list of its standard library.
STANDARD_LIBRARY: frozenset[str] | None = getattr(sys, "stdlib_module_names", None)
KNOWN_LIBRARIES = {"ansible", "jinja2", "jsonschema", "markupsafe", "pyroute2", "yaml"}


def sources() -> dict[str, str]:
    """Return the source of every Python file under plugins/, by its dotted name below it."""
    files = sorted(PLUGINS.rglob("*.py"))
    return {
        ".".join(path.relative_to(PLUGINS).with_suffix("").parts): path.read_text(encoding="utf-8") for path in files
    }


def floor_of(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "module_utils" else parts[0]


def room_of(name: str) -> tuple[str, str]:
    """Return the directory of rooms that a file is in, and its room; the room of a file beside the rooms is an empty string."""
    parts = name.split(".")
    directory = ".".join(parts[:2])
    if directory not in ROOMS:
        return "", ""
    return directory, parts[2] if len(parts) > 3 else ""


read_imports = functools.cache(imports.read_imports)


def list_own_imports(name: str, source: str, known: t.Collection[str]) -> set[str]:
    """Return the files of the collection that a file imports."""
    prefix = f"{COLLECTION}."
    below = {module[len(prefix) :] for module in read_imports(f"plugins.{name}", source) if module.startswith(prefix)}
    return {module for module in below if module in known}


def foreign(name: str, source: str) -> set[str]:
    """Return the libraries that a file imports, without the standard library."""
    tops = {module.split(".")[0] for module in read_imports(f"plugins.{name}", source)} - {"ansible_collections"}
    return tops & KNOWN_LIBRARIES if STANDARD_LIBRARY is None else tops - STANDARD_LIBRARY


def violations(files: t.Mapping[str, str]) -> list[str]:
    faults: list[str] = []
    for name, source in files.items():
        floor = floor_of(name)
        if floor not in MAY_IMPORT:
            faults.append(f"{name} is on no floor of the design")
            continue
        faults += _upwards(name, source, floor, files)
        faults += _rooms(name, source, files)
        faults += _libraries(name, source, floor)
        faults += _form(name, source)
    return faults + _circles({name: list_own_imports(name, source, files) for name, source in files.items()})


def _upwards(name: str, source: str, floor: str, files: t.Collection[str]) -> list[str]:
    allowed = MAY_IMPORT[floor] | {floor}
    # A module is on its own: it imports no other module.
    allowed -= {"modules"}
    return [
        f"{name} imports {other}"
        for other in sorted(list_own_imports(name, source, files))
        if floor_of(other) not in allowed
    ]


def _rooms(name: str, source: str, files: t.Collection[str]) -> list[str]:
    directory, room = room_of(name)
    if not directory or name in BESIDE_THE_ROOMS:
        return []
    if room not in ROOMS[directory]:
        return [f"{name} is in no room of the design"]
    allowed = {room, *ROOMS[directory][room]}
    others = {other: room_of(other) for other in sorted(list_own_imports(name, source, files))}
    return [
        f"{name} imports {other}"
        for other, (theirs, its) in others.items()
        if theirs == directory and its not in allowed
    ]


def _libraries(name: str, source: str, floor: str) -> list[str]:
    strange = foreign(name, source) - LIBRARIES.get(floor, set())
    return [f"{name} imports {library}, which {floor} does not have" for library in sorted(strange)]


def _form(name: str, source: str) -> list[str]:
    if name.split(".")[-1] == "__init__" and name not in PACKAGES_WITH_CODE:
        return [f"{name} is not empty"] if ast.parse(source).body else []
    faults = [] if "from __future__ import annotations" in source else [f"{name} lacks the future annotations"]
    private = name.startswith("module_utils.") and any(part.startswith("_") for part in name.split("."))
    return faults + ([f"{name} lacks the banner of a private util"] if private and BANNER not in source else [])


def _circles(graph: t.Mapping[str, set[str]]) -> list[str]:
    """Return a fault for each file in a cycle of imports or below it: remove unimported files until none is left."""
    waiting = collections.Counter(target for targets in graph.values() for target in targets)
    free = [name for name in graph if not waiting[name]]
    remaining = set(graph)
    while free:
        name = free.pop()
        remaining.discard(name)
        waiting.subtract(graph[name])
        free += [target for target in graph[name] if not waiting[target]]
    return [f"{name} is in a circle of imports, or below one" for name in sorted(remaining)]


def test_imports_lead_only_to_lower_floors_and_permitted_libraries() -> None:
    assert violations(sources()) == []


def test_every_existing_floor_is_checked() -> None:
    assert {"module_utils._base", "module_utils._cni", "module_utils._node", "modules"} <= {
        floor_of(name) for name in sources()
    }
    assert list_own_imports("module_utils._cni.runtime", sources()["module_utils._cni.runtime"], sources()) >= {
        "module_utils._base.error",
        "module_utils._cni.request",
    }


def private(text: str) -> str:
    return f"{BANNER}from __future__ import annotations\n{text}"


FUTURE = "from __future__ import annotations\n"
BROKEN = {
    "a module reaches into the engine": ("modules.m", f"{FUTURE}from {COLLECTION}.module_utils._cni import config"),
    "a module imports another": ("modules.m", f"{FUTURE}from {COLLECTION}.modules import netns"),
    "the engine looks up": (
        "module_utils._cni.x",
        private(f"import {COLLECTION}.module_utils._node.conflists.ownership"),
    ),
    "the engine looks across": ("module_utils._cni.x", private(f"from {COLLECTION}.module_utils._linux import netns")),
    "the kernel looks across": ("module_utils._linux.x", private("from .._cni import config")),
    "the ground looks up": (
        "module_utils._base.x",
        private(f"def f():\n    from {COLLECTION}.module_utils._cni import config"),
    ),
    "the engine wants a library": (
        "module_utils._cni.x",
        private("import yaml"),
    ),
    "the engine knows Ansible": (
        "module_utils._cni.x",
        private("from ansible.module_utils.basic import AnsibleModule"),
    ),
    "the node knows Ansible": ("module_utils._node.gc.x", private("import ansible.module_utils.basic")),
    "the node wants a library": ("module_utils._node.gc.x", private("import yaml")),
    "the kernel wants a library": (
        "module_utils._linux.x",
        private("try:\n    import yaml\nexcept ImportError:\n    pass"),
    ),
    "schemas travel to the node": ("module_utils._module.x", private("from jsonschema import validate")),
    "a filter imports a template engine": ("filter.f", f"{FUTURE}import jinja2.sandbox"),
    "a banner is missing": ("module_utils._base.x", FUTURE),
    "a package does something": ("module_utils._base.__init__", "import os"),
    "the annotations are evaluated": ("modules.m", "import os"),
    "a floor is made up": ("module_utils._other.x", private("")),
    "the reference plugins look up": (
        "module_utils._reference.x",
        private(f"from {COLLECTION}.module_utils._node.gc import leak"),
    ),
    "a room imports a neighbour": (
        "module_utils._node.conflists.x",
        private(f"def f():\n    from {COLLECTION}.module_utils._node.plugins.store import Manifest"),
    ),
    "a room of the controller looks up": (
        "plugin_utils._validation.schema.x",
        f"{FUTURE}from {COLLECTION}.plugin_utils._validation.document import key_reader",
    ),
    "a room imports what lies beside it": (
        "plugin_utils._validation.rules.x",
        f"{FUTURE}from {COLLECTION}.plugin_utils._validation import inputs",
    ),
    "a room is made up": ("module_utils._node.other.x", private("")),
    "a file lies beside the rooms": ("module_utils._node.x", private("")),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_found(broken: str) -> None:
    name, source = BROKEN[broken]
    faults = violations({**sources(), name: source})
    assert len(faults) == 1
    assert faults[0].startswith(name)


def test_a_circular_import_of_any_length_is_found() -> None:
    ring = {
        f"module_utils._node.gc.x{number}": private(
            f"from {COLLECTION}.module_utils._node.gc import x{(number + 1) % 4}"
        )
        for number in range(4)
    }
    assert violations({**sources(), **ring}) == [f"{name} is in a circle of imports, or below one" for name in ring]


def test_the_reference_plugins_have_no_two_files_of_one_name() -> None:
    files = (name.rpartition(".")[2] for name in sources() if floor_of(name) == "module_utils._reference")
    assert {name for name, count in collections.Counter(files).items() if count > 1} == set()


def test_a_public_class_below_the_node_has_a_name_of_its_own() -> None:
    floors = ("module_utils._cni", "module_utils._linux", "module_utils._reference")
    trees = (ast.parse(source) for name, source in sources().items() if floor_of(name) in floors)
    classes = (node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    repeated = {name for name, count in collections.Counter(classes).items() if count > 1}
    assert {name for name in repeated if not name.startswith("_")} == set()
