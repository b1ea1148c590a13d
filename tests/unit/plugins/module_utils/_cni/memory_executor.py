# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An executor whose plugins are functions in memory."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import BUILTIN_PREFIX, Parameters

ALL_VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


@dataclasses.dataclass(frozen=True)
class MemoryCall:
    plugin: str
    command: str
    request: JsonObject
    attachment: Attachment | None


MemoryAnswer = t.Callable[[MemoryCall], t.Union[JsonObject, str, CniError, None]]


class MemoryExecutor:
    """Plugins are functions of a call. Without an answer a plugin succeeds, and ADD returns prevResult.

    Attributes:
        builtin: The plugins that it reports as built in.
    """

    def __init__(self, **plugins: MemoryAnswer) -> None:
        self.plugins = plugins
        self.builtin: set[str] = set()
        self.calls: list[MemoryCall] = []

    def require(self, plugin_type: str) -> str:
        if plugin_type not in self.plugins:
            raise CniError(Code.INVALID_CONFIG, f"plugin {plugin_type!r} is not installed")
        return f"{BUILTIN_PREFIX}{plugin_type}@1.9.1" if plugin_type in self.builtin else f"memory:{plugin_type}"

    def prepare(self, network: NetworkConfiguration) -> None:
        """Do nothing: no plugin is loaded."""

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        self.require(plugin_type)
        call = MemoryCall(plugin_type, parameters.command, json.loads(request), parameters.attachment)
        self.calls.append(call)
        answer = self.plugins[plugin_type](call)
        if isinstance(answer, CniError):
            raise answer
        return _print(call, answer)

    def run(self, command: str = "") -> list[tuple[str, str]]:
        """Return command and plugin of every call, or of the calls of one command."""
        return [(call.command, call.plugin) for call in self.calls if command in ("", call.command)]

    def requests(self, command: str) -> list[JsonObject]:
        return [call.request for call in self.calls if call.command == command]


def _print(call: MemoryCall, answer: JsonObject | str | None) -> bytes:
    if isinstance(answer, str):
        return answer.encode()
    if answer is not None:
        return json.dumps(answer).encode()
    if call.command == "VERSION":
        return json.dumps({"cniVersion": "1.1.0", "supportedVersions": ALL_VERSIONS}).encode()
    return json.dumps(call.request.get("prevResult", {})).encode() if call.command == "ADD" else b""


def succeeds(call: MemoryCall) -> None:
    return None


def fails_at(*commands: str, code: int = 100) -> MemoryAnswer:
    def answer(call: MemoryCall) -> CniError | None:
        return CniError(code, f"{call.plugin} fails at {call.command}") if call.command in commands else None

    return answer


def supports(*versions: str) -> MemoryAnswer:
    return lambda call: (
        {"cniVersion": "1.1.0", "supportedVersions": list(versions)} if call.command == "VERSION" else None
    )


def supports_only(*versions: str) -> MemoryAnswer:
    """Return a plugin that checks the version first, as the reference plugins do."""

    def answer(call: MemoryCall) -> JsonObject | str | CniError | None:
        if call.command == "VERSION" or call.request["cniVersion"] in versions:
            return supports(*versions)(call)
        message = f"plugin {call.plugin} failed ({call.command}): incompatible CNI versions"
        return CniError(Code.INCOMPATIBLE_VERSION, message, f"plugin supports {list(versions)}")

    return answer
