# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, NotFound, UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import Executable, executables

_Answer = t.Union[tuple[str, ...], CniError]


class PluginProbe:
    """Asks the plugins of networks for the versions they support, each of them once."""

    def __init__(self, executor: Executor, *, tolerate_missing: bool) -> None:
        """
        Args:
            tolerate_missing: Another task may be about to install what is missing.
        """
        self._versions = PluginVersions(executor)
        self._tolerate_missing = tolerate_missing
        self._answers: dict[str, _Answer] = {}

    def findings(self, network: NetworkConfiguration) -> t.Iterator[Finding]:
        """Find plugins that are missing, that cannot be run, and that do not speak the network's version."""
        found = list(executables(network))
        answers = [self._ask(one.type) for one in found]
        faults = [self._fault(network, one, answer) for one, answer in zip(found, answers)]
        yield from (fault for fault in faults if fault)
        if not any(faults) and not any(isinstance(answer, UnsafePlugin) for answer in answers):
            yield from _nothing_common(network, found, t.cast("list[tuple[str, ...]]", answers))

    def _ask(self, plugin_type: str) -> _Answer:
        if plugin_type not in self._answers:
            try:
                self._answers[plugin_type] = self._versions.get_supported(plugin_type)
            except CniError as exc:
                self._answers[plugin_type] = exc
        return self._answers[plugin_type]

    def _fault(self, network: NetworkConfiguration, one: Executable, answer: _Answer) -> Finding | None:
        if isinstance(answer, UnsafePlugin):
            return None  # `plugin_access` finds the directory or file itself, once for all plugins
        if isinstance(answer, CniError):
            is_missing = isinstance(answer, NotFound)
            code = "missing-plugin" if is_missing else "broken-plugin"
            is_tolerated = is_missing and self._tolerate_missing
            return _finding(network, one, code, answer.msg, answer.details, is_tolerated=is_tolerated)
        if not set(one.versions).intersection(answer):
            message = f"{one.type} supports {', '.join(answer)}, but not {' or '.join(one.versions)}"
            hint = "install a release that does, or set a version that the plugin supports"
            return _finding(network, one, "incompatible-plugin", message, hint)
        return None


def _finding(
    network: NetworkConfiguration, one: Executable, code: str, message: str, hint: str, *, is_tolerated: bool = False
) -> Finding:
    return Finding(code, network.source, one.path, message, hint, one.type, one.plugin, is_tolerated=is_tolerated)


def _nothing_common(
    network: NetworkConfiguration, found: t.Sequence[Executable], answers: t.Sequence[tuple[str, ...]]
) -> t.Iterator[Finding]:
    own = [(one.type, answer) for one, answer in zip(found, answers) if one.versions == network.versions]
    if not any(all(version in answer for dummy, answer in own) for version in network.versions):
        message = f"no version of {', '.join(network.versions)} is supported by every plugin"
        hint = ", ".join(f"{plugin_type} supports {', '.join(answer)}" for plugin_type, answer in dict(own).items())
        yield Finding("incompatible-plugin", network.source, "/cniVersions", message, hint, list(network.versions))


__all__ = ("PluginProbe",)
