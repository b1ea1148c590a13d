# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How container runtimes read a file of the conf dir: as libcni 1.3.0 does, which differs from this engine."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import AnyCaseObject, JsonObject, any_case, kind
from ansible_collections.cni.node.plugins.module_utils._cni import config, version
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration

LIST_ENDING = ".conflist"
SINGLE_ENDINGS = (".conf", ".json")
ENDINGS = (LIST_ENDING, *SINGLE_ENDINGS)

_FLAGS = ("disableCheck", "disableGC", "loadOnlyInlinedPlugins")
_OBJECTS = ("capabilities", "dns", "ipam")


class Misnamed(t.NamedTuple):
    """Why container runtimes do not find a network in a file, because of the file's name."""

    message: str
    hint: str


def find_misnamed(name: str, *, is_list: bool) -> Misnamed | None:
    """Return why container runtimes do not find a network in a file with this name, or None if they do.

    Args:
        name: The name of the file, without its directory.
        is_list: Whether the file has a list of plugins, or no plugin at all.
    """
    stem, ending = os.path.splitext(name)
    if ending not in ENDINGS:
        message = f"container runtimes read no file with such a name: it does not end with {', '.join(ENDINGS)}"
        return Misnamed(message, f"rename it to {stem or name}{LIST_ENDING if is_list else SINGLE_ENDINGS[0]}")
    if is_list and ending in SINGLE_ENDINGS:
        message = f"container runtimes do not load a list of plugins from a file whose name ends with {ending}"
        return Misnamed(message, f"rename it to {stem.removesuffix(LIST_ENDING)}{LIST_ENDING}")
    if not is_list and ending == LIST_ENDING:
        message = f"container runtimes find no plugins in it: a file whose name ends with {ending} has to have a list"
        return Misnamed(
            message, f"move the plugin into a list named 'plugins', or rename it to {stem}{SINGLE_ENDINGS[0]}"
        )
    return None


def read(
    content: bytes, path: str, read_plugin_directory: t.Callable[[str], t.Sequence[tuple[str, bytes]]]
) -> NetworkConfiguration:
    """Return the network that container runtimes find in a file.

    Unlike this engine, they accept keys that are repeated, names and versions that no plugin accepts, and a single plugin of
    any version.

    Args:
        read_plugin_directory: Returns the files, with their contents, of the plugin directory of a network.

    Raises:
        CniError: They find none. Its message says why.
    """
    source = printable.line(path)
    document = _decode(content, source)
    if not path.endswith(LIST_ENDING):
        keys = AnyCaseObject(document)
        plugins, versions = [_plugin(document, 0, source)], (_version(keys, source),)
        return NetworkConfiguration(_name(keys, source), versions, tuple(plugins), path, content, is_list=False)
    name, plugins = _name(document, source), _list(document, source)
    flags = {key: config.parse_flag(document, key, source) for key in _FLAGS}
    if not flags["loadOnlyInlinedPlugins"] and os.sep not in name:
        files = read_plugin_directory(name)
        numbered = enumerate(files, start=len(plugins))
        plugins += [_plugin(_decode(text, file), index, file) for index, (file, text) in numbered]
    return NetworkConfiguration(
        name=name,
        versions=_versions(document, source),
        plugins=tuple(plugins),
        source=path,
        content=content,
        disable_check=flags["disableCheck"],
        disable_gc=flags["disableGC"],
    ).require_plugins()


def _decode(content: bytes, source: str) -> JsonObject:
    try:
        # Go replaces bytes that are not UTF-8.
        value = json.loads(content.decode("utf-8", "replace"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise CniError(Code.DECODE_FAILURE, f"{source} is not valid JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise _invalid(source, "", f"found {kind(value)}")
    return value


def _refuse_constant(name: str) -> t.NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _list(document: JsonObject, source: str) -> list[PluginConfiguration]:
    if "plugins" not in document:
        return []
    plugins = document["plugins"]
    if not isinstance(plugins, list) or not plugins:
        raise _invalid(source, "/plugins", f"found {kind(plugins)}" if plugins else "the list is empty")
    return [_plugin(keys, index, f"{source}: /plugins/{index}") for index, keys in enumerate(plugins)]


def _plugin(keys: object, index: int, source: str) -> PluginConfiguration:
    if not isinstance(keys, dict):
        raise _invalid(source, "", f"found {kind(keys)}")
    read_keys = AnyCaseObject(any_case(keys))
    plugin_type = read_keys.get("type")
    if not isinstance(plugin_type, str) or not plugin_type:
        raise _invalid(source, "/type", "the plugin has no 'type'")
    for key in _OBJECTS:
        if not isinstance(read_keys.get(key), (dict, type(None))):
            raise _invalid(source, f"/{key}", f"found {kind(read_keys.get(key))}")
    if not all(isinstance(value, (bool, type(None))) for value in (read_keys.get("capabilities") or {}).values()):
        raise _invalid(source, "/capabilities", "a value is not true or false")
    if not isinstance((read_keys.get("ipam") or {}).get("type"), (str, type(None))):
        raise _invalid(source, "/ipam/type", "the value is not a string")
    return PluginConfiguration(index, plugin_type, read_keys)


def _name(keys: t.Mapping[str, t.Any], source: str) -> str:
    name = keys.get("name")
    if not isinstance(name, str) or not name:
        raise _invalid(source, "/name", "the network has no name")
    return name


def _version(keys: t.Mapping[str, t.Any], source: str) -> str:
    written = keys.get("cniVersion")
    if not isinstance(written, (str, type(None))):
        raise _invalid(source, "/cniVersion", f"found {kind(written)}")
    return written or version.IMPLIED


def _versions(document: JsonObject, source: str) -> tuple[str, ...]:
    """Return the versions of a list; runtimes ignore those that they do not know if ``cniVersions`` has them."""
    if document.get("cniVersion", "") is None:
        raise _invalid(source, "/cniVersion", "found null")
    single = _version(document, source)
    several = document.get("cniVersions", [])
    if not isinstance(several, list):
        raise _invalid(source, "/cniVersions", f"found {kind(several)}")
    for index, entry in enumerate(several):
        config.check_version_entry(entry, f"/cniVersions/{index}", source)
    return version.sort_known([*several, single] if several else [single]) or (single,)


def _invalid(source: str, pointer: str, problem: str) -> CniError:
    return CniError(Code.INVALID_CONFIG, f"{source}: {pointer}: {problem}" if pointer else f"{source}: {problem}")
