# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin tuning: it changes settings and properties of an interface that another plugin has made."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import LEAST_MTU
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, UINT32, Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference import go_patterns, saved_values, tuned_settings
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts

_NET = "net/"
_IPV6 = 6


class _Values(t.NamedTuple):
    """The values that an interface and its namespace shall have.

    Attributes:
        link: The interface with the properties that are set.
        settings: Settings of the namespace, by their paths below ``/proc/sys``.
    """

    link: resources.ExpectedLink
    settings: t.Mapping[str, str]


class Tuning(ChainedPlugin[_Values]):
    """Sets values, and keeps the former ones in a file, from which DEL restores them."""

    name = saved_values.PLUGIN

    def read(self, request: PluginRequest) -> _Values:
        """Return the values of a request: those of ``args.cni`` come before the capability, and that before the file."""
        config, given = request.config, request.config_args
        ifname = request.attachment.ifname

        def source(key: str) -> Keys:
            return given if key in given else config

        mac = veth_pair.read_mac(request, (given, request.runtime_config), (config,))
        link = _read_link(ifname, mac, source)
        return _Values(link, {**_read_settings(config, ifname), **_read_settings(given, ifname)})

    def describe(self, config: _Values, known: Facts) -> t.Iterator[resources.Resource]:
        yield config.link
        yield from (resources.Sysctl(path, value, inside=True) for path, value in config.settings.items())

    def require_accepted(self, request: PluginRequest) -> None:
        super().require_accepted(request)
        _require_unique(request)

    def add(self, request: PluginRequest) -> Result:
        result = request.require_prev_result()
        values = self.config_of(request)
        _require_unique(request)
        _require_allowed(request)
        _require_ipv6(request, values)
        with sandbox.open_sandbox(request.attachment), Undo() as undo:
            undo.add(lambda: self.delete(request))
            sandbox.run_inside(request.attachment, lambda writer: _write(writer, request, values))
        return _with_mac(result, request.attachment.ifname, values.link.mac)

    def delete(self, request: PluginRequest) -> None:
        directory = _data_dir(request)
        file = saved_values.find(directory, *request.attachment.key[1:])
        if file is None:
            return
        if sandbox.exists(request.attachment):
            former = _read_former(file, request.attachment.ifname)
            sandbox.run_inside(request.attachment, lambda writer: _restore(writer, former))
        file.remove()


def _read_link(ifname: str, mac: str, source: t.Callable[[str], Keys]) -> resources.ExpectedLink:
    """Return an interface with the values of several keys.

    Args:
        source: Returns the object that has a key.
    """
    return resources.ExpectedLink(
        ifname,
        inside=True,
        mac=mac,
        mtu=source("mtu").integer("mtu", within=PACKET_SIZE),
        is_promiscuous=source("promisc").flag("promisc"),
        all_multicast=source("allmulti").optional_flag("allmulti"),
        queue_length=source("txQLen").optional_integer("txQLen", within=UINT32),
    )


def _values_by_key(link: resources.ExpectedLink) -> JsonObject:
    return {
        "mac": link.mac,
        "promisc": link.is_promiscuous,
        "mtu": link.mtu,
        "allmulti": link.all_multicast,
        "txQLen": link.queue_length,
    }


def _data_dir(request: PluginRequest) -> str:
    path = request.keys.get("dataDir")
    return path if isinstance(path, str) and os.path.isabs(path) else NODE_PATHS.tuning_dir


def _read_settings(keys: Keys, ifname: str) -> dict[str, str]:
    settings = keys.section("sysctl")
    values = {}
    for key in settings.values:
        path = tuned_settings.sysctl_path(key, ifname)
        if not path.startswith(_NET):
            raise refuse(f"{settings.pointer(key)} is not a network setting", "expected: a name that begins with net.")
        values[path] = settings.text(key)
    return values


def _require_unique(request: PluginRequest) -> None:
    """Refuse a setting with two values: a decoded object has the last one only, and each name leads to a path."""
    ifname = request.attachment.ifname
    for keys, place in ((request.config, ("sysctl",)), (request.config_args, ("args", "cni", "sysctl"))):
        settings = keys.section("sysctl")
        names: dict[str, str] = {}
        repeated = json_text.find_repeated_key(request.content, *place)
        if repeated:
            raise refuse(f"{settings.pointer(repeated)} is given twice", "expected: one value for each setting")
        for key in settings.values:
            first = names.setdefault(tuned_settings.sysctl_path(key, ifname), key)
            if settings.text(first) != settings.text(key):
                raise refuse(
                    f"{settings.pointer(key)} is the setting {first}, with another value", "expected: one value"
                )


