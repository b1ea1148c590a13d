# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Validate the network configurations of one node at all levels."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import (
    CONSISTENCY,
    SCHEMA,
    SPECIFICATION,
    Finding,
    errors,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import (
    capability_args,
    config_args,
    consistency,
    neighbours,
    nested_plugins,
    placeholders,
    schema_level,
    specification,
)

# The levels that need only the configurations.
CONTROLLER_LEVELS = (SCHEMA, SPECIFICATION, CONSISTENCY)

_DOCUMENT_RULES = {
    SCHEMA: schema_level.findings,
    SPECIFICATION: specification.findings,
    CONSISTENCY: consistency.findings,
}
_NODE_RULES = {SPECIFICATION: neighbours.duplicates, CONSISTENCY: neighbours.overlaps}
_ATTACHMENT_RULES = {
    SCHEMA: lambda documents, attachments: [
        *capability_args.schema_findings(documents, attachments),
        *config_args.schema_findings(attachments),
    ],
    SPECIFICATION: capability_args.specification_findings,
    CONSISTENCY: capability_args.consistency_findings,
}

# What executables of the reference plugins refuse, and built-in plugins accept.
_ACCEPTED = ("route-twice",)


def validate(
    sources: t.Iterable[Source],
    levels: t.Collection[str] = CONTROLLER_LEVELS,
    attachments: t.Sequence[t.Any] = (),
    *,
    runs_builtin: bool = True,
) -> list[Finding]:
    """Return all findings about the network configurations of one node.

    Invalid JSON is found at every level. A value that a schema refuses is not reported at the level specification again.

    Args:
        attachments: Items of the option ``attachments``, whose capability arguments and ``args.cni`` are checked.
        runs_builtin: Whether built-in plugins may run. What they accept is then only a warning.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    results: list[Finding] = []
    documents: list[Document] = []
    for source in sources:
        document, unreadable = read(source)
        results += unreadable
        if document:
            documents.append(document)
            results += _validate_document(document, levels)
    for level in (known for known in CONTROLLER_LEVELS if known in levels):
        results += _NODE_RULES[level](documents) if level in _NODE_RULES else ()
        results += _ATTACHMENT_RULES[level](documents, attachments) if attachments else ()
    return [finding._replace(is_accepted=runs_builtin and finding.code in _ACCEPTED) for finding in results]


def _validate_document(document: Document, levels: t.Collection[str]) -> list[Finding]:
    results: list[Finding] = []
    for level in (known for known in CONTROLLER_LEVELS if known in levels):
        reported = {finding.path for finding in errors(results)} if level == SPECIFICATION else set()
        results += [finding for finding in _DOCUMENT_RULES[level](document) if finding.path not in reported]
    for delegate in nested_plugins.delegates(document):
        nested = _validate_document(delegate.document, levels)
        # The outer document has these values, too.
        results += delegate.to_outer(finding for finding in nested if finding.code != placeholders.CODE)
    return results
