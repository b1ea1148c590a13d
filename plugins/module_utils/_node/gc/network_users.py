# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The network configurations and records of all runtimes, which may use a shared resource."""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, refuse_without_room
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import find_configured
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

# Directories with networks that no row of `RUNTIMES` has: of Multus, of Podman with netavark, of MicroK8s, and of RKE2, whose
# charts have set its own.
_FURTHER_DIRECTORIES = (
    "/etc/cni/multus/net.d",
    "/etc/containers/networks",
    "/usr/share/containers/networks",
    "/run/containers/networks",
    "/var/lib/rancher/*/agent/etc/cni/net.d",
    "/var/snap/microk8s/current/args/cni-network",
)
_WORD = re.compile(r"[\w.:-]+")


class NetworkUser(t.NamedTuple):
    """A network configuration, or a record of an attachment, of any runtime.

    Attributes:
        name: The path of the file, or the attachment, for messages.
        words: Every string in it, every key whose value is true, and the default bridge if it names no bridge.
    """

    name: str
    words: frozenset[str]


class NetworkUsers:
    """The network configurations and records of all runtimes of a node."""

    def __init__(self, users: t.Iterable[NetworkUser], unreadable: t.Iterable[str]) -> None:
        """
        Args:
            unreadable: Errors of files that cannot be read; such a file may name any resource.
        """
        self._users = tuple(users)
        self._unreadable = tuple(unreadable)

    @classmethod
    def read(cls, directory: str, records: t.Iterable[Record], removed: t.Container[str]) -> NetworkUsers:
        """Read the configurations.

        Args:
            directory: The conf dir of this collection.
            removed: In a dry run, files that a run would have removed by now.
        """
        users = [_read_record(record) for record in records]
        conf_dirs, unreadable = _find_conf_dirs()
        files, errors = _read(path for path in _files([directory, *conf_dirs]) if path not in removed)
        users += [NetworkUser(path, _words(content)) for path, content in files.items()]
        return cls(users, [*unreadable, *errors])

    def reason_to_keep(self, *words: str) -> str:
        """Return a clause that names a user with one of these words or an unreadable file, or an empty string."""
        for user in self._users:
            named = sorted(user.words.intersection(words))
            if named:
                return f"{user.name} has {named[0]}"
        return f"an unreadable file may name it: {self._unreadable[0]}" if self._unreadable else ""


def _read(paths: t.Iterable[str]) -> tuple[dict[str, bytes], list[str]]:
    """Return the contents of files by path, and the errors of those that cannot be read."""
    contents, errors = {}, []
    for path in paths:
        try:
            content = None if os.path.isdir(path) else durable.read(path)
        except CniError as exc:
            errors.append(exc.msg)
        else:
            contents.update({path: content} if content is not None else {})
    return contents, errors


def _find_conf_dirs() -> tuple[list[str], list[str]]:
    """Return the conf dirs of all runtimes, the usual ones and those in configuration files; and errors of these files."""
    # Runtimes may have the same one.
    settings = tuple(dict.fromkeys(runtime.setup.conf_dir for runtime in RUNTIMES))
    patterns = [path for setting in settings for path in (*setting.defaults, *setting.unset)]
    paths: list[str] = []
    unreadable = []
    for pattern in (*patterns, *_FURTHER_DIRECTORIES):
        try:
            paths += durable.find_paths("", pattern)
        except CniError as exc:
            unreadable.append(exc.msg)
    for setting in settings:
        try:
            paths += [path for configured in find_configured(setting) for path in configured.paths]
        except CniError as exc:
            unreadable.append(exc.msg)
    return paths, unreadable


def _files(conf_dirs: t.Iterable[str]) -> list[str]:
    """Return the network configuration files of all runtimes, with those in directories below their conf dirs."""
    tops = dict.fromkeys(map(os.path.realpath, conf_dirs))
    below = [os.path.join(top, name) for top in tops for name in _directories(top)]
    return [os.path.join(top, name) for top in (*tops, *below) for name in conf_dir.list_files(top)]


def _directories(top: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(top) if entry.is_dir())
    except OSError as exc:
        refuse_without_room("list", top, exc)
        return []


def _read_record(record: Record) -> NetworkUser:
    result = record.result.keys if record.result else {}
    return NetworkUser(f"the {record.attachment}", _words(record.config) | frozenset(_texts(result)))


def _words(content: bytes) -> frozenset[str]:
    try:
        return frozenset(_texts(json.loads(content, strict=False)))
    except (ValueError, RecursionError):
        return frozenset(_WORD.findall(content.decode("utf-8", "replace")))


def _texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, t.Mapping):
        yield from (key for key, item in value.items() if item is True)
        if catalogue.find_plugin_type(value.get("type")).is_bridge and not value.get("bridge"):
            yield catalogue.DEFAULT_BRIDGE
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
