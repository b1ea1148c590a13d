# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The conf dir and the attachments as earlier tasks would leave them, for check mode."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

_WRITTEN = ("created", "changed")


class PlannedFile(t.NamedTuple):
    """A change that another task would make to a file of the conf dir.

    Attributes:
        action: ``created``, ``changed``, ``removed`` or ``unchanged``.
        content: The new text; for a removed file, the old one.
    """

    path: str
    action: str
    content: str


def read_planned_files(returned: t.Iterable[t.Mapping[str, t.Any]]) -> list[PlannedFile]:
    """Return the files in a result of the module `conflists`."""
    return [PlannedFile(file["path"], file["action"], file["content"] or "") for file in returned]


def with_planned(directory: ConfDir, files: t.Iterable[PlannedFile]) -> ConfDir:
    """Return the conf dir as it will be after another task has changed its files.

    Raises:
        CniError: A planned file is not a valid network configuration.
    """
    changes = [file for file in files if file.action != "unchanged" and os.path.dirname(file.path) == directory.path]
    paths = {file.path for file in changes}
    existing = (*directory.networks.values(), *directory.shadowed)
    unchanged = [network for network in existing if network.source not in paths]
    written = [parse_planned_file(file) for file in changes if file.action in _WRITTEN]
    networks: dict[str, NetworkConfiguration] = {}
    shadowed: list[NetworkConfiguration] = []
    for network in sorted([*unchanged, *written], key=_precedence):
        if networks.setdefault(network.name, network) is not network:
            shadowed.append(network)
    return ConfDir(
        directory.path,
        networks,
        tuple(shadowed),
        broken=conf_dir.without(directory.broken, paths),
        refused=conf_dir.without(directory.refused, paths),
        misnamed=conf_dir.without(directory.misnamed, paths),
    )


def _precedence(network: NetworkConfiguration) -> tuple[bool, str]:
    return conf_dir.precedence(os.path.basename(network.source))


def parse_planned_file(file: PlannedFile) -> NetworkConfiguration:
    """Return the network of a planned file, with the plugins of its plugin directory.

    Raises:
        CniError: It is not a valid network configuration.
    """
    network = config.parse(file.content.encode("utf-8", "surrogateescape"), file.path)
    return conf_dir.complete(network, os.path.dirname(file.path))


REMOVED = "removed"


def read_removed_attachments(entries: t.Iterable[t.Mapping[str, t.Any]]) -> frozenset[Key]:
    """Return the attachments that an earlier task removed, or would remove in check mode, read from its result.

    Raises:
        CniError: ``INVALID_CONFIG`` or ``INVALID_ENVIRONMENT``: an entry does not identify an attachment.
    """
    return frozenset(_key(entry) for entry in entries if entry.get("action") == REMOVED)


def _key(entry: t.Mapping[str, t.Any]) -> Key:
    network, container_id, ifname = (str(entry.get(name) or "") for name in ("network", "container_id", "ifname"))
    return Attachment(network, container_id, ifname).require_identity().key


def read_networks(configurations: t.Iterable[t.Mapping[str, t.Any]], directory: str) -> list[NetworkConfiguration]:
    """Return networks that are given as data, as files of a directory would define them."""
    # The path stands for a file that does not exist.
    path = os.path.join(directory, REMOVED)
    return _parse_valid(PlannedFile(path, REMOVED, config.encode(keys).decode()) for keys in configurations)


def _parse_valid(files: t.Iterable[PlannedFile]) -> list[NetworkConfiguration]:
    """Return the networks of files. Invalid ones are left out: no plugin has run with them."""
    networks = []
    for file in files:
        with contextlib.suppress(CniError):
            networks.append(parse_planned_file(file))
    return networks


@dataclasses.dataclass(frozen=True)
class Removal:
    """Networks and attachments that earlier tasks have removed, or would have in check mode.

    Attributes:
        files: Files of networks.
        earlier: Networks that an earlier run may have removed: nothing shows that this collection had them.
        attachments: Used only in check mode, in which their records still exist.
    """

    files: tuple[PlannedFile, ...] = ()
    attachments: frozenset[Key] = frozenset()
    earlier: tuple[NetworkConfiguration, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    def networks(self) -> list[NetworkConfiguration]:
        """Return the networks of the files."""
        return _parse_valid(self.files)


NOTHING_REMOVED = Removal()
