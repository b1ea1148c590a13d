# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directories in which tuning keeps the values that it has changed."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values

DEFAULT = "/run/cni/tuning"


@pytest.mark.parametrize("directory", [{}, {"a": 1}, [1], 5, "not/absolute"])
def test_a_directory_that_is_not_a_path_is_ignored(directory: t.Any) -> None:
    plugins = [{"type": "tuning", "dataDir": directory}, {"type": "tuning"}]
    content = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": plugins}).encode()
    network = config.parse(content, "net.conflist", recorded=True)
    assert saved_values.directories(network, DEFAULT, is_trusted=True) == {DEFAULT}
