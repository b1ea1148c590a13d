# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare what a module returns with its documentation: no key is missing, and none is undocumented."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import documentation

PREFIX = "cni.node."
# Keys that every module may return or Ansible adds.
COMMON = {"changed", "msg", "diff", "failed", "warnings", "deprecations", "invocation", "exception"}
# Keys that Ansible adds if the output of a module is not JSON.
LOST = {"module_stdout", "module_stderr", "rc"}
# The key of a task with `failed_when`; the module itself may have failed nevertheless.
JUDGED = "failed_when_result"
# Since ansible-core 2.19, it has the error of a module whose failure `failed_when` suppresses.
SUPPRESSED = "failed_when_suppressed_exception"
# Keys of a task that runs in the background.
IN_BACKGROUND = {
    *("ansible_job_id", "results_file", "started", "finished"),
    *("stdout", "stdout_lines", "stderr", "stderr_lines"),
}
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "list": (list,),
    "dict": (dict,),
}


def problems(module: str, status: str, result: JsonObject) -> list[str]:
    """Return differences from the documentation; other modules, whole loops and unlogged results are skipped."""
    if not module.startswith(PREFIX) or status in ("skipped", "unreachable") or {"results", "censored"} & result.keys():
        return []
    documented = documentation.block(module[len(PREFIX) :], "RETURN")
    known = {
        *COMMON,
        JUDGED,
        SUPPRESSED,
        *(LOST if "module_stdout" in result else ()),
        *(IN_BACKGROUND if "ansible_job_id" in result else ()),
    }
    own = {key: value for key, value in result.items() if key not in known and not key.startswith("_ansible")}
    certain = {"always"} if status == "failed" or JUDGED in result else {"always", "success"}
    return list(_problems(module, documented, own, certain))


def _problems(where: str, documented: JsonObject, result: JsonObject, certain: set[str]) -> t.Iterator[str]:
    for key in result.keys() - documented.keys():
        yield f"{where}: {key} is returned and not documented"
    for key, facts in documented.items():
        if key in result:
            yield from _of_value(f"{where}.{key}", facts, result[key], certain)
        elif facts["returned"] in certain:
            yield f"{where}: {key} is documented as returned: {facts['returned']}"


def _of_value(where: str, facts: JsonObject, value: t.Any, certain: set[str]) -> t.Iterator[str]:
    if value is None and "V(none)" in str(facts["description"]):
        return
    if not isinstance(value, TYPES[facts["type"]]):
        yield f"{where}: {value!r} is not of type {facts['type']}"
    elif "choices" in facts and value not in facts["choices"]:
        yield f"{where}: {value!r} is not one of {facts['choices']}"
    elif "contains" in facts:
        entries = [t.cast("JsonObject", value)] if facts["type"] == "dict" else t.cast("list[JsonObject]", value)
        for number, entry in enumerate(entries):
            yield from _problems(f"{where}[{number}]", facts["contains"], entry, certain)
