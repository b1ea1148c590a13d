# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Validate network configurations as a playbook gives them: data, text, files or vaulted values."""

from __future__ import annotations

import collections.abc
import itertools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, read
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import SIZE_LIMIT, Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import networks as fleet_networks
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import CONTROLLER_LEVELS, validate


def findings(
    conflists: t.Any,
    levels: t.Any = None,
    *,
    files: bool = False,
    attachments: t.Any = None,
) -> list[Finding]:
    """Return findings about network configurations given in a playbook.

    Args:
        conflists: One network configuration or a list: data, JSON text, or with ``files`` paths on the controller.
            Files in one directory count as files of one node. A file may contain manifests.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument has the wrong type.
        AnsibleError: jsonschema is missing on the controller.
    """
    checked_levels = check_levels(CONTROLLER_LEVELS if levels is None else levels)
    listed_attachments = attachments if isinstance(attachments, list) else []
    listed = list(conflists) if isinstance(conflists, (list, tuple)) else [conflists]
    if files:
        return _validate_files(listed, checked_levels, listed_attachments)
    return validate(
        [_source(conflist, f"conflists[{index}]") for index, conflist in enumerate(listed)],
        checked_levels,
        listed_attachments,
    )


def findings_by_host(
    conflists: t.Any, levels: t.Any = None, *, files: bool = False, attachments: t.Any = None
) -> dict[str, list[dict[str, t.Any]]]:
    """Return findings about the network configurations of several hosts, by host.

    Args:
        conflists: By host.
        attachments: By host; a host may have none.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument has the wrong type; the error names the host.
        AnsibleError: jsonschema is missing on the controller.
    """
    attached = {} if attachments is None else attachments
    if not isinstance(conflists, collections.abc.Mapping) or not isinstance(attached, collections.abc.Mapping):
        actual = kind(conflists if not isinstance(conflists, collections.abc.Mapping) else attached)
        raise CniError(Code.INVALID_CONFIG, f"by_host: found {actual}", "expected: a dictionary of host names to lists")
    by_host = {}
    for host, listed in conflists.items():
        try:
            host_findings = findings(listed, levels, files=files, attachments=attached.get(host))
        except CniError as exc:
            raise exc.within(str(host)) from exc
        by_host[str(host)] = [finding.as_dict() for finding in host_findings]
    return by_host


def fleet_findings(nodes: t.Any, node_info: t.Any = None) -> list[Finding]:
    """Compare the network configurations of several nodes, and return findings.

    A configuration that cannot be read is a finding as well. Other errors within one configuration are not reported.

    Args:
        nodes: Configurations by node, as data or as JSON text.
        node_info: Results of the module `node_info` by node, to compare the plugins of the nodes.

    Raises:
        CniError: ``INVALID_CONFIG``: an argument has the wrong type.
    """
    if not isinstance(nodes, collections.abc.Mapping):
        raise CniError(
            Code.INVALID_CONFIG, f"found {kind(nodes)}", "expected: a dictionary of node names to lists of networks"
        )
    results: list[Finding] = []
    documents: dict[str, list[Document]] = {}
    for node, conflists in nodes.items():
        listed = list(conflists) if isinstance(conflists, (list, tuple)) else [conflists]
        for index, conflist in enumerate(listed):
            source = _source(conflist, f"conflists[{index}]")
            document, unreadable = read(source)
            results += [finding._replace(file=f"{node}: {finding.file}") for finding in unreadable]
            documents.setdefault(str(node), []).extend([document] if document else [])
    results += fleet_networks.findings(documents)
    if node_info is not None:
        # Ansible compiles what the filters import in each run; this is for results of nodes only.
        from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet import plugins as fleet_plugins

        results += fleet_plugins.findings(node_info)
    return results


def check_levels(levels: t.Any, known: t.Sequence[str] = CONTROLLER_LEVELS) -> list[str]:
    """Return levels after checking that all of them are known.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not isinstance(levels, (list, tuple)) or not all(level in known for level in levels):
        raise CniError(Code.INVALID_CONFIG, f"levels: {levels!r}", f"expected: a list of {', '.join(known)}")
    return list(levels)


def content_of(network: collections.abc.Mapping[str, t.Any]) -> bytes:
    """Return a network configuration as JSON text.

    Raises:
        CniError: ``INVALID_CONFIG``: a value cannot be expressed in JSON.
    """
    return config.encode(network, _decrypt)


def _source(conflist: t.Any, name: str) -> Source:
    if isinstance(conflist, collections.abc.Mapping):
        return Source(name, content_of(conflist), is_text=False)
    if isinstance(conflist, str):
        return Source(name, conflist.encode("utf-8", "surrogatepass"))
    raise CniError(
        Code.INVALID_CONFIG,
        f"{name}: found {kind(conflist)}",
        "expected: a network configuration, as data or as JSON text",
    )


def _validate_files(paths: list[t.Any], levels: list[str], attachments: list[t.Any]) -> list[Finding]:
    # Ansible compiles what the filters import in each run; this is for files only.
    from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests import files as manifest_files

    results: list[Finding] = []
    texts = [str(path) for path in paths]
    for dummy, members in itertools.groupby(sorted(texts), key=os.path.dirname):
        sources: list[Source] = []
        for path in members:
            try:
                contained, problems = manifest_files.split(path, _read(path))
            except CniError as exc:
                contained, problems = [], [Finding("unreadable", path, "", exc.msg, exc.details)]
            sources += contained
            results += problems
        # Errors of an attachment are found for each directory again.
        results += [finding for finding in validate(sources, levels, attachments) if finding not in results]
    return results


def _read(path: str) -> bytes:
    # The limit is larger than the one of validation, which then reports a file that is too large.
    try:
        content = durable.read(path, limit=16 * SIZE_LIMIT)
    except ValueError as exc:
        raise CniError(Code.IO_FAILURE, f"invalid file name: {exc}") from exc
    if content is None:
        raise CniError(Code.IO_FAILURE, "the file does not exist")
    return content


def _decrypt(value: t.Any) -> str:
    """Return a vaulted value as text; before ansible-core 2.19, it is not a string."""
    text = plain(value)
    if isinstance(text, str):
        return text
    raise TypeError(f"a value of type {type(value).__name__}: {value!r}")
