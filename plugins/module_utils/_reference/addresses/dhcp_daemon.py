# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon that the plugin dhcp asks for addresses, and that renews them."""

from __future__ import annotations

import os
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import all_plugins

PLUGIN = "dhcp"
SOCKET = NODE_PATHS.dhcp_socket
_KEY = "daemonSocketPath"


class DhcpDaemon(t.NamedTuple):
    """The daemon that a plugin of a network needs.

    Attributes:
        socket: The path of its socket.
        fault: Why no daemon answers there, or an empty string.
        path: JSON pointer in the network configuration.
        plugin: Index and type of the network's plugin that runs dhcp.
    """

    socket: str
    fault: str
    path: str
    plugin: tuple[int, str]

    @property
    def message(self) -> str:
        return f"the daemon of the plugin {PLUGIN} does not run: {self.fault}"

    @property
    def hint(self) -> str:
        if self.socket == SOCKET:
            return "provision with cni_node_dhcp: true (dhcp_daemon of cni.node.conflists), or start the daemon"
        return f"start a daemon there, or leave out {_KEY} and provision with cni_node_dhcp: true, for one on {SOCKET}"


def find_daemons(network: NetworkConfiguration) -> t.Iterator[DhcpDaemon]:
    """Yield the daemon of each plugin whose addresses come from dhcp; a relative path depends on the runtime and is left out."""
    for plugin in all_plugins(network):
        ipam = plugin.keys.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == PLUGIN:
            path = ipam.get(_KEY) or SOCKET
            if isinstance(path, str) and os.path.isabs(path):
                pointer = f"{plugin.path}/ipam/{_KEY if ipam.get(_KEY) else 'type'}"
                yield DhcpDaemon(path, find_fault(path), pointer, plugin.plugin)


def require_daemons(network: NetworkConfiguration) -> None:
    """Require that a network's daemons run.

    Raises:
        CniError: ``NOT_AVAILABLE``.
    """
    for daemon in find_daemons(network):
        if daemon.fault:
            raise CniError(Code.NOT_AVAILABLE, f"network {network.name}: {daemon.message}", daemon.hint)


def find_fault(path: str) -> str:
    """Return why no process answers at a Unix socket; an empty string if one does, or if this user may not connect."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(path)
        except (BlockingIOError, PermissionError):  # the queue of a listening socket may be full
            return ""
        except FileNotFoundError:
            return f"{path} does not exist"
        except ConnectionRefusedError:
            return f"no process listens on {path}"
        except (OSError, ValueError) as exc:
            return f"{path} cannot be connected to: {getattr(exc, 'strerror', None) or exc}"
    return ""
