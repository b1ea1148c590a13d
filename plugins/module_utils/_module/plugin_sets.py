# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of the module plugins that describe sets of plugins."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import BUILTIN, is_url, without_credentials
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
# Options of a task that describe a set, and their types; an item of `sets` has them too.
_SOURCE_OPTIONS = {
    **{name: {"type": "str"} for name in ("version", "source", "url_username", "checksum")},
    "url_password": {"type": "str", "no_log": True},
    "remote_src": {"type": "bool", "default": False},
    "only": {"type": "list", "elements": "str"},
}
_STATES = ["present", "absent", "rolled_back"]
SETS = {
    **_SOURCE_OPTIONS,
    "state": {"type": "str", "choices": _STATES, "default": "present"},
    "sets": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": {"type": "str", "required": True},
            **_SOURCE_OPTIONS,
            "state": {"type": "str", "choices": _STATES},
        },
    },
}


@dataclasses.dataclass(frozen=True)
class SetOptions:
    """The options of a task that describe one set of plugins. The attributes are the options of that name."""

    name: str
    state: str
    version: str = ""
    source: str = ""
    remote_src: bool = False
    url_username: str = ""
    url_password: str = ""
    checksum: str = ""
    only: t.Sequence[str] = ()

    @property
    def is_on_controller(self) -> bool:
        """Return whether the controller has the source."""
        return bool(self.source) and not self.remote_src and self.source != BUILTIN and not is_url(self.source)


def move_credentials(module: AnsibleModule) -> None:
    """Move credentials from sources, which results show, to the options for them."""
    for options in (module.params, *(module.params["sets"] or ())):
        options.update(without_credentials(options))
        # Ansible does so for options with no_log.
        module.no_log_values.update(filter(None, [options["url_password"]]))


def requested_sets(params: t.Mapping[str, t.Any], installed: t.Iterable[str]) -> list[SetOptions]:
    """Return the sets that a task requests.

    Args:
        installed: The names of the sets that are installed.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    items = params["sets"] or []
    sets = [_read(params, REFERENCE, params["state"])] if params["version"] or params["source"] or not items else []
    sets += [_read(item, item["name"], item["state"] or params["state"]) for item in items]
    if params["state"] == "absent" and not items:
        sets += [SetOptions(name, "absent") for name in installed if name != REFERENCE]
    for options in sets:
        _check(options)
    names = [options.name for options in sets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem = f"sets: {', '.join(twice)} is described twice"
        advice = f"expected: each set once; version and source of the task describe the set {REFERENCE}"
        raise CniError(Code.INVALID_CONFIG, problem, advice)
    return sets


def _read(options: t.Mapping[str, t.Any], name: str, state: str) -> SetOptions:
    return SetOptions(name, state, **{key: options[key] for key in _SOURCE_OPTIONS if options[key]})


def _check(options: SetOptions) -> None:
    where = "" if options.name == REFERENCE else f"set {options.name}: "
    problem = expected = ""
    if not _NAME.fullmatch(options.name) or options.name == BUILTIN:
        problem = f"sets: {options.name!r} is not the name of a set"
        expected = f"expected: lower-case letters, digits, '.', '_' and '-', and not {BUILTIN}"
    elif options.state == "rolled_back" and (options.version or options.source):
        problem = "state: rolled_back takes neither version nor source, because it returns to the previous version"
        problem, expected = f"{where}{problem}", "for another version, use state: present"
    elif options.state == "present" and not (options.version or options.source):
        problem, expected = f"{where}state is present, but version and source are missing", "set one of them"
    elif options.source == BUILTIN and options.name != REFERENCE:
        problem, expected = f"{where}source {BUILTIN} has the reference plugins", f"expected: the set {REFERENCE}"
    if problem:
        raise CniError(Code.INVALID_CONFIG, problem, expected)
