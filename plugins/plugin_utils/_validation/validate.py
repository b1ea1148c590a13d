# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import (
    CONSISTENCY,
    SCHEMA,
    SPECIFICATION,
    Finding,
    errors,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import (
    capability_args,
    config_args,
    consistency,
    neighbours,
    nested_plugins,
    schema_level,
    specification,
)

# The levels that need only the configurations.
CONTROLLER_LEVELS: t.Final = (SCHEMA, SPECIFICATION, CONSISTENCY)

_OF_ONE: t.Final = {
    SCHEMA: schema_level.findings,
    SPECIFICATION: specification.findings,
    CONSISTENCY: consistency.findings,
}
_OF_ALL: t.Final = {SPECIFICATION: neighbours.duplicates, CONSISTENCY: neighbours.overlaps}
_OF_ATTACHMENTS: t.Final = {
    SCHEMA: lambda documents, attachments: [
        *capability_args.schema_findings(documents, attachments),
        *config_args.schema_findings(attachments),
    ],
    SPECIFICATION: capability_args.specification_findings,
    CONSISTENCY: capability_args.consistency_findings,
}


@dataclasses.dataclass(frozen=True)
class Source:
    """A network configuration to validate.

    Attributes:
        file: Its name in findings.
        content: Its text.
        is_text: Whether a person has written this text, so that line numbers are useful.
    """

    file: str
    content: bytes
    is_text: bool = True


def validate(
    sources: t.Iterable[Source],
    levels: t.Collection[str] = CONTROLLER_LEVELS,
    attachments: t.Sequence[t.Any] = (),
) -> list[Finding]:
    """Return all findings about the network configurations of one node.

    Invalid JSON is found at every level. What a schema has refused is not reported for the specification again.

    Args:
        attachments: Items as the module `attachments` takes them, for what they say of capability arguments and ``args.cni``.

    Raises:
        AnsibleError: The library for schemas is missing on the controller.
    """
    found: list[Finding] = []
    documents: list[Document] = []
    for source in sources:
        document, unreadable = read(source.content, source.file, is_text=source.is_text)
        found += unreadable
        if document:
            documents.append(document)
            found += _of_one(document, levels)
    for level in (one for one in CONTROLLER_LEVELS if one in levels):
        found += _OF_ALL[level](documents) if level in _OF_ALL else ()
        found += _OF_ATTACHMENTS[level](documents, attachments) if attachments and level in _OF_ATTACHMENTS else ()
    return found


def _of_one(document: Document, levels: t.Collection[str]) -> list[Finding]:
    found: list[Finding] = []
    for level in (one for one in CONTROLLER_LEVELS if one in levels):
        said = {finding.path for finding in errors(found)} if level == SPECIFICATION else set()
        found += [finding for finding in _OF_ONE[level](document) if finding.path not in said]
    for delegate in nested_plugins.delegates(document):
        found += delegate.outside(_of_one(delegate.document, levels))
    return found


__all__ = ("CONTROLLER_LEVELS", "Source", "validate")
