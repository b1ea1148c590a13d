# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of the documentation site; tools/docs.py adds the reference of modules, plugins and roles, and builds it.

The pages are plain Markdown, so that they can also be read in a repository browser. What only the site needs is added
here while the pages are read: the navigation, addresses of files outside of docs, and links to the reference.
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = "cni.node"
author = "cni.node contributors"
project_copyright = f"2026, {author}. Licensed under the GNU General Public License v3.0 or later"
REPOSITORY: t.Final = "https://github.com/cni-node/cni.node/blob/main"

# The navigation, one list of pages for each of its headings.
NAVIGATION: t.Final = {
    "Start": ("self", "installation"),
    "Tutorials": (
        "tutorials/lab",
        "tutorials/nomad",
        "tutorials/kubeadm",
        "tutorials/service",
        "tutorials/firewall-reload",
        "tutorials/unreachable",
    ),
    "How-to": (
        "howto/ci",
        "howto/subnets",
        "howto/ports",
        "howto/offline",
        "howto/upgrade",
        "howto/take-over",
        "howto/leaks",
        "howto/fleet",
        "howto/inside",
        "controllers",
    ),
    "Reference": (
        "playbooks",
        "command",
        "filters",
        "reference/modules",
        "reference/filters",
        "reference/inside",
        "reference/roles",
        "runtimes",
        "validation",
        "report",
    ),
    "Design": (
        "reliability",
        "performance",
        "differences",
        "engine",
        "architecture",
        "writing-a-plugin",
        "testing",
        "releases",
        "checklist",
    ),
}

extensions = ["myst_parser", "sphinx_antsibull_ext"]
exclude_patterns = ["reference/index.rst", "reference/environment_variables.rst"]
# Anchors as repository browsers make them, down to the fourth level of headings.
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6b63", "color-brand-content": "#0b6b63"},
    "dark_css_variables": {"color-brand-primary": "#5ccbbd", "color-brand-content": "#5ccbbd"},
}
# The site is complete without the sources and without a server: a summary of a result would have to be requested.
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False
html_show_sphinx = False

_DIAGRAM = re.compile(r"^```mermaid\nsequenceDiagram\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARTICIPANT = re.compile(r"participant (\w+) as (.*)")
_NOTE = re.compile(r"Note over (\w+): (.*)")
_MESSAGE = re.compile(r"(\w+)--?>>(\w+): (.*)")
_LINK = re.compile(r"(?<=\]\()\.\./[^)#\s]+")
_REFERENCE = re.compile(r"reference/(\w+)_(module|become|filter|inventory|test|role)")
# Names that mean a module in one sentence and a playbook in the next.
_AMBIGUOUS = ("gc", "preflight", "repair", "verify")


def _set_title(app: Sphinx, config: t.Any) -> None:
    config.html_title = f"{config.project} {config.release}".strip()


def _complete_page(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == app.config.root_doc:
        source[0] += _navigation()
    directory = posixpath.dirname(docname)
    source[0] = _DIAGRAM.sub(lambda diagram: _as_list(diagram[1]), source[0])
    source[0] = _LINK.sub(lambda link: _address(directory, link[0]), source[0])


def _navigation() -> str:
    """Return the directives for the navigation; a repository browser would show them as text."""
    lines = []
    for heading, pages in NAVIGATION.items():
        entries = ["Overview <self>" if page == "self" else page for page in pages]
        lines += ["", "```{toctree}", f":caption: {heading}", ":hidden:", "", *entries, "```"]
    return "\n".join([*lines, ""])


def _as_list(diagram: str) -> str:
    """Return a sequence diagram as a numbered list; a program that draws it would have to be part of the site."""
    names = {short: name.partition("<br/>")[0] for short, name in _PARTICIPANT.findall(diagram)}
    items = []
    for line in map(str.strip, diagram.splitlines()):
        if note := _NOTE.fullmatch(line):
            items.append(f"1. **{names[note[1]]}**: {note[2]}")
        elif message := _MESSAGE.fullmatch(line):
            items.append(f"1. **{names[message[1]]}** → **{names[message[2]]}**: {message[3]}")
    return "\n".join(items)


def _address(directory: str, link: str) -> str:
    """Return the link, or the address in the repository of a file that is not a page of the site."""
    path = posixpath.normpath(posixpath.join("docs", directory, link))
    return link if path.startswith("docs/") else f"{REPOSITORY}/{path}"


def _link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let the full name of a module, filter, test or role lead to its reference."""
    matches = filter(None, map(_REFERENCE.fullmatch, app.env.found_docs))
    # A name that a module and another plugin have is that of the module.
    pages = {match[1]: match[0] for match in sorted(matches, key=lambda match: match[2] == "module")}
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removeprefix("cni.node.")
        is_known = name in pages and name not in _AMBIGUOUS and literal.astext() != name
        if is_known and pages[name] != docname and not isinstance(literal.parent, (nodes.reference, nodes.title)):
            address = app.builder.get_relative_uri(docname, pages[name])
            reference = nodes.reference("", "", internal=True, refuri=address)
            literal.replace_self(reference)
            reference += literal


def _leave_out_ansible(
    app: Sphinx, env: BuildEnvironment, reference: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Show references into Ansible's own documentation as text: its targets can be looked up only on the internet."""
    target = reference.get("reftarget", "")
    return None if target.startswith("ansible_collections.cni.node.") else content


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", _set_title)
    app.connect("source-read", _complete_page)
    app.connect("doctree-resolved", _link_names)
    app.connect("missing-reference", _leave_out_ansible)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
