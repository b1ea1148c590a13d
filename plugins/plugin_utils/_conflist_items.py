# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The controller's part of modules with the option ``conflists``: it reads and validates the items."""

from __future__ import annotations

import typing as t

from ansible import template
from ansible.errors import AnsibleError, AnsibleFileNotFound
from ansible.plugins.loader import lookup_loader

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import CONFLISTS
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict, plain
from ansible_collections.cni.node.plugins.plugin_utils._role_action import RoleAction
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import nearest
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.inputs import content_of

_KEYS = tuple(CONFLISTS["conflists"]["options"])

# Before ansible-core 2.19, rendered text that looks like data is converted to data. Since then, the option only warns.
_AS_TEXT: t.Final[JsonObject] = {} if hasattr(template, "trust_as_template") else {"convert_data": False}


class ConflistItemsAction(RoleAction):
    """The controller's part of a module with the option ``conflists``.

    Renders templates and validates network configurations before the node is contacted.
    """

    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: JsonObject | None = None) -> JsonObject:
        result: JsonObject = super().run(tmp, task_vars)
        arguments = self.task_arguments()
        items = arguments.get("conflists")
        if isinstance(items, list):
            try:
                arguments["conflists"] = self.prepare(items, task_vars or {})
            except CniError as exc:
                return {**result, "failed": True, "msg": str(exc), "error": exc.as_dict()}
        return {**result, **self.execute(arguments, task_vars)}

    def arguments_to_compare(self, task_vars: JsonObject) -> JsonObject | None:
        arguments = self.task_arguments()
        items = arguments.get("conflists")
        if isinstance(items, list):
            arguments["conflists"] = [item for item, dummy in self._prepare_items(items, task_vars)]
        return self.arguments_for_node(arguments)

    def task_arguments(self) -> JsonObject:
        """Return the arguments of the task that the module uses."""
        return dict(self._task.args)

    def execute(self, arguments: JsonObject, task_vars: JsonObject | None) -> JsonObject:
        """Run the module and return its result."""
        result: JsonObject = self._execute_module(module_args=self.arguments_for_node(arguments), task_vars=task_vars)
        return result

    def arguments_for_node(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments in the form that the node gets."""
        return arguments

    def prepare(self, items: list[t.Any], task_vars: JsonObject) -> list[t.Any]:
        """Return the items in the form that the node gets.

        Raises:
            CniError: ``DECODE_FAILURE``, ``INCOMPATIBLE_VERSION`` or ``INVALID_CONFIG``, with the item's place.
        """
        prepared = self._prepare_items(items, task_vars)
        self.check([source for dummy, source in prepared if source])
        return [item for item, dummy in prepared]

    def check(self, sources: list[Source]) -> None:
        """Refuse configurations that the engine on the node would refuse.

        Raises:
            CniError: See `prepare`.
        """
        for source in sources:
            try:
                config.parse(source.content, source.file)
            except CniError as exc:
                raise exc.with_place(source.file) from exc

    def _prepare_items(self, items: list[t.Any], task_vars: JsonObject) -> list[tuple[t.Any, Source | None]]:
        return [self._prepare_item(item, f"conflists[{place}]", task_vars) for place, item in enumerate(items)]

    def _prepare_item(self, item: t.Any, where: str, task_vars: JsonObject) -> tuple[t.Any, Source | None]:
        """Return an item in the form that the node gets, and its configuration.

        An item of the wrong type is returned unchanged: the module refuses it.
        """
        item = as_dict(item)
        if not isinstance(item, dict):
            return item, None
        _check_keys(item, where)
        item = {key: plain(value) for key, value in item.items()}
        if item.get("state", "present") == "present":
            return self._add_configuration(item, where, task_vars)
        if item.get("name") or item.get("filename"):
            return item, None
        return _replace_by_name(*self._add_configuration(item, where, task_vars)), None

    def _add_configuration(
        self, item: JsonObject, where: str, task_vars: JsonObject
    ) -> tuple[JsonObject, Source | None]:
        """Return an item with its configuration in the form that the node gets, and this configuration."""
        if isinstance(item.get("template"), str):
            if item.get("config") is not None or item.get("content") is not None:
                return item, None
            where, text = self._render(item["template"], item.get("vars") or {}, where, task_vars)
            item = {**{key: item[key] for key in item if key not in ("template", "vars")}, "content": text}
        if isinstance(item.get("content"), dict) and item.get("config") is None:
            # Before ansible-core 2.19, templating converts a variable with JSON text into data.
            item = {**{key: item[key] for key in item if key != "content"}, "config": item["content"]}
        if isinstance(item.get("config"), str):
            # Since ansible-core 2.19, a variable with JSON text stays text. The node would convert it without validation.
            item = {**item, "config": as_dict(item["config"])}
        return item, _source(item, where)

    def _render(self, name: str, own_vars: JsonObject, where: str, task_vars: JsonObject) -> tuple[str, str]:
        try:
            path = self._find_needle("templates", name)
            lookup = lookup_loader.get("ansible.builtin.template", loader=self._loader, templar=self._templar)
            (text,) = lookup.run([path], variables=task_vars, template_vars=own_vars, **_AS_TEXT)
        except AnsibleFileNotFound as exc:
            raise _not_found(name, where, exc) from exc
        except AnsibleError as exc:
            raise CniError(Code.INVALID_CONFIG, f"{where}: template {name} cannot be rendered: {exc}") from exc
        return f"{where}: template {path}, rendered", str(text)


class RequiredConflistsAction(ConflistItemsAction):
    """The controller's part of a module that prepares a node for networks."""

    def task_arguments(self) -> JsonObject:
        """Return the arguments. With state absent, leave out networks: their templates may no longer exist."""
        arguments = super().task_arguments()
        if plain(arguments.get("state")) == "absent":
            arguments.pop("conflists", None)
        return arguments


def _check_keys(item: JsonObject, where: str) -> None:
    """Refuse unknown keys. The error names the item, which Ansible's own error on the node does not.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    for key in map(str, item):
        if key not in _KEYS:
            suggestion = nearest(key, _KEYS)
            hint = f"did you mean {suggestion}?" if suggestion else f"expected: {', '.join(_KEYS)}"
            raise CniError(Code.INVALID_CONFIG, f"{where}: the key {key!r} is unknown here", hint)


def _not_found(name: str, where: str, error: AnsibleFileNotFound) -> CniError:
    """Return an error that lists the paths searched. Ansible's advice names an option that the module does not have."""
    places = ", ".join(dict.fromkeys(error.paths or [name]))
    msg = f"{where}: template {name} cannot be rendered: the controller has no such file"
    advice = (
        "" if name.startswith(("/", "~")) else '; for a file beside the inventory, begin with "{{ inventory_dir }}/"'
    )
    return CniError(Code.INVALID_CONFIG, msg, f"looked for {places}{advice}")


def _replace_by_name(item: JsonObject, source: Source | None) -> JsonObject:
    """Return an item of state absent with the network's name in place of its configuration.

    Raises:
        CniError: ``DECODE_FAILURE`` or ``INVALID_CONFIG``: the configuration has no name.
    """
    if source is None:
        return item
    network = json_text.as_object(json_text.decode(source.content, source.file), source.file)
    name = config.read_name(network, source.file)
    return {**{key: item[key] for key in item if key not in ("config", "content")}, "name": name}


def _source(item: JsonObject, where: str) -> Source | None:
    if isinstance(item.get("config"), dict):
        try:
            return Source(where, content_of(item["config"]), is_text=False)
        except CniError as exc:
            raise exc.within(where) from exc
    if isinstance(item.get("content"), str):
        return Source(where, item["content"].encode("utf-8", "surrogateescape"))
    return None
