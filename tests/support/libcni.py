# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run libcni through `libcni-runner`."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject


@dataclasses.dataclass(frozen=True)
class Report:
    """One outcome per item, in the items' order: network, container_id, ifname, result, error, seconds."""

    outcomes: list[JsonObject]
    total_seconds: float
    stderr: str

    @property
    def results(self) -> list[JsonObject]:
        """Return the result of every item; fail if one of them failed."""
        failed = [outcome for outcome in self.outcomes if outcome["error"]]
        assert not failed, json.dumps(failed, indent=2)
        return [outcome["result"] for outcome in self.outcomes]

    @property
    def errors(self) -> list[JsonObject | None]:
        return [outcome["error"] for outcome in self.outcomes]


@dataclasses.dataclass(frozen=True)
class Libcni:
    program: pathlib.Path
    conf_dir: str = "/etc/cni/net.d"
    plugin_dirs: tuple[str, ...] = ("/opt/cni/bin", "/usr/lib/cni")
    cache_dir: str = "/var/lib/cni"

    def run(self, command: str, items: t.Sequence[JsonObject], *, workers: int = 1, from_cache: bool = False) -> Report:
        """Run a command for the items: ADD, CHECK, DEL, VERSION or RECORDS. An item has the keys of an attachment."""
        argv = [
            str(self.program),
            "-conf-dir",
            self.conf_dir,
            "-bin-dir",
            ":".join(self.plugin_dirs),
            "-cache-dir",
            self.cache_dir,
            "-workers",
            str(workers),
            *(["-from-cache"] if from_cache else []),
            command,
        ]
        done = subprocess.run(argv, input=json.dumps(list(items)), check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr}")
        *outcomes, last = map(json.loads, done.stdout.splitlines())
        return Report(outcomes, last["total_seconds"], done.stderr)
