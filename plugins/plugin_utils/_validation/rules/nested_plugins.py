# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The networks and plugins in the configuration of a plugin that delegates to them."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import Delegation
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

# The configuration of flannel's IPAM plugin is not in the network configuration: flanneld writes it to a file.
_UNKNOWN_ADDRESSES = {"type": "addresses-of-flanneld"}


@dataclasses.dataclass(frozen=True)
class Delegate:
    """A network, or a single plugin, nested in the configuration of a plugin that runs it.

    Attributes:
        document: The nested network as a document of its own, with the keys that the outer plugin adds.
        written: Pairs of JSON pointers: into this document, and to the same place in the outer one.
    """

    document: Document
    written: tuple[tuple[str, str], ...]
    _outer: Document

    def to_outer(self, findings: t.Iterable[Finding]) -> t.Iterator[Finding]:
        """Yield findings of the nested document as findings of the outer one.

        Findings about added keys are dropped: they have no place in the outer document.
        """
        for finding in findings:
            for inside, outside in self.written:
                rest = finding.path[len(inside) :]
                if finding.path.startswith(inside) and rest[:1] in ("", "/"):
                    path = f"{outside}{rest}"
                    own = self._outer.finding(finding.code, path, finding.message, finding.hint, finding.value)
                    yield own._replace(is_conditional=finding.is_conditional)
                    break


def delegates(document: Document) -> t.Iterator[Delegate]:
    """Return the networks and plugins to which plugins delegate, as far as their configurations contain them."""
    for plugin in document.plugins:
        delegation = plugin.traits.delegation
        if delegation is not None:
            value, path = plugin.keys.get(delegation.key), join(plugin.path, delegation.key)
            yield from _delegates(document, delegation, value, path)


def _delegates(document: Document, delegation: Delegation, value: object, path: str) -> t.Iterator[Delegate]:
    if delegation.is_list and isinstance(value, list):
        for index, network in enumerate(value):
            if isinstance(network, dict):
                yield _delegated_network(document, network, join(path, index))
    elif not delegation.is_list and isinstance(value, dict):
        yield _delegated_plugin(document, delegation, value, path)


def _delegated_plugin(document: Document, delegation: Delegation, keys: JsonObject, path: str) -> Delegate:
    own = {key: value for key, value in keys.items() if key not in ("name", "ipam")}
    ipam = {"ipam": _UNKNOWN_ADDRESSES} if delegation.default_ipam else {}
    network = {**_inherit(document), "plugins": [delegation.complete({**ipam, **own})]}
    return _delegate(document, network, (("/plugins/0", path),))


def _delegated_network(document: Document, delegate: JsonObject, path: str) -> Delegate:
    inherited = _inherit(document)
    if "cniVersions" in delegate:
        del inherited["cniVersion"]
    own = {key: value for key, value in delegate.items() if key in ("cniVersion", "cniVersions", "name")}
    network = {**inherited, **(delegate if "plugins" in delegate else {**own, "plugins": [delegate]})}
    written = [(join("", key), join(path, key)) for key in (delegate if "plugins" in delegate else own)]
    return _delegate(document, network, (*written, ("/plugins/0", path)))


def _delegate(document: Document, network: JsonObject, written: tuple[tuple[str, str], ...]) -> Delegate:
    return Delegate(Document(document.file, network, None), written, document)


def _inherit(document: Document) -> JsonObject:
    return {"cniVersion": document.network.get("cniVersion", ""), "name": document.network.get("name", "")}
