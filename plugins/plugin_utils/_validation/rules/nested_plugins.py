# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, Plugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

# flannel takes the addresses from what flanneld knows.
_ADDRESSES_OF_FLANNEL: t.Final = {"type": "addresses-of-flanneld"}


@dataclasses.dataclass(frozen=True)
class Delegate:
    """A network, or a single plugin, that a plugin of another network is to run.

    Attributes:
        document: It as a network of its own, with what its plugin adds.
        written: JSON pointers outside, by those of the document that stand for them.
    """

    document: Document
    written: tuple[tuple[str, str], ...]
    _outer: Document

    def outside(self, findings: t.Iterable[Finding]) -> t.Iterator[Finding]:
        """Return what was found as something of the outer document; what is about that itself is told there."""
        for finding in findings:
            for inside, outside in self.written:
                rest = finding.path[len(inside) :]
                if finding.path.startswith(inside) and rest[:1] in ("", "/"):
                    path = f"{outside}{rest}"
                    yield self._outer.finding(finding.code, path, finding.message, finding.hint, finding.value)
                    break


def delegates(document: Document) -> t.Iterator[Delegate]:
    """Return what flannel and Multus are to run, as far as it is written inside their configurations."""
    for plugin in document.plugins:
        delegate, delegates = plugin.keys.get("delegate"), plugin.keys.get("delegates")
        if plugin.type == "flannel" and isinstance(delegate, dict):
            yield _of_flannel(document, plugin, delegate)
        elif plugin.type == "multus" and isinstance(delegates, list):
            for index, one in enumerate(delegates):
                if isinstance(one, dict):
                    yield _of_multus(document, one, join(plugin.path, "delegates", index))


def _of_flannel(document: Document, plugin: Plugin, delegate: JsonObject) -> Delegate:
    own = {key: value for key, value in delegate.items() if key not in ("name", "ipam")}
    filled = {"type": "bridge", "ipam": _ADDRESSES_OF_FLANNEL, **own}
    if filled["type"] == "bridge":
        filled.setdefault("isGateway", True)
    network = {**_inherit(document), "plugins": [filled]}
    return _delegate(document, network, (("/plugins/0", join(plugin.path, "delegate")),))


def _of_multus(document: Document, delegate: JsonObject, path: str) -> Delegate:
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


__all__ = ("Delegate", "delegates")
