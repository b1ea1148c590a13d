# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Example networks, as operators write them."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject


def network(name: str, *plugins: JsonObject, version: str = "1.0.0") -> bytes:
    return json.dumps({"cniVersion": version, "name": name, "plugins": plugins}).encode()


def host_local(subnet: str, *more: str, **keys: str) -> JsonObject:
    """Return ranges with a range set for each subnet; the keys belong to the first."""
    return {"type": "host-local", "ranges": [[{"subnet": subnet, **keys}], *([{"subnet": other}] for other in more)]}


def static(*addresses: str) -> JsonObject:
    return {"type": "static", "addresses": [{"address": address} for address in addresses]}


def bridge(subnet: str, name: str = "cni0", **keys: t.Any) -> JsonObject:
    return {"type": "bridge", "bridge": name, "isGateway": True, "ipam": host_local(subnet), **keys}


def ptp(subnet: str) -> JsonObject:
    return {"type": "ptp", "ipam": host_local(subnet)}
