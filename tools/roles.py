# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write what follows from the options of roles: their defaults, and options that cni_node passes on: python -m tools.roles.

An option of another role that a task of cni_node sets to the option of the same name, as in
`cni_attachments_purge: "{{ cni_node_purge }}"`, is an option of cni_node, too. Its block there is a copy, as long as it has
the comment `As in ROLE.`; without the comment, it has a description of its own.
"""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import yaml

from tools.paths import ROOT

ROLES = ROOT / "roles"
FACADE = "cni_node"
# Where it is not the documented one: empty if the runtime decides, a template if another option does.
_VERSION = "{{{{ '1.9.1' if not {0}_source or {0}_source is match('https?://.*/$') else '' }}}}"
_DEFAULTS = {
    "cni_node_concerns": [],
    "cni_node_conf_dir": "",
    "cni_node_plugin_dirs": [],
    "cni_node_bin_dir": "",
    # An archive or a directory has a version of its own; a mirror has many.
    "cni_node_plugins_version": _VERSION.format("cni_node_plugins"),
    "cni_plugins_version": _VERSION.format("cni_plugins"),
}
_HEAD = """\
---
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Written by `make format`, from meta/argument_specs.yml.

"""
_OPTION = re.compile(r"^      (\w+):\n((?:        .*\n)+)", re.MULTILINE)
# A later step of cni_node may have a value of its own, as in `__cni_node_check | default(cni_node_check)`.
_PASSED = re.compile(
    rf'^ +(?!{FACADE}_)(cni_[a-z]+)_(\w+): "\{{\{{ (?:__{FACADE}_\2 \| default\()?{FACADE}_\2\)? \}}\}}"$', re.MULTILINE
)


def defaults_of(specs: str) -> str:
    """Return the text of a role's defaults, from that of its argument_specs."""
    options = yaml.safe_load(specs)["argument_specs"]["main"]["options"]
    return _HEAD + "".join(_format(name, _DEFAULTS.get(name, option["default"])) for name, option in options.items())


def _format(name: str, value: t.Any) -> str:
    if isinstance(value, list) and value:
        return "".join([f"{name}:\n", *(f"  - {item}\n" for item in value)])
    is_plain = isinstance(value, str) and value and not value.startswith("{{")
    return f"{name}: {value if is_plain else json.dumps(value)}\n"


def copy_passed(facade: str, specs: t.Mapping[str, str], tasks: str) -> str:
    """Return the argument_specs of cni_node with the options that its tasks pass on.

    Args:
        facade: Their text before.
        specs: The text of the argument_specs of each other role.
        tasks: The text of all tasks of cni_node.
    """
    for role, name in _PASSED.findall(tasks):
        blocks = dict(_OPTION.findall(specs[role]))
        own = {match[1]: match for match in _OPTION.finditer(facade)}
        comment = f"        # As in {role}.\n"
        copied = comment + blocks[f"{role}_{name}"].replace(f"{role}_", f"{FACADE}_")
        match = own.get(f"{FACADE}_{name}")
        if match is None:
            names = [each.replace(f"{role}_", f"{FACADE}_") for each in blocks]
            before = [each for each in names[: names.index(f"{FACADE}_{name}")] if each in own]
            place = own[before[-1]].end()
            facade = f"{facade[:place]}      {FACADE}_{name}:\n{copied}{facade[place:]}"
        elif match[2].startswith(comment):
            facade = f"{facade[: match.start(2)]}{copied}{facade[match.end(2) :]}"
    return facade


def generate(roles: Path) -> dict[Path, str]:
    """Return the text of each file below the directory of roles that follows from others."""
    files = {path.parent.parent.name: path for path in sorted(roles.glob("*/meta/argument_specs.yml"))}
    specs = {role: path.read_text(encoding="utf-8") for role, path in files.items()}
    tasks = "".join(path.read_text(encoding="utf-8") for path in sorted((roles / FACADE / "tasks").glob("*.yml")))
    specs[FACADE] = copy_passed(specs[FACADE], specs, tasks)
    defaults = {roles / role / "defaults" / "main.yml": defaults_of(text) for role, text in specs.items()}
    return {**defaults, files[FACADE]: specs[FACADE]}


def main() -> None:
    for path, text in generate(ROLES).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
