# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._node.info import public_config
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST

SECRET = "hunter2"


def test_a_configuration_keeps_only_keys_that_describe_the_network() -> None:
    described = public_config.describe(config.parse(json.dumps(LIST).encode(), "file"))
    assert described["plugins"] == [
        {
            "type": "bridge",
            "bridge": "cni0",
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/16", "routes": [{"dst": "0.0.0.0/0"}]},
        },
        {"type": "tuning"},
        {"type": "portmap"},
    ]
    assert described["name"] == "dbnet"


def test_a_secret_in_another_key_is_left_out() -> None:
    plugin = {
        "type": "consul-cni",
        "token": SECRET,
        "args": {"cni": {"password": SECRET}},
        "ipam": {"type": "x", "key": SECRET},
    }
    network = {"cniVersion": "1.0.0", "name": "net", "secret": SECRET, "plugins": [plugin]}
    assert SECRET not in json.dumps(public_config.describe(config.parse(json.dumps(network).encode(), "file")))
