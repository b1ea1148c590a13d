# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result

WRONG_CONTENT = 100


class AddressFile(Plugin):
    """Writes the addresses of each attachment to DIRECTORY/NETWORK/CONTAINER:INTERFACE."""

    name = "address-file"

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        durable.make_directory(_directory(request))
        durable.write(_path(request), _line(result), mode=0o644)
        return result

    def check(self, request: PluginRequest) -> None:
        line = _line(request.require_prev_result())
        if durable.read(_path(request)) != line:
            raise CniError(WRONG_CONTENT, f"{_path(request)} is missing or has changed", f"expected: {line!r}")

    def delete(self, request: PluginRequest) -> None:
        durable.remove(_path(request))

    def gc(self, request: PluginRequest) -> None:
        valid = {f"{container_id}:{ifname}" for container_id, ifname in request.valid_attachments}
        for name in durable.list_directory(_directory(request)):
            if name not in valid:
                durable.remove(os.path.join(_directory(request), name))


def _directory(request: PluginRequest) -> str:
    directory = request.config.text("directory")
    if not os.path.isabs(directory):
        raise refuse(f"/directory: {directory!r} is not an absolute path")
    return os.path.join(directory, request.network)


def _path(request: PluginRequest) -> str:
    attachment = request.attachment
    return os.path.join(_directory(request), f"{attachment.container_id}:{attachment.ifname}")


def _line(result: Result) -> bytes:
    return f"{' '.join(result.addresses)}\n".encode()
