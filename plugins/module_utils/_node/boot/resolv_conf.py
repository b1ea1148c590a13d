# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The ``resolv.conf`` of each network namespace, from the results of its attachments."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply,
    plan_change,
    remove_empty,
)

_NAME = "resolv.conf"
_BANNER = "# Written by cni.node from the results of this namespace's attachments; SHA-256 of the lines below: "


class ResolvConfFiles:
    """The ``resolv.conf`` of each network namespace."""

    def __init__(self, paths: NodePaths) -> None:
        self._etc = paths.netns_etc
        self._netns_dir = paths.netns_dir

    def plan_changes(
        self, records: t.Iterable[Record], undecided: t.Collection[str] = (), *, is_complete: bool = True
    ) -> tuple[list[FileChange], list[str]]:
        """Plan the changes of the ``resolv.conf`` of each network namespace.

        A file that cni.node did not write, or that was changed since, is kept.

        Args:
            records: All attachments that are restored after a reboot.
            undecided: Paths of network namespaces whose name servers are not known yet.
            is_complete: Whether there are no further records. Otherwise, existing files stay as they are.

        Returns:
            The changes, and a warning for each file that is kept instead.
        """
        contents = {self._path(name): content for name, content in self._contents(records).items() if content}
        existing = [self._path(name) for name in list_directory(self._etc) if self._is_directory(name)]
        skipped = {self._path(os.path.basename(path)) for path in undecided}
        changes, warnings = [], []
        for path in sorted({*contents, *existing} - skipped):
            change = plan_change(path, contents.get(path))
            if change.before is not None and not is_complete:
                continue
            if change.before is None or _is_own(change.before):
                changes += [change] if change.changed else []
            elif path in contents:
                warnings.append(f"{path} was not written by cni.node, or was changed since; it is kept")
        return changes, warnings

    def carry_out(self, change: FileChange) -> None:
        """Carry out one change; create missing directories, or remove directories that become empty."""
        apply(change)
        if change.after is None:
            remove_empty(os.path.dirname(change.path), self._etc)

    def _contents(self, records: t.Iterable[Record]) -> dict[str, bytes]:
        """Return each file's content by the name of its network namespace; the order of the records does not matter."""
        results: dict[str, list[t.Mapping[str, t.Any]]] = {}
        for record in sorted(records, key=lambda record: (record.attachment.ifname, record.attachment.key)):
            if record.result is not None and os.path.dirname(record.attachment.netns) == self._netns_dir:
                results.setdefault(os.path.basename(record.attachment.netns), []).append(record.result.keys)
        return {name: _sign(render(of_netns).encode()) for name, of_netns in results.items()}

    def _path(self, name: str) -> str:
        return os.path.join(self._etc, name, _NAME)

    def _is_directory(self, name: str) -> bool:
        return os.path.isdir(os.path.join(self._etc, name))


def render(results: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """Return the lines of ``resolv.conf`` for the ``dns`` of CNI results, without invalid entries."""
    all_dns = [result.get("dns") or {} for result in results]
    search = [name for dns in all_dns for name in (*_words([dns.get("domain")]), *_words(dns.get("search")))]
    options = [option for dns in all_dns for option in _words(dns.get("options"))]
    servers = [server for dns in all_dns for server in _words(dns.get("nameservers")) if _is_address(server)]
    lines = [f"nameserver {server}\n" for server in dict.fromkeys(servers)]
    listed = {"search": search, "options": options}
    lines += [f"{key} {' '.join(dict.fromkeys(words))}\n" for key, words in listed.items() if words]
    return "".join(lines)


def _sign(lines: bytes) -> bytes:
    return f"{_BANNER}{hashlib.sha256(lines).hexdigest()}\n".encode() + lines if lines else b""


def _is_own(content: bytes) -> bool:
    return content != b"" and content == _sign(content.partition(b"\n")[2])


def _words(value: object) -> list[str]:
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, str) and entry.isprintable() and len(entry.split()) == 1]


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word.partition("%")[0])
    except ValueError:
        return False
    return True
