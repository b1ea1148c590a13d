# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The paths on the node that no option sets."""

from __future__ import annotations

import os
import typing as t


class NodePaths(t.NamedTuple):
    """Paths on the node that no option sets. Modules pass them down; tests use paths below a temporary directory.

    Attributes:
        netns_dir: Named network namespaces; ``ip netns`` looks for them here.
        netns_lock: Held while a namespace is created or removed: a second mount on a file would hide the first one.
        netns_etc: ``ip netns exec`` mounts the files of a network namespace's directory below over those of /etc.
        restore_unit: The systemd unit that restores attachments at boot.
        restore_link: Enables the unit.
        restore_lock: Held while these files are compared with the records and changed.
        reload_mark: Exists while systemd has to read changed units; lists those that it has to start again.
        unit_dir: The units that repair attachments, and the links that enable them.
        watch_state: What the service that repairs attachments has repaired since the node was booted.
        plugin_answers: What plugins have answered to `node_info` since the node was booted.
        systemd_dir: Exists while systemd is running.
        dhcp_socket: Where the plugin dhcp expects its daemon, unless a network has another path.
        conf_dir: Other runtimes have their networks here, whatever conf dir this collection uses.
        state_dir: Runtimes keep their records in ``results`` here, or in a directory below (``cache``, ``multus``).
        lease_dir: Default of host-local: a directory for each network, and in it a file for each address.
        tuning_dir: Default of tuning: a file for each interface with the original values, which DEL sets again.
        tuning_allowlist: Lists the patterns of the settings that tuning may change; without the file, it may change all.
        modules_file: Lists the kernel modules that the next boot loads.
        sysctl_file: Lists the kernel settings that the next boot applies.
        sbr_lock: The beginning of a file that is held while the plugin sbr chooses tables in a network namespace.
        verify_lock: Held while networks are tried, because the network namespaces for that have the same names in each run.
        kernel_lock: Held while kernel modules, settings, these files or the saved values change.
        root: Other runtimes keep their state below it, at paths that ``rows.py`` of the room runtimes lists.
    """

    netns_dir: str = "/run/netns"
    netns_lock: str = "/run/cni-node-netns.lock"
    netns_etc: str = "/etc/netns"
    restore_unit: str = "/etc/systemd/system/cni-node-restore.service"
    restore_link: str = "/etc/systemd/system/multi-user.target.wants/cni-node-restore.service"
    restore_lock: str = "/run/cni-node-restore.lock"
    reload_mark: str = "/run/cni-node-reload"
    unit_dir: str = "/etc/systemd/system"
    watch_state: str = "/run/cni-node-watch/state.json"
    plugin_answers: str = "/run/cni-node-plugin-answers.json"
    systemd_dir: str = "/run/systemd/system"
    dhcp_socket: str = "/run/cni/dhcp.sock"
    conf_dir: str = "/etc/cni/net.d"
    state_dir: str = "/var/lib/cni"
    lease_dir: str = "/var/lib/cni/networks"
    tuning_dir: str = "/run/cni/tuning"
    tuning_allowlist: str = "/etc/cni/tuning/allowlist.conf"
    modules_file: str = "/etc/modules-load.d/cni.node.conf"
    sysctl_file: str = "/etc/sysctl.d/90-cni.node.conf"
    sbr_lock: str = "/run/cni-node-sbr.lock"
    verify_lock: str = "/run/cni-node-verify.lock"
    kernel_lock: str = "/run/cni-node-kernel.lock"
    root: str = "/"

    @classmethod
    def below(cls, root: str) -> NodePaths:
        """Return the same paths below a directory, for tests."""
        return cls(*(f"{root}{path}" for path in cls()))


NODE_PATHS = NodePaths()
# Plugins keep their files below.
_PLUGIN_DIRS = ("/var/lib/cni", "/run/cni")


def is_below_plugin_dirs(path: str, default: str) -> bool:
    """Return whether a path in a record is below a directory in which plugins keep files, symbolic links resolved.

    Any program may have written the record, and its ``dataDir`` may be a directory of another one.

    Args:
        default: The directory that a plugin uses without ``dataDir``.
    """
    tops = map(os.path.realpath, (os.path.dirname(default), *_PLUGIN_DIRS))
    return any(os.path.realpath(path).startswith(f"{top}/") for top in tops)
