# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The throw-away node of the benchmarks."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import pathlib
import shutil
import subprocess

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.support.namespaces import links

REFERENCE_PLUGINS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")


@dataclasses.dataclass(frozen=True)
class BenchNode:
    """Directories of the node, in memory; only the records may be elsewhere.

    Attributes:
        plugin_dirs: The directories of the reference plugins.
    """

    top: pathlib.Path
    cache_dir: pathlib.Path
    plugin_dirs: tuple[str, ...]

    @classmethod
    def prepare(cls, top: pathlib.Path, plugins: pathlib.Path | None) -> BenchNode:
        node = cls(top, top / "cache", (str(plugins),) if plugins else REFERENCE_PLUGINS)
        node.conf_dir.mkdir(parents=True)
        return node

    def with_cache(self, cache_dir: pathlib.Path) -> BenchNode:
        return dataclasses.replace(self, cache_dir=cache_dir)

    @property
    def conf_dir(self) -> pathlib.Path:
        return self.top / "net.d"

    @property
    def leases(self) -> str:
        return str(self.top / "leases")

    def attachments(self, network: JsonObject, count: int) -> list[JsonObject]:
        """Create the namespaces and the network's file, and return the attachments of `count` containers."""
        containers = [f"bench{number:04d}" for number in range(count)]
        trial_netns.ensure(NODE_PATHS, containers, present=True, dry_run=False)
        path = self.conf_dir / f"10-{network['name']}.conflist"
        path.write_text(json.dumps(network, indent=2), encoding="utf-8")
        return bench_networks.items(network, containers, NODE_PATHS.netns_dir)

    def write_leases(self, network: JsonObject, count: int) -> list[pathlib.Path]:
        """Write leases of other containers, at the far end of the range of a network that has attachments."""
        last = ipaddress.ip_network(network["plugins"][0]["ipam"]["subnet"])[-2]
        leases = [pathlib.Path(self.leases, network["name"], str(last - number)) for number in range(count)]
        for lease in leases:
            lease.write_text(f"other-{lease.name}\r\neth0", encoding="utf-8")
        return leases

    def clean(self) -> None:
        """Remove what DEL leaves by design, so that the next contestant starts on the same node."""
        for directory in (self.cache_dir, self.leases):
            shutil.rmtree(directory, ignore_errors=True)
        for bridge in [name for name in links() if name.startswith("cni")]:
            subprocess.run(["ip", "link", "delete", bridge], check=True)
        for command in ("iptables", "ip6tables"):
            for action in ("--flush", "--delete-chain"):
                subprocess.run([command, "--wait", "--table", "nat", action], check=True, capture_output=True)
