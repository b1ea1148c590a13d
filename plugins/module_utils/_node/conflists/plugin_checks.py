# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ask the plugins of networks for the versions that they support."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import (
    Executor,
    NotFound,
    UnsafePlugin,
    find_builtin,
)
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import Executable, executables

_Answer = t.Union[tuple[str, ...], CniError]


class PluginProbe:
    """Queries each plugin of the networks once for the versions that it supports."""

    def __init__(self, executor: Executor, *, tolerate_missing: bool) -> None:
        """
        Args:
            tolerate_missing: Report missing plugins as tolerated: another task may still install them.
        """
        self._executor = executor
        self._versions = PluginVersions(executor)
        self._tolerate_missing = tolerate_missing
        self._answers: dict[str, _Answer] = {}

    def check(self, network: NetworkConfiguration) -> t.Iterator[Finding]:
        """Find plugins that are missing, that cannot be run, or that do not support the network's version."""
        plugins = list(executables(network))
        answers = [self._query_versions(plugin.type) for plugin in plugins]
        faults = [self._find_fault(network, plugin, answer) for plugin, answer in zip(plugins, answers)]
        yield from (fault for fault in faults if fault)
        if not any(faults) and not any(isinstance(answer, UnsafePlugin) for answer in answers):
            yield from _find_version_conflict(network, plugins, t.cast("list[tuple[str, ...]]", answers))
            yield from self._find_unreachable(network)

    def _find_unreachable(self, network: NetworkConfiguration) -> t.Iterator[Finding]:
        """Yield a finding for each executable whose IPAM plugin is only built in."""
        for plugin in network.plugins:
            try:
                list(find_builtin(self._executor, plugin.type, plugin.delegated_type))
            except NotFound as exc:
                at = (plugin.index, plugin.type)
                path = f"/plugins/{plugin.index}/ipam/type" if network.is_list else "/ipam/type"
                nested = Executable(plugin.delegated_type, network.versions, path, at)
                tolerate = self._tolerate_missing
                yield _finding(network, nested, "missing-plugin", exc.msg, exc.details, is_tolerated=tolerate)

    def _query_versions(self, plugin_type: str) -> _Answer:
        if plugin_type not in self._answers:
            try:
                self._answers[plugin_type] = self._versions.get_supported(plugin_type)
            except CniError as exc:
                self._answers[plugin_type] = exc
        return self._answers[plugin_type]

    def _find_fault(self, network: NetworkConfiguration, plugin: Executable, answer: _Answer) -> Finding | None:
        if isinstance(answer, UnsafePlugin):
            return None  # `writable_plugins` reports the directory or file, once for all plugins
        if isinstance(answer, CniError):
            is_missing = isinstance(answer, NotFound)
            code = "missing-plugin" if is_missing else "broken-plugin"
            is_tolerated = is_missing and self._tolerate_missing
            return _finding(network, plugin, code, answer.msg, answer.details, is_tolerated=is_tolerated)
        if not set(plugin.versions).intersection(answer):
            message = f"{plugin.type} supports {', '.join(answer)}, but not {' or '.join(plugin.versions)}"
            hint = "install a release that does, or set a version that the plugin supports"
            return _finding(network, plugin, "incompatible-plugin", message, hint)
        return None


def _finding(
    network: NetworkConfiguration, plugin: Executable, code: str, message: str, hint: str, *, is_tolerated: bool = False
) -> Finding:
    return Finding(
        code, network.source, plugin.path, message, hint, plugin.type, plugin.plugin, is_tolerated=is_tolerated
    )


def _find_version_conflict(
    network: NetworkConfiguration, plugins: t.Sequence[Executable], answers: t.Sequence[tuple[str, ...]]
) -> t.Iterator[Finding]:
    """Yield a finding if no version of the network is supported by all of its plugins."""
    own = [(plugin.type, answer) for plugin, answer in zip(plugins, answers) if plugin.versions == network.versions]
    if not any(all(version in answer for dummy, answer in own) for version in network.versions):
        message = f"no version of {', '.join(network.versions)} is supported by every plugin"
        hint = ", ".join(f"{plugin_type} supports {', '.join(answer)}" for plugin_type, answer in dict(own).items())
        yield Finding("incompatible-plugin", network.source, "/cniVersions", message, hint, list(network.versions))
