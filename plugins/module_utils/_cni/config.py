# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Network configurations and the plugin configurations in them (section 1)."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, kind
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_network_name, check_plugin_type

# The first version of the specification without the form of a single plugin.
SINCE_LISTS_ONLY = "1.0.0"


class PluginConfiguration:
    """One plugin configuration object of a network (section 1).

    Attributes:
        index: Its position in the network's ``plugins``.
        keys: The object as written, with its reserved keys, read in any case; `request` derives the plugin's request
            from it.
    """

    def __init__(self, index: int, plugin_type: str, keys: t.Mapping[str, t.Any]) -> None:
        self.index = index
        self.type = plugin_type
        self.keys = keys

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PluginConfiguration):
            return NotImplemented
        return self.index == other.index and json_text.is_same(self.keys, other.keys)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset(name for name, declared in (_capabilities(self.keys) or {}).items() if declared)

    @property
    def delegated_type(self) -> str:
        """The type of the IPAM plugin that this plugin runs, or an empty string."""
        return (self.keys.get("ipam") or {}).get("type") or ""


class NetworkConfiguration(t.NamedTuple):
    """A network configuration list, or a single plugin's configuration read as a list of one (section 1).

    Two configurations are equal if plugins would get the same requests, even if they come from different files.

    Attributes:
        versions: The specification's versions that it allows and this engine supports, lowest first.
        plugins: May be empty until the plugin directory beside the file has been read.
        source: The file or other origin, as error messages name it.
        is_list: Whether it was written as a list.
        content: JSON from which the configuration can be parsed again: the unchanged file where possible.
    """

    name: str
    versions: tuple[str, ...]
    plugins: tuple[PluginConfiguration, ...]
    source: str
    content: bytes = b""
    disable_check: bool = False
    disable_gc: bool = False
    load_only_inlined_plugins: bool = False
    is_list: bool = True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetworkConfiguration):
            return NotImplemented
        return (self.name, self.versions, self.plugins) == (other.name, other.versions, other.plugins)

    def __ne__(self, other: object) -> bool:  # tuples have one of their own
        return not self == other

    @property
    def disabled_operations(self) -> tuple[bool, bool]:
        """Whether the configuration disables CHECK, and whether it disables GC. Plugins do not get these keys."""
        return self.disable_check, self.disable_gc

    @property
    def version(self) -> str:
        """Return the highest version allowed ("Version considerations")."""
        return self.versions[-1]

    @property
    def plugin_types(self) -> tuple[str, ...]:
        """The types of all plugins of the network, delegated IPAM plugins included, without duplicates."""
        types = [name for plugin in self.plugins for name in (plugin.type, plugin.delegated_type) if name]
        return tuple(dict.fromkeys(types))

    def with_plugins(self, appended: t.Sequence[PluginConfiguration]) -> NetworkConfiguration:
        """Return the network with the plugins of another source appended."""
        plugins = (*self.plugins, *appended)
        content = as_list_content(json_text.decode(self.content, self.source, recorded=True), plugins)
        return self._replace(plugins=plugins, content=content)

    def require_plugins(self) -> NetworkConfiguration:
        """Return the network if it has plugins.

        Raises:
            CniError: ``INVALID_CONFIG``.
        """
        if not self.plugins:
            raise _invalid(self.source, "/plugins", "the network has no plugin", "at least one plugin configuration")
        return self


