# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the names of container runtimes into documentation that lists them as choices: python -m tools.choices."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import NAMES, OWNER_NAMES
from tools.paths import ROOT

_ROLE_NAMES = (*NAMES, '""', "null")
_REPAIR_OWNERS = ("cni.node", *OWNER_NAMES)
_TEMPLATES = "extensions/controller/config/job_templates.yml"
# By file and the line of the option: its choices.
PLACES: dict[tuple[str, str], t.Sequence[str]] = {
    **{(f"plugins/modules/{name}.py", "  runtime:"): NAMES for name in ("conflists", "kernel", "preflight_info")},
    **{(f"plugins/modules/{name}.py", "  owners:"): OWNER_NAMES for name in ("bundle", "gc", "metrics")},
    ("plugins/modules/repair.py", "  owners:"): _REPAIR_OWNERS,
    ("plugins/modules/command.py", "  gc_owners:"): OWNER_NAMES,
    ("plugins/modules/command.py", "  repair_owners:"): _REPAIR_OWNERS,
    ("plugins/filter/runtime_setup.py", "  _input:"): ('""', *NAMES),
    **{
        (f"roles/{role}/meta/argument_specs.yml", f"      {role}_runtime:"): _ROLE_NAMES
        for role in ("cni_kernel", "cni_networks", "cni_node")
    },
    (_TEMPLATES, "          variable: cni_node_repair_owners"): _REPAIR_OWNERS,
    (_TEMPLATES, "          variable: cni_node_gc_owners"): OWNER_NAMES,
}
_CHOICES = re.compile(r"\bchoices:(?: \[.*\]|(?:\n +- \S+$)+)", re.MULTILINE)


def rewrite(text: str, option: str, names: t.Iterable[str]) -> str:
    """Return a file's text with these names as the choices of the option in the given line."""
    before, line, rest = text.partition(f"\n{option}\n")
    return before + line + _CHOICES.sub(f"choices: [{', '.join(names)}]", rest, count=1)


def main() -> None:
    for (file, option), names in PLACES.items():
        path = ROOT / file
        path.write_text(rewrite(path.read_text(encoding="utf-8"), option, names), encoding="utf-8")


if __name__ == "__main__":
    main()
