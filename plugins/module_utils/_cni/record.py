# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The record of an attachment, in libcni's format."""

from __future__ import annotations

import base64
import binascii
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.state_file import Optional, Shape, require_shape
from ansible_collections.cni.node.plugins.module_utils._cni import config, result
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._cni.version import require_known

_KIND = "cniCacheV1"
_OWN_KEY = "cni.node"
RESTORE_KEY = "restore"
_CONFIG_ARGS_KEY = "configArgs"
_ALLOW_KEY = "allowWorldWritablePlugins"
_BUILTIN_KEY = "builtin"
_FAILED_CHECK_KEY = "failedCheck"
# Other runtimes may leave out optional keys, and write null for an empty list or object.
_SHAPE: Shape = {
    "netns": Optional(str),
    "cniArgs": Optional([[str]]),
    "capabilityArgs": Optional(dict),
    _OWN_KEY: Optional(
        {
            **dict.fromkeys(("cniVersion", "netns", "command", _FAILED_CHECK_KEY), Optional(str)),
            _CONFIG_ARGS_KEY: Optional(dict),
            _BUILTIN_KEY: Optional([str]),
            RESTORE_KEY: Optional(
                {
                    "pluginDirs": [str],
                    "timeout": float,
                    "addresses": Optional([str]),
                    _ALLOW_KEY: Optional(bool),
                    _BUILTIN_KEY: Optional(str),
                }
            ),
        }
    ),
}


class Restoration(t.NamedTuple):
    """How an attachment is restored after a reboot. Two of them are equal whatever the previous addresses are.

    Attributes:
        plugin_dirs: The directories of its plugins.
        timeout: Seconds that one plugin may run.
        allow_world_writable: Whether to run plugins that every user of the node can replace.
        addresses: The previous addresses. The restored attachment requests them, but does not depend on them.
        builtin: When built-in plugins are used; empty for the default.
    """

    plugin_dirs: tuple[str, ...]
    timeout: float
    addresses: tuple[str, ...] = ()
    allow_world_writable: bool = False
    builtin: str = ""

    @property
    def _compared(self) -> t.Hashable:
        return self.plugin_dirs, self.timeout, self.allow_world_writable, self.builtin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Restoration) and self._compared == other._compared

    def __ne__(self, other: object) -> bool:  # tuples have one of their own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._compared)

    def as_dict(self) -> JsonObject:
        further: JsonObject = {_ALLOW_KEY: True} if self.allow_world_writable else {}
        if self.builtin:
            further[_BUILTIN_KEY] = self.builtin
        return {"pluginDirs": self.plugin_dirs, "timeout": self.timeout, "addresses": self.addresses, **further}


class Record(t.NamedTuple):
    """The record of an attachment: all that CHECK and DEL need, independent of the current files.

    Attributes:
        config: The network configuration used by ADD, with the plugins of the plugin directory inlined.
        result: The final result of ADD; in an intent of ADD, the result of the first plugin or None.
        version: The specification's version selected at ADD; empty in a record of another runtime.
        netns_identity: The identity of the network namespace at ADD; empty in a record of another runtime.
        command: In an intent, the operation in progress.
        restoration: How it is restored after a reboot; None if it is not restored.
        builtin: The plugins of ADD that ran in its process, each as ``TYPE@RELEASE``.
        failed_check: The message with which CHECK failed right after ADD, or an empty string.
    """

    attachment: Attachment
    config: bytes
    result: Result | None = None
    version: str = ""
    netns_identity: str = ""
    command: str = ""
    restoration: Restoration | None = None
    builtin: tuple[str, ...] = ()
    failed_check: str = ""

    @property
    def is_own(self) -> bool:
        """Return whether this collection wrote the record."""
        return bool(self.version)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of its result; empty without a result."""
        return self.result.addresses if self.result else ()

    @property
    def requested_ports(self) -> list[str]:
        """The host ports to map to it, such as ``8080->80/tcp``, without entries that some plugins cannot read."""
        mappings = self.attachment.capability_args.get("portMappings")
        written = mappings if isinstance(mappings, list) else []
        # Other runtimes may write the keys in upper or lower case.
        entries = [json_text.lower_keys(entry) for entry in written if isinstance(entry, dict)]
        return [_port(entry) for entry in entries if "hostport" in entry and "containerport" in entry]

    @property
    def node_interfaces(self) -> list[str]:
        """The interfaces of its result that are on the node, such as the host end of a veth pair."""
        interfaces = (self.result.keys.get("interfaces") if self.result else None) or ()
        return [interface["name"] for interface in interfaces if interface.get("name") and not interface.get("sandbox")]

    @property
    def sandbox(self) -> str:
        """The sandbox of its interface in its result; empty without one. It may also be the name of a virtual machine."""
        interfaces = (self.result.keys.get("interfaces") if self.result else None) or ()
        own = (item.get("sandbox") for item in interfaces if item.get("name") == self.attachment.ifname)
        return str(next(filter(None, own), ""))

    def with_netns_of_result(self) -> Record:
        """Return the record with the network namespace of its result if it names none; libcni did not before 1.2."""
        if self.attachment.netns or not os.path.isabs(self.sandbox):
            return self
        return self._replace(attachment=self.attachment.with_netns(self.sandbox))

    def network(self) -> NetworkConfiguration:
        """Return the recorded network configuration.

        Raises:
            CniError: It cannot be read; treat the attachment as one without a record.
        """
        try:
            return _parse_network(self.config)
        except CniError as exc:
            raise exc.within(str(self.attachment)) from exc

    def negotiated_version(self, network: NetworkConfiguration) -> str:
        """Return the version used by ADD; for a record of another runtime, the version of its result."""
        result_version = self.result.version if self.result else ""
        return self.version or (result_version if result_version in network.versions else network.version)

    def netns_for_delete(self) -> str:
        """Return the netns path of ADD if it still leads to the same namespace, or an empty string."""
        path = self.attachment.netns
        current = netns_identity(path)
        is_same = bool(current) and self.netns_identity in ("", current)
        return path if is_same else ""

    def encode(self) -> bytes:
        """Return the record in libcni's format. One extra key, which libcni ignores, has the additional data."""
        attachment = self.attachment
        document: JsonObject = {
            "kind": _KIND,
            "containerId": attachment.container_id,
            "config": base64.b64encode(self.config).decode("ascii"),
            "ifName": attachment.ifname,
            "networkName": attachment.network,
            "netns": attachment.netns,
        }
        if attachment.args:
            document["cniArgs"] = [[key, value] for key, value in attachment.args.items()]
        if attachment.capability_args:
            document["capabilityArgs"] = attachment.capability_args
        if self.result is not None:
            document["result"] = self.result.keys
        own: JsonObject = {"cniVersion": self.version, "netns": self.netns_identity, "command": self.command}
        if attachment.config_args:
            own[_CONFIG_ARGS_KEY] = attachment.config_args
        if self.builtin:
            own[_BUILTIN_KEY] = self.builtin
        if self.failed_check:
            own[_FAILED_CHECK_KEY] = self.failed_check
        if self.restoration is not None:
            own[RESTORE_KEY] = self.restoration.as_dict()
        document[_OWN_KEY] = own
        return json_text.encode(document)


