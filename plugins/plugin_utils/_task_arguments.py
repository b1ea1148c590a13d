# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The arguments that a node gets, for the modules whose action plugins change those of the task."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.url import is_url
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY, URLS_KEY
from ansible_collections.cni.node.plugins.module_utils._node.plugins import release
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE
from ansible_collections.cni.node.plugins.plugin_utils._conflist_items import (
    ConflistItemsAction,
    RequiredConflistsAction,
)
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict, as_list, plain
from ansible_collections.cni.node.plugins.plugin_utils._role_action import RoleAction

_INTERNAL = (CONTROLLER_KEY, URLS_KEY)
# More attachments take so long that the task should show its own progress.
_MANY_ATTACHMENTS = 200


class ConflistsArguments(ConflistItemsAction):
    """Those of `conflists`."""

    def arguments_for_node(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments without the attachments, which only the controller checks."""
        options = self.validate_option()
        if list_of_dicts(options.get("attachments")) is None:
            return arguments
        return {**arguments, "validate": {key: value for key, value in options.items() if key != "attachments"}}

    def validate_option(self) -> JsonObject:
        """Return the option ``validate`` as the module converts it. The module refuses values of the wrong type."""
        options = as_dict(self._task.args.get("validate"))
        if not isinstance(options, dict):
            return {}
        read = {key: as_list(options[key]) for key in ("levels", "attachments") if options.get(key) is not None}
        if isinstance(read.get("attachments"), list):
            read["attachments"] = [as_dict(item) for item in read["attachments"]]
        return {**options, **read}


class PluginsArguments(RequiredConflistsAction):
    """Those of `plugins`."""

    def task_arguments(self) -> JsonObject:
        return {key: value for key, value in super().task_arguments().items() if key not in _INTERNAL}

    def arguments_to_compare(self, task_vars: JsonObject) -> JsonObject | None:
        arguments = super().arguments_to_compare(task_vars)
        if arguments is None or any(is_on_controller(options) for dummy, options in plugin_sets(arguments)):
            return None  # the task itself reads the sources once
        arguments = without_credentials(arguments)
        # Ansible keeps a password out of the node's log only where it is an option of the task's own module.
        has_password = any(options.get("url_password") for dummy, options in plugin_sets(arguments))
        return None if has_password or URLS_KEY in arguments else arguments


class AttachmentsArguments(RoleAction):
    """Those of `attachments`."""

    def arguments_to_compare(self, task_vars: JsonObject) -> JsonObject | None:
        attachments = self._task.args.get("attachments")
        has_many = isinstance(attachments, list) and len(attachments) > _MANY_ATTACHMENTS
        return None if has_many else {**self._task.args, CONTROLLER_KEY: {}}


def list_of_dicts(value: t.Any) -> list[JsonObject] | None:
    """Return the value if it is a list of dictionaries, otherwise None."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def plugin_sets(arguments: JsonObject) -> t.Iterator[tuple[str, JsonObject]]:
    """Yield the name and the options of each set that a task describes; the module refuses invalid ones."""
    state = plain(arguments.get("state")) or "present"
    yield REFERENCE, {**arguments, "state": state}
    for item in further_sets(arguments):
        yield str(item.get("name")), {**item, "state": plain(item.get("state")) or state}


def further_sets(arguments: JsonObject) -> list[JsonObject]:
    """Return the items of the option `sets`."""
    items = arguments.get("sets")
    return [dict(item) for item in items if isinstance(item, t.Mapping)] if isinstance(items, (list, tuple)) else []


def is_on_controller(options: JsonObject) -> bool:
    """Return whether the controller has the source of a set; otherwise, the node reads or downloads it."""
    name = options.get("source")
    if not isinstance(name, str) or options["state"] != "present":
        return False
    is_elsewhere = name in ("", release.BUILTIN) or is_url(name)
    return not is_elsewhere and not boolean(options.get("remote_src") or False, strict=False)


def without_credentials(arguments: JsonObject) -> JsonObject:
    """Return the arguments with what may be a secret in URLs moved to options, which Ansible hides.

    Raises:
        CniError: ``INVALID_CONFIG``: a source is a misspelt URL.
    """
    shown, url = release.without_credentials(arguments)
    urls, sets = {REFERENCE: url}, []
    for item in further_sets(arguments):
        name = str(item.get("name"))
        shown_item, urls[name] = release.without_credentials(item, f"set {name}: source")
        sets.append(shown_item)
    hidden = {name: url for name, url in urls.items() if url}
    return {**shown, **({"sets": sets} if sets else {}), **({URLS_KEY: hidden} if hidden else {})}