def parse(content: bytes, source: str, *, recorded: bool = False) -> NetworkConfiguration:
    """Read a network configuration from JSON.

    Args:
        source: The file, as error messages name it.
        recorded: The text comes from a record, so a single plugin's configuration is accepted at any version.

    Raises:
        CniError: ``DECODE_FAILURE``, ``INCOMPATIBLE_VERSION`` or ``INVALID_CONFIG``, with the file, a JSON pointer
            to the value, the value and what was expected.
    """
    document = json_text.decode(content, source, unique_keys=not recorded, recorded=recorded)
    if not isinstance(document, dict):
        raise _invalid(source, "", f"found {kind(document)}", "an object")
    name = read_name(document, source)
    versions = parse_versions(document, source, recorded=recorded)
    is_list = "plugins" in document or "type" not in document
    if not is_list and not recorded:
        check_single(versions[-1], source)
    return NetworkConfiguration(
        name=name,
        versions=versions,
        plugins=_plugins(document, source) if is_list else (parse_plugin(document, 0, source, ""),),
        source=source,
        content=content if is_list else as_list_content(document, (PluginConfiguration(0, "", document),)),
        disable_check=parse_flag(document, "disableCheck", source),
        disable_gc=parse_flag(document, "disableGC", source),
        load_only_inlined_plugins=is_list and _load_only_inlined_plugins(document, source),
        is_list=is_list,
    )


def read_name(document: JsonObject, source: str) -> str:
    """Return the name of a network.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if document.get("name") is None:
        raise _invalid(source, "/name", "the key 'name' is missing", "the name of the network")
    return check_network_name(document["name"], f"{source}: /name")


def check_single(highest: str, source: str) -> None:
    """Refuse a single plugin's configuration at a version that only has lists.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if version.at_least(highest, SINCE_LISTS_ONLY):
        raise _invalid(
            source,
            "/type",
            f"a single plugin's configuration at version {highest}",
            "a list, as the specification only has lists since 1.0.0; move the plugin into 'plugins'",
        )


def is_refused_single(network: NetworkConfiguration) -> bool:
    """Return whether this engine refuses a network only because it is a single plugin's configuration."""
    highest = network.version
    return not network.is_list and highest in version.KNOWN and version.at_least(highest, SINCE_LISTS_ONLY)


def parse_plugin(keys: object, index: int, source: str, pointer: str) -> PluginConfiguration:
    """Read one plugin configuration object.

    Args:
        pointer: JSON pointer of the object in its file.
    """
    if not isinstance(keys, dict):
        raise _invalid(source, pointer, f"found {kind(keys)}", "a plugin configuration object")
    if "type" not in keys:
        raise _invalid(source, pointer, "the plugin has no 'type'", "the name of the plugin's executable")
    plugin_type = check_plugin_type(keys["type"], f"{source}: {pointer}/type")
    read = json_text.AnyCaseObject(json_text.any_case(keys))
    check_well_known_keys(read, f"{source} (plugin {index}, type {plugin_type})", pointer)
    return PluginConfiguration(index, plugin_type, read)


