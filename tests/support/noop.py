# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reference test double `noop`: a debug file scripts its answer and receives its request.

The key `debugFile` of its configuration or `DEBUG=FILE` in CNI_ARGS names the file; only CNI_ARGS has an effect at
VERSION. The plugin writes at ADD, CHECK and DEL, and keeps the last call only. Up to release 1.1 it supports versions up
to 1.0.0; later releases support 1.1.0 and write at GC and STATUS too.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

PASSTHROUGH = "PASSTHROUGH"
INJECT_DNS = "INJECT-DNS"


@dataclasses.dataclass(frozen=True)
class Sent:
    """The environment and the request of the last call."""

    command: str
    container_id: str
    netns: str
    ifname: str
    args: str
    path: str
    request: JsonObject


@dataclasses.dataclass(frozen=True)
class DebugFile:
    path: pathlib.Path

    def write(
        self,
        *,
        result: JsonObject | str = "",
        error: str = "",
        stderr: str = "",
        versions: t.Sequence[str] | None = None,
        exit_code: int = 0,
    ) -> None:
        """Write the answer.

        `result` is text to print as it is, PASSTHROUGH, or INJECT_DNS, which adds a name server.
        """
        content = {
            "ReportResult": result if isinstance(result, str) else json.dumps(result),
            "ReportError": error,
            "ReportStderr": stderr,
            "ReportVersionSupport": None if versions is None else list(versions),
            "ExitWithCode": exit_code,
        }
        self.path.write_text(json.dumps(content), encoding="utf-8")

    def sent(self) -> Sent | None:
        """Return the last call, or None if there was no call since `write`."""
        held = json.loads(self.path.read_text(encoding="utf-8"))
        if not held.get("Command"):
            return None
        given = held["CmdArgs"]
        request = json.loads(base64.b64decode(given["StdinData"]))
        return Sent(
            held["Command"],
            given["ContainerID"],
            given["Netns"],
            given["IfName"],
            given["Args"],
            given["Path"],
            request,
        )
