# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The contract between a plugin and the protocol: a class whose methods are the operations of the specification."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface, parse_interface
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import result, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, read_interface, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result

_IGNORE_UNKNOWN = "IgnoreUnknown"


class _Request(t.NamedTuple):
    content: bytes
    keys: JsonObject
    version: str
    network: str
    parameters: Parameters
    executor: Executor
    recorded_result: Result | None = None


class PluginRequest(_Request):
    """A request to a plugin (section 2, "Parameters"; section 3, "Deriving request configuration").

    Attributes:
        content: The request as it was received; delegated plugins get the same.
        keys: Its keys.
        version: The version of the specification in which the plugin answers.
        network: The name of the network.
        parameters: The operation, and the attachment of ADD, CHECK and DEL.
        executor: Runs delegated plugins.
        recorded_result: The result of a record, which stands for the previous result.
    """

    @property
    def attachment(self) -> Attachment:
        """The attachment of ADD, CHECK and DEL."""
        if self.parameters.attachment is None:
            raise refuse(f"{self.parameters.command} has no attachment")
        return self.parameters.attachment

    @functools.cached_property
    def config(self) -> Keys:
        """The configuration as a typed reader."""
        return Keys(self.keys)

    @functools.cached_property
    def readings(self) -> dict[str, t.Any]:
        """The values that plugins have read from the request, by the names of the plugins."""
        return {}

    @functools.cached_property
    def runtime_config(self) -> Keys:
        """The capability arguments of the attachment."""
        return self.config.section("runtimeConfig")

    @functools.cached_property
    def config_args(self) -> Keys:
        """The values of ``args.cni``."""
        return self.config.section("args").section("cni")

    def cni_args(self, *names: str) -> dict[str, str]:
        """Return those pairs of CNI_ARGS that the plugin understands.

        Args:
            names: The keys that it understands. It refuses others unless CNI_ARGS has ``IgnoreUnknown=1``, as the
                conventions of the specification require.
        """
        if not self.parameters.args_are_pairs:
            raise refuse("CNI_ARGS is not a list of pairs", "expected: KEY=VALUE, with semicolons between pairs")
        args = self.attachment.args
        unknown = sorted(set(args) - {*names, _IGNORE_UNKNOWN})
        if unknown and args.get(_IGNORE_UNKNOWN, "").lower() not in ("1", "true"):
            raise refuse(f"CNI_ARGS has unknown keys: {', '.join(unknown)}", f"add {_IGNORE_UNKNOWN}=1 to ignore them")
        return {name: args[name] for name in names if args.get(name)}

    @functools.cached_property
    def prev_result(self) -> Result | None:
        """The previous result in the latest version.

        Raises:
            CniError: ``DECODE_FAILURE``, ``INCOMPATIBLE_VERSION``.
        """
        if self.recorded_result is not None:
            return self.recorded_result.to(version.LATEST)
        keys = self.keys.get("prevResult")
        if keys is None:
            return None
        return result.from_keys(keys, self.version, "prevResult").to(version.LATEST)

    def require_prev_result(self) -> Result:
        """Return the previous result in the latest version; raise an error without one."""
        if self.prev_result is None:
            raise refuse(
                "the request has no prevResult", "expected: a plugin that runs after another plugin of the list"
            )
        return self.prev_result

    def own_ips(self) -> t.Iterator[JsonObject]:
        """Yield the previous result's addresses of the container's interface, and those without an interface."""
        keys = self.prev_result.keys if self.prev_result else {}
        interfaces = dict(enumerate(keys.get("interfaces") or ()))
        for ip in keys.get("ips") or ():
            interface = interfaces.get(ip.get("interface"))
            if interface is None or (interface.get("name") == self.attachment.ifname and interface.get("sandbox")):
                yield ip

    def own_interfaces(self) -> list[IpInterface]:
        """Return the addresses of the container's interface in the previous result.

        Raises:
            CniError: One of them is not an address.
        """
        return [read_interface("the address of the result", str(ip.get("address"))) for ip in self.own_ips()]

    def own_addresses(self) -> frozenset[str] | None:
        """Return the addresses that the container's interface had, for DEL; None if they are not known."""
        if self.prev_result is None:
            return None
        interfaces = (parse_interface(ip.get("address")) for ip in self.own_ips())
        return frozenset(str(interface.ip) for interface in interfaces if interface)

    @property
    def valid_attachments(self) -> frozenset[tuple[str, str]]:
        """Container id and interface name of each valid attachment, for GC.

        Raises:
            CniError: The request of GC does not have them: deleting everything would be wrong.
        """
        # The key was renamed after 1.1.0 was tagged.
        names = ("cni.dev/valid-attachments", "cni.dev/attachments")
        key = next((name for name in names if name in self.config), None)
        if key is None:
            raise refuse(f"the request has no {names[0]}", "expected: a list of the network's valid attachments")
        return frozenset((item.text("containerID"), item.text("ifname")) for item in self.config.sections(key))

    def delegate(self, plugin_type: str, command: str = "") -> Result:
        """Run another plugin with the same request (section 4) and return its result in the latest version.

        Args:
            command: By default, that of this request. Only ADD has a result.
        """
        command = command or self.parameters.command
        output = self.executor.execute(plugin_type, self.content, self.parameters._replace(command=command))
        if command != "ADD":
            return Result(version.LATEST, {})
        return result.decode(output, self.version, f"the result of plugin {plugin_type}").to(version.LATEST)


class Plugin:
    """A plugin. Its subclasses override the operations that they have; the others succeed and do nothing.

    Errors are raised as `CniError`. After an error of ADD, nothing of it may be left.

    Attributes:
        name: The value of ``type``.
        versions: The versions of the specification that it supports, lowest first.
    """

    name: t.ClassVar[str] = ""
    versions: t.ClassVar[tuple[str, ...]] = version.KNOWN

    def prepare(self, config: Keys, network: str) -> None:
        """Read what the operations on many attachments of a network need, before processes share them."""

    def require_accepted(self, request: PluginRequest) -> None:
        """Raise an error if ADD would refuse the request, whatever the node and the previous result have."""

    def add(self, request: PluginRequest) -> Result:
        """Attach the container and return the result, in any version."""
        return request.prev_result or Result(version.LATEST, {})

    def check(self, request: PluginRequest) -> None:
        """Raise an error if something that ADD made is missing or has changed."""

    def delete(self, request: PluginRequest) -> None:
        """Remove what ADD made. What is missing already is not an error."""

    def gc(self, request: PluginRequest) -> None:
        """Remove what belongs to attachments that are not valid any more."""

    def status(self, request: PluginRequest) -> None:
        """Raise ``NOT_AVAILABLE`` or ``LIMITED_CONNECTIVITY`` if ADD cannot succeed now."""
