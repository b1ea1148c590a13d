# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The corpus: real-world network configurations that pass, and broken ones with exactly the findings expected.

A case in broken/CODE.yml has a `name`, its `findings` as "CODE PATH", and what is validated: the `plugins` of a network
of version 1.0.0, a whole `config`, in a file of this name (`file`), several `configs`, a `text`, a file of manifests (`manifest`), or a file that is hard to
read (`make`). A case may also have the `severity` of its findings, the `line` of one, and a part of its `message` or `hint`. The files in manifests/ pass.
Those in runtimes/ work with container runtimes, although this collection refuses them: they have no error.
"""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import yaml

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import CONTROLLER_LEVELS, validate

CORPUS = pathlib.Path(__file__).parents[4] / "corpus"
GOOD = sorted((CORPUS / "good").iterdir())
OF_RUNTIMES = sorted((CORPUS / "runtimes").iterdir())
MANIFESTS = sorted((CORPUS / "manifests").iterdir())

Case = JsonObject


def broken() -> dict[str, Case]:
    """Return every broken case by its code and name."""
    files = sorted((CORPUS / "broken").glob("*.yml"))
    return {f"{file.stem}: {case['name']}": case for file in files for case in _cases(file)}


def find_in(case: Case, directory: pathlib.Path) -> list[Finding]:
    levels = case.get("levels", CONTROLLER_LEVELS)
    if "make" in case:
        return inputs.findings([str(_MAKERS[case["make"]](directory))], levels, files=True)
    if "manifest" in case:
        return inputs.findings([str(_write_manifests(case, directory))], levels, files=True)
    if "file" in case:
        (directory / case["file"]).write_bytes(contents(case)[0])
        return inputs.findings([str(directory / case["file"])], levels, files=True)
    sources = [Source(f"file {number}", content) for number, content in enumerate(contents(case))]
    return validate(sources, levels, case.get("attachments", ()))


def _cases(file: pathlib.Path) -> list[Case]:
    return t.cast("list[Case]", yaml.safe_load(file.read_text(encoding="utf-8")))


def contents(case: Case) -> list[bytes]:
    if "text" in case:
        return [case["text"].encode(case.get("encoding", "utf-8"))]
    if "repeat" in case:
        return [case["repeat"].encode() * case["times"]]
    if "nest" in case:
        return [b"[" * case["nest"] + b"]" * case["nest"]]
    single = case.get("config", {"cniVersion": "1.0.0", "name": "net", "plugins": case.get("plugins")})
    return [json.dumps(config, indent=2, ensure_ascii=False).encode() for config in case.get("configs", [single])]


def _write_manifests(case: Case, directory: pathlib.Path) -> pathlib.Path:
    path = directory / "net.yaml"
    path.write_bytes(case["manifest"].encode(case.get("encoding", "utf-8")) * case.get("times", 1))
    return path


def _directory(directory: pathlib.Path) -> pathlib.Path:
    path = directory / "10-net.conflist"
    path.mkdir()
    return path


def _loop(directory: pathlib.Path) -> pathlib.Path:
    path = directory / "10-net.conflist"
    path.symlink_to(path)
    return path


def _below_a_file(directory: pathlib.Path) -> pathlib.Path:
    (directory / "file").write_bytes(b"")
    return directory / "file" / "10-net.conflist"


_MAKERS: t.Final[t.Mapping[str, t.Callable[[pathlib.Path], pathlib.Path | str]]] = {
    "missing": lambda directory: directory / "10-net.conflist",
    "directory": _directory,
    "loop": _loop,
    "below a file": _below_a_file,
    "device": lambda dummy: "/dev/zero",
    "nul": lambda directory: f"{directory}{os.sep}\0.conflist",
}
