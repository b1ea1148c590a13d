# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The versions that plugins support, asked with VERSION (section 5, "VERSION Success")."""

from __future__ import annotations

import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.durable import file_identity
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters

_PROBE = Parameters("VERSION")
_UNKNOWN_COMMAND = "unknown CNI_COMMAND: VERSION"


class PluginVersions:
    """The versions that plugins support. VERSION is run once for each executable."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._answers: dict[tuple[t.Any, ...], tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def get_supported(self, plugin_type: str) -> tuple[str, ...]:
        """Return the versions that a plugin reports for VERSION, unknown ones included.

        Raises:
            CniError: The plugin cannot be run, or its answer cannot be read.
        """
        identity = _identity(self._executor.require(plugin_type))
        with self._lock:
            if identity not in self._answers:
                self._answers[identity] = self._query(plugin_type)
            return self._answers[identity]

    def select(self, network: NetworkConfiguration) -> str:
        """Return the highest version that the configuration, its plugins and this engine support.

        If the configuration allows a single version, no plugin is run.

        Raises:
            CniError: As `require`.
        """
        return network.version if len(network.versions) == 1 else self.require(network)

    def require(self, network: NetworkConfiguration) -> str:
        """Return the highest common version; unlike `select`, always query the plugins.

        Raises:
            CniError: ``INCOMPATIBLE_VERSION``, with the versions of each plugin; or the error of a plugin that cannot be queried.
        """
        answers = {plugin_type: self.get_supported(plugin_type) for plugin_type in network.plugin_types}
        common = [allowed for allowed in network.versions if all(allowed in answer for answer in answers.values())]
        if not common:
            raise _incompatible(network, answers)
        return common[-1]

    def _query(self, plugin_type: str) -> tuple[str, ...]:
        try:
            answer = self._executor.execute(plugin_type, request.for_version_probe(), _PROBE)
        except CniError as exc:
            if _UNKNOWN_COMMAND in exc.msg:
                return (version.IMPLIED,)
            raise
        return decode(answer, f"the answer of plugin {plugin_type} to VERSION")


def decode(answer: bytes, what: str) -> tuple[str, ...]:
    """Read a VERSION result (section 5, "VERSION Success").

    Raises:
        CniError: ``DECODE_FAILURE``.
    """
    keys = json_text.as_object(json_text.decode(answer, what), what)
    supported = keys.get("supportedVersions")
    if not supported and keys.get("cniVersion") == "0.2.0":
        return ("0.1.0", "0.2.0")
    if not isinstance(supported, list) or not supported or not all(isinstance(entry, str) for entry in supported):
        raise CniError(
            Code.DECODE_FAILURE, f"{what}: /supportedVersions: {supported!r}", "expected: a list of versions"
        )
    return tuple(supported)


def _incompatible(network: NetworkConfiguration, answers: t.Mapping[str, t.Sequence[str]]) -> CniError:
    """Return the error that lists the versions of each plugin."""
    return CniError(
        Code.INCOMPATIBLE_VERSION,
        f"{network.source}: no version of {', '.join(network.versions)} is supported by every plugin",
        "\n".join(f"{plugin_type} supports {', '.join(answer)}" for plugin_type, answer in answers.items()),
    )


def _identity(path: str) -> tuple[t.Any, ...]:
    try:
        status = os.stat(path)
    except OSError:  # not a file, or removed meanwhile
        return (path,)
    return path, *file_identity(status)
