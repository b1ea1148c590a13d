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
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime

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


def _query(runtime: Runtime, network: NetworkConfiguration) -> Readiness:
    try:
        is_supported = network_operations.status(runtime, network.require_plugins())
    except Exception as exc:
        error = as_error(exc)
        return Readiness(network.name, _NOT_READY.get(error.code, "failed"), error)
    return Readiness(network.name, "ready" if is_supported else "unsupported")
