# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ask the plugins of networks whether they are ready (STATUS)."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import nested_types

_NOT_READY: t.Final[t.Mapping[int, str]] = {
    Code.NOT_AVAILABLE: "unavailable",
    Code.LIMITED_CONNECTIVITY: "limited",
}


class Readiness(t.NamedTuple):
    """The answer of a network's plugins to STATUS.

    Attributes:
        status: ``ready``, ``unavailable`` (code 50), ``limited`` (code 51), ``failed`` (any other error) or
            ``unsupported`` (the network's version is below 1.1.0, which has no STATUS).
        error: The error of the first plugin that is not ready, or None.
    """

    network: str
    status: str
    error: CniError | None = None

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "network": self.network,
            "status": self.status,
            "error": self.error.as_dict() if self.error else None,
        }

    def __str__(self) -> str:
        return f"network {self.network}: {self.error or self.status}"


def query_readiness(runtime: Runtime, networks: t.Sequence[NetworkConfiguration]) -> list[Readiness]:
    """Run STATUS of several networks at the same time. STATUS changes nothing."""
    return workers.collect(functools.partial(_query, runtime), networks, default_workers())


def query_node_readiness(
    path: str,
    plugin_dirs: t.Sequence[str],
    cache_dir: str,
    timeout: float,
    *,
    allow_world_writable: bool = False,
    builtin: str = MISSING,
) -> list[Readiness]:
    """Run STATUS of every network of a conf dir, as `query_readiness`.

    Args:
        path: The conf dir.
        timeout: Seconds that one plugin may run.
    """
    executor = make_executor(plugin_dirs, timeout, allow_world_writable=allow_world_writable, builtin=builtin)
    networks = conf_dir.load(path).networks
    runtime = Runtime(executor, cache_dir, timeout, nested_types)
    return query_readiness(runtime, [networks[name] for name in sorted(networks)])


def _query(runtime: Runtime, network: NetworkConfiguration) -> Readiness:
    try:
        is_supported = network_operations.status(runtime, network.require_plugins())
    except Exception as exc:
        error = as_error(exc)
        return Readiness(network.name, _NOT_READY.get(error.code, "failed"), error)
    return Readiness(network.name, "ready" if is_supported else "unsupported")
