# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Load the JSON Schemas of networks, plugins and results."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import typing as t

from ansible.errors import AnsibleError

from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import fast_path
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.formats import FORMATS

if t.TYPE_CHECKING:
    import jsonschema

Schema = dict[str, t.Any]

_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "schemas")
_PLUGINS = "plugins"

_LIBRARY_NEEDED = (
    "validation of network configurations needs the Python package jsonschema 4.17 or newer on the controller;"
    " install it for the Python that runs Ansible, for example with: pip install 'jsonschema>=4.17'"
)

# Keywords that a validator ignores. Descriptions stay, because messages quote them.
_ANNOTATIONS = ("$schema", "$id", "title", "default")


@functools.cache
def load(name: str) -> Schema:
    """Return a schema with all references resolved, so that validation reads no other file.

    Args:
        name: Path below the directory of schemas, without extension.
    """
    file = os.path.join(_DIRECTORY, f"{name}.json")
    return t.cast(Schema, _inline(_read(file), file))


@functools.cache
def plugin_types() -> frozenset[str]:
    """Return the plugin types that have a schema."""
    return frozenset(os.path.splitext(name)[0] for name in os.listdir(os.path.join(_DIRECTORY, _PLUGINS)))


def name_for_plugin(plugin_type: object) -> str:
    """Return the name of the schema for a plugin configuration. Unknown types get the specification's schema."""
    return f"{_PLUGINS}/{plugin_type}" if _is_known(plugin_type) and role(plugin_type) != "ipam" else "plugin"


def name_for_ipam(plugin_type: object) -> str | None:
    """Return the name of the schema for ``ipam`` of a plugin configuration, or None for an unknown type."""
    return f"{_PLUGINS}/{plugin_type}" if role(plugin_type) == "ipam" else None


def role(plugin_type: object) -> str:
    """Return the role of a plugin type: ``interface``, ``meta``, ``ipam``, ``loopback``, or ``any`` if it is unknown."""
    return str(annotation(plugin_type, "x-role") or "any")


def annotation(plugin_type: object, name: str) -> t.Any:
    """Return an annotation of a plugin's schema, or None if it has none."""
    return load(f"{_PLUGINS}/{plugin_type}").get(name) if _is_known(plugin_type) else None


def _is_known(plugin_type: object) -> bool:
    return isinstance(plugin_type, str) and plugin_type in plugin_types()


def violations(name: str, value: t.Any) -> t.Iterator[jsonschema.ValidationError]:
    """Return what violates a schema.

    Raises:
        AnsibleError: jsonschema is missing on the controller, or too old.
    """
    _require_library()
    return iter(()) if fast_path.accepts(_bare(name), value) else validator(name).iter_errors(value)


@functools.cache
def _require_library() -> None:
    if importlib.util.find_spec("jsonschema") is None:
        raise AnsibleError(_LIBRARY_NEEDED)


@functools.cache
def validator(name: str) -> jsonschema.protocols.Validator:
    """Return the validator of a schema; errors as `violations`."""
    return _validator_class()(_bare(name))


@functools.cache
def _validator_class() -> t.Callable[[Schema], jsonschema.protocols.Validator]:
    # Imported here because most networks do not need it.
    try:
        from jsonschema import Draft202012Validator, FormatChecker, validators
    except ImportError as exc:
        raise AnsibleError(_LIBRARY_NEEDED) from exc

    # Plugins, which are written in Go, refuse 1500.0 as an integer.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda dummy, value: fast_path.is_integer(value))
    formats = FormatChecker(formats=())
    for name, rule in FORMATS.items():
        formats.checks(name)(_make_text_rule(rule))
    validator_class: t.Any = validators.extend(Draft202012Validator, {"properties": _properties}, type_checker=types)
    return functools.partial(validator_class, format_checker=formats)


def _properties(
    validator: jsonschema.protocols.Validator, known: Schema, instance: t.Any, dummy: Schema
) -> t.Iterator[jsonschema.ValidationError]:
    """Validate the keyword ``properties`` in the order of the document, which findings keep."""
    for key, value in instance.items() if isinstance(instance, dict) else ():
        if key in known:
            yield from validator.descend(value, known[key], path=key, schema_path=key)  # type: ignore[attr-defined]


def _make_text_rule(rule: t.Callable[[str], bool]) -> t.Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or rule(value)


@functools.cache
def _bare(name: str) -> Schema:
    """Return a schema without annotations, to save time."""
    return t.cast(Schema, _without_annotations(load(name)))


def _read(file: str) -> t.Any:
    with open(file, encoding="utf-8") as stream:
        return json.load(stream)


def _inline(schema: t.Any, file: str) -> t.Any:
    if isinstance(schema, list):
        return [_inline(part, file) for part in schema]
    if not isinstance(schema, dict):
        return schema
    own = {key: _inline(value, file) for key, value in schema.items() if key not in ("$ref", "$defs")}
    return {**_resolve(schema["$ref"], file), **own} if "$ref" in schema else own


def _resolve(reference: str, file: str) -> Schema:
    name, dummy, path = reference.partition("#/")
    target_file = os.path.join(os.path.dirname(file), name) if name else file
    target = _read(target_file)
    for part in path.split("/"):
        target = target[part]
    return t.cast(Schema, _inline(target, target_file))


def _without_annotations(schema: t.Any, *, is_map: bool = False) -> t.Any:
    if isinstance(schema, list):
        return [_without_annotations(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_annotations(value, is_map=not is_map and key in ("properties", "patternProperties"))
        for key, value in schema.items()
        if is_map or not (key in _ANNOTATIONS or key.startswith("x-"))
    }