def encode(network: t.Mapping[str, t.Any], default: t.Callable[[t.Any], t.Any] | None = None) -> bytes:
    """Return a network configuration given as data as indented JSON text.

    Args:
        default: Converts values that JSON cannot represent, as for `json.dumps`.

    Raises:
        CniError: ``INVALID_CONFIG``: JSON cannot represent it.
    """
    try:
        return (json.dumps(network, indent=2, ensure_ascii=False, default=default) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise CniError(Code.INVALID_CONFIG, f"the configuration cannot be written as JSON: {exc}") from exc


def as_list_content(document: t.Mapping[str, t.Any], plugins: t.Sequence[PluginConfiguration]) -> bytes:
    """Encode the network as one list with all plugins inlined, for the record."""
    network = ("cniVersion", "cniVersions", "name", "disableCheck", "disableGC")
    content = {key: document[key] for key in network if key in document}
    content["loadOnlyInlinedPlugins"] = True
    content["plugins"] = [dict(plugin.keys) for plugin in plugins]
    return json_text.encode(content)


def parse_versions(document: t.Mapping[str, t.Any], source: str, *, recorded: bool = False) -> tuple[str, ...]:
    """Return the versions that both a network and this engine allow, lowest first.

    Args:
        recorded: As for `parse`; ``cniVersions`` may be null, and its invalid entries are left out.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``INVALID_CONFIG``.
    """
    single = document.get("cniVersion", "")
    if not isinstance(single, str):
        raise _invalid(source, "/cniVersion", f"found {kind(single)}", 'a string such as "1.0.0"')
    if "cniVersions" not in document or (recorded and document["cniVersions"] is None):
        return (version.require_known(single, f"{source}: /cniVersion"),)
    several = document["cniVersions"]
    if not isinstance(several, list):
        raise _invalid(source, "/cniVersions", f"found {_describe(several)}", "a list of strings; or leave it out")
    for index, entry in enumerate(several):
        check_version_entry(entry, f"/cniVersions/{index}", source, recorded=recorded)
    check_version_entry(single, "/cniVersion", source, recorded=recorded)
    allowed = version.sort_known([*several, *([single] if single else [])])
    if not allowed:
        named = ", ".join(several)
        raise CniError(
            Code.INCOMPATIBLE_VERSION,
            f"{source}: /cniVersions: {f'none of {named} is known' if named else 'no version is listed'}",
            f"known versions: {', '.join(version.KNOWN)}",
        )
    return allowed


def check_version_entry(entry: object, pointer: str, source: str, *, recorded: bool = False) -> None:
    """Refuse a ``cniVersion``, or an entry of ``cniVersions``, that runtimes cannot compare.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``INVALID_CONFIG``.
    """
    if not isinstance(entry, str):
        raise _invalid(source, pointer, f"found {kind(entry)}", 'a string such as "1.0.0"')
    if not recorded:
        version.require_form(entry, f"{source}: {pointer}")


def _describe(value: object) -> str:
    return repr(value) if isinstance(value, str) else kind(value)


def _plugins(document: JsonObject, source: str) -> tuple[PluginConfiguration, ...]:
    plugins = document.get("plugins", [])
    if not isinstance(plugins, list):
        raise _invalid(source, "/plugins", f"found {kind(plugins)}", "a list of plugin configuration objects")
    return tuple(parse_plugin(keys, index, source, f"/plugins/{index}") for index, keys in enumerate(plugins))


def _load_only_inlined_plugins(document: JsonObject, source: str) -> bool:
    only = parse_flag(document, "loadOnlyInlinedPlugins", source)
    if only and "plugins" not in document:
        raise _invalid(source, "/loadOnlyInlinedPlugins", "true, but there are no 'plugins'", "'plugins', or false")
    return only


def parse_flag(document: t.Mapping[str, t.Any], key: str, source: str) -> bool:
    """Return whether a boolean key of a network is true; its value may be text.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    value = document.get(key, False)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _invalid(source, f"/{key}", f"found {value!r}", "true or false")
    return value


def check_well_known_keys(keys: t.Mapping[str, t.Any], source: str, pointer: str) -> None:
    """Check the keys that the specification defines for every plugin.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    capabilities = _capabilities(keys)
    for key, value in {"capabilities": capabilities, "ipam": keys.get("ipam"), "dns": keys.get("dns")}.items():
        if not isinstance(value, (dict, type(None))):
            raise _invalid(source, f"{pointer}/{key}", f"found {kind(value)}", "an object")
    for name, declared in (capabilities or {}).items():
        if not isinstance(declared, (bool, type(None))):
            raise _invalid(source, f"{pointer}/capabilities/{name}", f"found {declared!r}", "true or false")
    ipam = keys.get("ipam") or {}
    if ipam.get("type") not in (None, ""):
        check_plugin_type(ipam["type"], f"{source}: {pointer}/ipam/type")


def _capabilities(keys: t.Mapping[str, t.Any]) -> t.Any:
    """Return the declared capabilities, whose key is the engine's and therefore has one case."""
    return dict(keys).get("capabilities")


def _invalid(source: str, pointer: str, problem: str, expected: str) -> CniError:
    place = f"{source}: {pointer}" if pointer else source
    return CniError(Code.INVALID_CONFIG, f"{place}: {problem}", f"expected: {expected}")