def _require_allowed(request: PluginRequest) -> None:
    """Refuse settings that no pattern of the node's list allows, if there is one."""
    content = durable.read(NODE_PATHS.tuning_allowlist)
    if content is None:
        return
    patterns = [line.strip() for line in content.decode("utf-8", "replace").splitlines() if line.strip()]
    for keys in (request.config, request.config_args):
        for key in keys.section("sysctl").values:
            if not any(_matches(pattern, key) for pattern in patterns):
                raise refuse(
                    f"the setting {key} is not allowed on this node",
                    f"{NODE_PATHS.tuning_allowlist} lists the allowed ones",
                )


def _require_ipv6(request: PluginRequest, values: _Values) -> None:
    """Refuse values with which the kernel removes the IPv6 addresses that the result has."""
    ifname = request.attachment.ifname
    if all(interface.version != _IPV6 for interface in request.own_interfaces()):
        return
    path = tuned_settings.switches_off_ipv6(values.settings, ifname)
    if path:
        raise refuse(f"the setting {path} removes the IPv6 addresses of {ifname}", "expected: 0, or no IPv6 addresses")
    if 0 < values.link.mtu < LEAST_MTU[_IPV6]:
        what = f"an MTU of {values.link.mtu} bytes removes the IPv6 addresses of {ifname}"
        raise refuse(what, f"expected: at least {LEAST_MTU[_IPV6]}, or no IPv6 addresses")


def _matches(pattern: str, key: str) -> bool:
    try:
        return re.search(go_patterns.translate(pattern), key, re.ASCII) is not None
    except (ValueError, re.error) as exc:
        raise refuse(f"{NODE_PATHS.tuning_allowlist}: {pattern!r} is not a regular expression: {exc}") from exc


def _write(writer: KernelWriter, request: PluginRequest, values: _Values) -> None:
    for path, value in values.settings.items():
        sysctl.write_at(path, value)
    expected = values.link
    if expected != resources.ExpectedLink(expected.name, inside=True):
        link = sandbox.require_link(expected.name)
        _save(link, request, expected)
        writing.set_properties(writer, link, expected)


def _save(link: Link, request: PluginRequest, expected: resources.ExpectedLink) -> None:
    """Write the former values to the file of the attachment, as tuning does."""
    unset = _values_by_key(resources.ExpectedLink(expected.name, inside=True))
    changed = [key for key, value in _values_by_key(expected).items() if value != unset[key]]
    former = {key: saved_values.SAVED[key](link) for key in changed}
    saved_values.write(_data_dir(request), *request.attachment.key[1:], former)


class _Former(t.NamedTuple):
    """The former values of an interface, and whether its promiscuity is among them."""

    link: resources.ExpectedLink
    has_promiscuity: bool


def _read_former(file: saved_values.TuningFile, ifname: str) -> _Former:
    """Return the values in the file of an attachment.

    Raises:
        CniError: A value has another type. The error names the file.
    """
    try:
        former = Keys(json_text.as_object(json_text.decode(file.content, file.path), file.path))
        return _Former(_read_link(ifname, former.text("mac"), lambda dummy: former), "promisc" in former)
    except CniError as exc:
        raise exc.with_place(file.path).with_detail("remove the file; the interface then keeps its values") from exc


def _restore(writer: KernelWriter, former: _Former) -> None:
    """Give the interface its former values; do nothing if it is gone."""
    link = rtnetlink.link(former.link.name)
    if link is None:
        return
    writing.set_properties(writer, link, former.link)
    if former.has_promiscuity and not former.link.is_promiscuous:
        writer.set_promiscuous(link.ifindex, False)


def _with_mac(result: Result, ifname: str, mac: str) -> Result:
    """Return the result with another MAC of the interface."""
    interfaces = [
        {**item, "mac": mac} if mac and item.get("name") == ifname else item
        for item in result.keys.get("interfaces") or ()
    ]
    return result._replace(keys={**result.keys, "interfaces": interfaces})
