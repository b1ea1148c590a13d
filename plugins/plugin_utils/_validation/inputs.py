# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections.abc
import itertools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import to_content
from ansible_collections.cni.node.plugins.plugin_utils._given import plain
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import SIZE_LIMIT, Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import networks as fleet_networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import plugins as fleet_plugins
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import (
    CONTROLLER_LEVELS,
    Source,
    validate,
)


def findings(
    conflists: t.Any,
    levels: t.Any = None,
    *,
    files: bool = False,
    attachments: t.Any = None,
) -> list[Finding]:
    """Find what is wrong with network configurations as a playbook has them.

    Args:
        conflists: One or a list of them: data, JSON text, or with ``files`` the paths of files on the controller.
            Files of one directory are taken for those of one node.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument is not of its form.
        AnsibleError: The library for schemas is missing on the controller.
    """
    wanted = check_levels(CONTROLLER_LEVELS if levels is None else levels)
    given = attachments if isinstance(attachments, list) else []
    listed = list(conflists) if isinstance(conflists, (list, tuple)) else [conflists]
    if files:
        return _of_files(listed, wanted, given)
    return validate([_source(one, f"conflists[{index}]") for index, one in enumerate(listed)], wanted, given)


def findings_by_host(
    conflists: t.Any, levels: t.Any = None, *, files: bool = False, attachments: t.Any = None
) -> dict[str, list[dict[str, t.Any]]]:
    """Find what is wrong with the network configurations of each host, given by the hosts' names.

    Args:
        attachments: By the hosts' names as well; a host may have none.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument is not of its form, with the host's name.
        AnsibleError: The library for schemas is missing on the controller.
    """
    attached = {} if attachments is None else attachments
    if not isinstance(conflists, collections.abc.Mapping) or not isinstance(attached, collections.abc.Mapping):
        found = kind(conflists if not isinstance(conflists, collections.abc.Mapping) else attached)
        raise CniError(Code.INVALID_CONFIG, f"by_host: found {found}", "expected: a dictionary of host names to lists")
    by_host = {}
    for host, listed in conflists.items():
        try:
            found_here = findings(listed, levels, files=files, attachments=attached.get(host))
        except CniError as exc:
            raise exc.within(str(host)) from exc
        by_host[str(host)] = [finding.as_dict() for finding in found_here]
    return by_host


def fleet_findings(nodes: t.Any, node_info: t.Any = None) -> list[Finding]:
    """Compare the network configurations of several nodes, given as data or as JSON text by the nodes' names.

    What cannot be read is found too; what else is wrong with a configuration by itself is not.

    Args:
        node_info: What the module of this name has returned, by the nodes' names: their plugins are compared too.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument is not of its form.
    """
    if not isinstance(nodes, collections.abc.Mapping):
        raise CniError(
            Code.INVALID_CONFIG, f"found {kind(nodes)}", "expected: a dictionary of node names to lists of networks"
        )
    found: list[Finding] = []
    documents: dict[str, list[Document]] = {}
    for node, conflists in nodes.items():
        listed = list(conflists) if isinstance(conflists, (list, tuple)) else [conflists]
        for index, one in enumerate(listed):
            source = _source(one, f"conflists[{index}]")
            document, unreadable = read(source.content, source.file, is_text=source.is_text)
            found += [finding._replace(file=f"{node}: {finding.file}") for finding in unreadable]
            documents.setdefault(str(node), []).extend([document] if document else [])
    plugins = fleet_plugins.findings({} if node_info is None else node_info)
    return [*found, *fleet_networks.findings(documents), *plugins]


def check_levels(levels: t.Any, known: t.Sequence[str] = CONTROLLER_LEVELS) -> list[str]:
    """Return levels if all of them are known.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not isinstance(levels, (list, tuple)) or not all(level in known for level in levels):
        raise CniError(Code.INVALID_CONFIG, f"levels: {levels!r}", f"expected: a list of {', '.join(known)}")
    return list(levels)


def content_of(network: collections.abc.Mapping[str, t.Any]) -> bytes:
    """Write a network configuration given as data.

    Raises:
        CniError: ``INVALID_CONFIG``: JSON has no form for it.
    """
    return to_content(network, _decrypt)


def _source(one: t.Any, name: str) -> Source:
    if isinstance(one, collections.abc.Mapping):
        return Source(name, content_of(one), is_text=False)
    if isinstance(one, str):
        return Source(name, one.encode("utf-8", "surrogatepass"))
    raise CniError(
        Code.INVALID_CONFIG,
        f"{name}: found {kind(one)}",
        "expected: a network configuration, as data or as JSON text",
    )


def _of_files(paths: list[t.Any], levels: list[str], attachments: list[t.Any]) -> list[Finding]:
    found: list[Finding] = []
    texts = [str(path) for path in paths]
    for dummy, members in itertools.groupby(sorted(texts), key=os.path.dirname):
        sources: list[Source] = []
        for path in members:
            try:
                sources.append(Source(path, _read(path)))
            except CniError as exc:
                found.append(Finding("unreadable", path, "", exc.msg, exc.details))
        # What is wrong with an attachment by itself is found with each directory.
        found += [finding for finding in validate(sources, levels, attachments) if finding not in found]
    return found


def _read(path: str) -> bytes:
    # Some way beyond the limit, so that a file that is too long is told from one that is none.
    try:
        content = durable.read(path, limit=16 * SIZE_LIMIT)
    except ValueError as exc:
        raise CniError(Code.IO_FAILURE, f"invalid file name: {exc}") from exc
    if content is None:
        raise CniError(Code.IO_FAILURE, "the file does not exist")
    return content


def _decrypt(value: t.Any) -> str:
    """Return what a vault has kept; before ansible-core 2.19 that is no string."""
    text = plain(value)
    if isinstance(text, str):
        return text
    raise TypeError(f"a value of type {type(value).__name__}: {value!r}")


__all__ = ("check_levels", "content_of", "findings", "findings_by_host", "fleet_findings")
