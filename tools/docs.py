# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the documentation site into dist/docs: python -m tools.docs.

Its pages are docs/**.md, and the reference of modules, plugins and roles, which antsibull-docs makes of their
documentation. docs/conf.py has the settings and the navigation.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import yaml

from tools.paths import CACHE, NAME, NAMESPACE, ROOT, VENV, Words, run, tool

SOURCES = CACHE / "docs"
HTML = ROOT / "dist" / "docs"
# Pages of the reference: their titles, and the kinds of plugins on each.
OVERVIEWS = {
    "modules": ("Modules", ("module",)),
    "filters": ("Filters and a test", ("filter", "test")),
    "inside": ("Become and inventory plugin", ("become", "inventory")),
    "roles": ("Roles", ("role",)),
}
_CONTENTS = re.compile(r"^\.\. contents::\n(?:   .*\n)*", re.MULTILINE)
_ENTRY = re.compile(r"^\* :ansplugin:`(\w+) (\w+) <.*$", re.MULTILINE)


def build(sources: Path, html: Path) -> int:
    """Build the site and return an exit status that is not 0 if anything was wrong, warnings included.

    Args:
        sources: A directory for the sources, which are put together there; it is replaced.
        html: The directory of the site, which is replaced.
    """
    for directory in (sources, html):
        shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(ROOT / "docs", sources)
    reference = sources / "reference"
    reference.mkdir()
    plugins: Words = ["collection", "--use-current", "--squash-hierarchy", "--dest-dir", reference]
    environment = {"ANSIBLE_COLLECTIONS_PATH": str(VENV / "collections")}
    if run([tool("antsibull-docs"), *plugins, f"{NAMESPACE}.{NAME}"], env=environment) != 0:
        return 1
    _write_overviews(reference)
    for page in reference.glob("*.rst"):
        # The theme shows the contents of a page beside it.
        page.write_text(_CONTENTS.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
    release = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    strict = ("--quiet", "--fail-on-warning")
    return run([tool("sphinx-build"), *strict, "-D", f"release={release}", "-b", "html", sources, html])


def _write_overviews(reference: Path) -> None:
    """Write a page for each kind of plugin, from the one page that antsibull-docs makes for all of them."""
    index = (reference / "index.rst").read_text(encoding="utf-8")
    for page, (title, kinds) in OVERVIEWS.items():
        entries = [entry for entry in _ENTRY.finditer(index) if entry[2] in kinds]
        listed = "\n".join(entry[0] for entry in entries)
        toctree = "\n".join(f"   {name} <{name}_{kind}>" for name, kind in (entry.groups() for entry in entries))
        text = f"{title}\n{'=' * len(title)}\n\n{listed}\n\n.. toctree::\n   :hidden:\n\n{toctree}\n"
        (reference / f"{page}.rst").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(build(SOURCES, HTML))
