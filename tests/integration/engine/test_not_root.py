# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A task without `become` reports that it needs root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import MODULES, EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

NOBODY = 65534


def _msg(module: str, **arguments: t.Any) -> str:
    """Return the message of a module that fails when an unprivileged user runs it."""
    done = subprocess.run(
        [sys.executable, "-m", f"{MODULES}.{module}"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    result: JsonObject = json.loads(done.stdout)
    assert result["failed"]
    return str(result["msg"])


@pytest.mark.parametrize("module", ["attachments", "netns"])
def test_a_module_without_root_names_become(node: EngineNode, blue: Namespace, module: str) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    node.attach(attachment("net", blue))
    arguments: dict[str, JsonObject] = {
        "attachments": {"attachments": [attachment("net", blue)]},
        "netns": {"names": ["red"]},
    }
    assert "; this process does not run as root; a task on a node needs become: true" in _msg(
        module, **arguments[module]
    )
