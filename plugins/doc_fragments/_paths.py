# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    # Kept in step with plugins/module_utils/_module/arguments.py.
    CONF_DIR = r"""
options:
  conf_dir:
    description:
      - Directory of the network configurations.
    type: path
    default: /etc/cni/net.d
"""

    PLUGIN_DIRS = r"""
options:
  plugin_dirs:
    description:
      - Directories in which plugins are looked for, in this order. Plugins find their delegated plugins there too.
      - Absolute paths without a colon.
    type: list
    elements: path
    default:
      - /opt/cni/bin
      - /usr/lib/cni
      - /usr/libexec/cni
  allow_world_writable_plugins:
    description:
      - Whether plugins are run that every user of the node can replace. That is so where the plugin, one of O(plugin_dirs) or
        a directory that leads there can be written by everybody. A directory with the sticky bit does not count.
      - Such plugins are refused by default, because they run as root.
    type: bool
    default: false
"""

    CACHE_DIR = r"""
options:
  cache_dir:
    description:
      - Directory of the records of attachments, in the format and at the place of the reference runtime.
    type: path
    default: /var/lib/cni
"""

    TIMEOUT = r"""
options:
  timeout:
    description:
      - Seconds that one call of one plugin may take before its whole process group is killed.
      - Seconds to wait for another run that works on the same container, network or directory.
      - Seconds in which ADD, CHECK or DEL is repeated for a plugin that answers with code 11 (try again later); the pauses between grow
        from a tenth of a second to five seconds.
    type: float
    default: 60
"""
