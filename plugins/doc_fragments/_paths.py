# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Documentation of the options for directories and time limits."""

from __future__ import annotations


class ModuleDocFragment:
    # Kept in step with plugins/module_utils/_module/arguments.py.
    CONF_DIR = r"""
options:
  conf_dir:
    description:
      - Directory of the network configurations (the conf dir).
    type: path
    default: /etc/cni/net.d
"""

    PLUGIN_DIRS = r"""
options:
  plugin_dirs:
    description:
      - Directories to search for plugins, in this order. Delegated plugins are searched there as well.
      - The paths must be absolute and must not contain a colon.
    type: list
    elements: path
    default:
      - /opt/cni/bin
      - /usr/lib/cni
      - /usr/libexec/cni
  allow_world_writable_plugins:
    description:
      - Run plugins even if every user of the node can replace them, because the plugin, its directory or a parent directory is
        world-writable. Directories with the sticky bit are safe.
      - By default such plugins are refused, because they run as root.
    type: bool
    default: false
  builtin:
    description:
      - When to use the plugins that are built into this collection. They do what release 1.9.1 of the reference plugins does, inside
        the module, so that a node needs no executables for them.
      - With V(missing), a plugin is built in if none of O(plugin_dirs) has its executable.
        What was built in at ADD is checked and deleted built in, even if its executable is there by then.
      - With V(always), all plugins that the collection has are built in, whatever the directories have.
      - With V(never), only executables are run.
      - The plugin C(dhcp) is not built in, because it needs a daemon. The built-in C(bandwidth) needs the Python library C(pyroute2).
      - An executable runs its IPAM plugin itself, and cannot run a built-in one.
    type: str
    choices: [missing, always, never]
    default: missing
"""

    CACHE_DIR = r"""
options:
  cache_dir:
    description:
      - Directory of the records of attachments. Format and default are those of the reference runtime, libcni.
    type: path
    default: /var/lib/cni
"""

    TIMEOUT = r"""
options:
  timeout:
    description:
      - Seconds for one call of a plugin. After that, its process group is killed.
      - Seconds to wait for another run on the same container, network or directory.
      - Seconds during which ADD, CHECK or DEL is repeated when a plugin answers with code 11 (try again later), with pauses that grow
        from a tenth of a second to five seconds.
    type: float
    default: 60
"""