def _port(entry: JsonObject) -> str:
    host = str(entry.get("hostip") or "")
    host = f"[{host}]:" if ":" in host else f"{host}:" if host else ""
    return f"{host}{entry['hostport']}->{entry['containerport']}/{entry.get('protocol') or 'tcp'}"


# Most records of a node share a configuration.
@functools.lru_cache(maxsize=256)
def _parse_network(content: bytes) -> NetworkConfiguration:
    return config.parse(content, "its recorded configuration", recorded=True).require_plugins()


def decode(content: bytes, source: str) -> Record:
    """Read a record of this collection or of libcni.

    Raises:
        CniError: ``DECODE_FAILURE``: truncated, empty, or not a record.
    """
    document = json_text.as_object(json_text.decode(content, source, recorded=True), source)
    try:
        if document["kind"] != _KIND:
            raise ValueError(f"its kind is {document['kind']!r}, not {_KIND!r}")
        require_shape({key: value for key, value in document.items() if value is not None}, _SHAPE)
        own: JsonObject = json_text.as_object(document.get(_OWN_KEY, {}), source)
        version = own.get("cniVersion", "")
        return Record(
            attachment=decode_attachment(document),
            config=base64.b64decode(document["config"], validate=True),
            result=_result(document, source),
            version=version and require_known(version, source),
            netns_identity=own.get("netns", ""),
            command=own.get("command", ""),
            restoration=_restoration(own),
            builtin=tuple(own.get(_BUILTIN_KEY, ())),
            failed_check=own.get(_FAILED_CHECK_KEY, ""),
        )
    except CniError as exc:
        msg = exc.msg if source in exc.msg else f"{source} is not a record: {exc.msg}"
        raise CniError(Code.DECODE_FAILURE, msg, exc.details) from exc
    except KeyError as exc:
        raise CniError(Code.DECODE_FAILURE, f"{source} is not a record: the key {exc} is missing") from exc
    except (TypeError, ValueError, AttributeError, binascii.Error) as exc:
        raise CniError(Code.DECODE_FAILURE, f"{source} is not a record: {exc}") from exc


def decode_attachment(document: JsonObject) -> Attachment:
    """Return the attachment of a record. Its arguments are not validated, as other runtimes accept more.

    Raises:
        CniError, KeyError, TypeError, ValueError: It has no valid attachment.
    """
    return Attachment(
        network=document["networkName"],
        container_id=document["containerId"],
        ifname=document["ifName"],
        netns=str(document.get("netns") or ""),
        args={str(key): str(value) for key, value in document.get("cniArgs") or ()},
        capability_args=dict(document.get("capabilityArgs") or {}),
        config_args=_config_args(document),
    ).require_identity()


def _config_args(document: JsonObject) -> JsonObject:
    own = document.get(_OWN_KEY)
    return dict(own.get(_CONFIG_ARGS_KEY) or {}) if isinstance(own, dict) else {}


def _restoration(own: JsonObject) -> Restoration | None:
    means = own.get(RESTORE_KEY)
    if means is None:
        return None
    timeout = means["timeout"]
    if not timeout > 0:
        raise ValueError(f"under {RESTORE_KEY!r}, a time above 0 was expected: {timeout}")
    allows, builtin = means.get(_ALLOW_KEY, False), means.get(_BUILTIN_KEY, "")
    return Restoration(tuple(means["pluginDirs"]), timeout, tuple(means.get("addresses", ())), allows, builtin)


def _result(document: JsonObject, source: str) -> Result | None:
    keys = document.get("result")
    return None if keys is None else result.from_keys(keys, "", f"{source}: /result")
