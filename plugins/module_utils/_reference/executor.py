# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor

_HOST_DEVICE: t.Final = "host-device"
_SBR: t.Final = "sbr"
_NO_INTERFACE: t.Final = re.compile(r"failed to find .*Link not found")


class NodeExecutor(ProcessExecutor):
    """Runs plugins, and makes up for reference plugins that cannot run DEL of what is gone.

    "Plugins should generally complete a DEL action without error even if some resources are missing" (section 2,
    "DEL"). These two would keep an attachment from ever being deleted once its namespace is gone, as after a reboot.
    """

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        if parameters.command != "DEL" or parameters.attachment is None:
            return super().execute(plugin_type, request, parameters)
        if plugin_type == _SBR and not parameters.attachment.netns:
            return b""  # its rules have gone with the namespace
        if plugin_type == _HOST_DEVICE:
            return self._give_back(request, parameters, parameters.attachment.netns)
        return super().execute(plugin_type, request, parameters)

    def _give_back(self, request: bytes, parameters: Parameters, netns: str) -> bytes:
        """Run DEL of host-device; without a namespace or an interface in it, it would leave out its IPAM plugin."""
        try:
            if netns:
                return super().execute(_HOST_DEVICE, request, parameters)
        except CniError as exc:
            if not _NO_INTERFACE.search(exc.msg):
                raise
        ipam = (json.loads(request).get("ipam") or {}).get("type")
        return super().execute(ipam, request, parameters) if ipam else b""


__all__ = ("NodeExecutor",)
