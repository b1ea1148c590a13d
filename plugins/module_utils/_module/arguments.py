# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Argument specifications that modules have in common, checks of values, and keys for action plugins."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# Keys of options and results that only action plugins and modules exchange:
# what only the controller knows, namely the state between the calls of one task, or the sources of plugins that it has;
CONTROLLER_KEY = "_controller"
# the URLs of sources whose query or user name may be a secret, by the names of the sets;
URLS_KEY = "_urls"
# later tasks whose results a call may return as well, and these results;
FOLLOWING_KEY = "_following"
ANSWERS_KEY = "cni_node_answers"
# the files of networks, for the levels of findings that the controller checks, and what `gather` calls findings.
CONFIGURATIONS_KEY = "configurations"
FINDINGS = "findings"

Spec = dict[str, dict[str, t.Any]]

# Kept in step with plugins/doc_fragments/_paths.py.
CONF_DIR: t.Final[Spec] = {"conf_dir": {"type": "path", "default": "/etc/cni/net.d"}}
PLUGIN_DIRS: t.Final[Spec] = {
    "plugin_dirs": {
        "type": "list",
        "elements": "path",
        "default": ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"],
    },
    "allow_world_writable_plugins": {"type": "bool", "default": False},
    "builtin": {"type": "str", "choices": ["missing", "always", "never"], "default": "missing"},
}
CACHE_DIR: t.Final[Spec] = {"cache_dir": {"type": "path", "default": "/var/lib/cni"}}
TIMEOUT: t.Final[Spec] = {"timeout": {"type": "float", "default": 60.0}}
CONTROLLER: t.Final[Spec] = {CONTROLLER_KEY: {"type": "dict"}}
URLS: t.Final[Spec] = {URLS_KEY: {"type": "dict", "no_log": True}}
FOLLOWING: t.Final[Spec] = {FOLLOWING_KEY: {"type": "list", "elements": "dict"}}


# Characters that end a line or control a terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def require_paths(spec: Spec, values: t.Mapping[str, t.Any], where: str = "") -> None:
    """Refuse relative paths, and paths with control characters, which would break files that contain them, such as a systemd unit.

    Args:
        spec: The argument_spec of the values.
        where: Prefix of option names in errors.

    Raises:
        CniError: ``INVALID_CONFIG``, with the option and the path.
    """
    for name, keys in spec.items():
        value = values.get(name)
        if not value:
            continue
        if keys.get("type") == "path":
            _require_path(f"{where}{name}", value, of_item=bool(where))
        elif keys.get("elements") == "path":
            for position, path in enumerate(value):
                _require_path(f"{where}{name}[{position}]", path, of_item=bool(where))
        elif _has_paths(keys) and keys["type"] == "list":
            for position, item in enumerate(value):
                require_paths(keys["options"], item, f"{where}{name}[{position}].")


def _has_paths(keys: t.Mapping[str, t.Any]) -> bool:
    """Return whether an option has suboptions that are paths. Other options are skipped: some have many items."""
    return any("path" in (option.get("type"), option.get("elements")) for option in keys.get("options", {}).values())


def _require_path(where: str, path: str, *, of_item: bool) -> None:
    if _CONTROL.search(path):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{where}: {path!r} has a control character",
            "expected: a path without line breaks and other control characters",
        )
    # Paths of items may be those of the controller.
    if not of_item and not os.path.isabs(path):
        raise CniError(Code.INVALID_CONFIG, f"{where}: {path!r} is not an absolute path")


def path_of_file(name: str, path: str) -> str:
    """Return a path after checking that it does not have the form of a directory's.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if path.endswith("/"):
        raise CniError(Code.INVALID_CONFIG, f"{name}: {path!r}", "expected: the path of a file")
    return path


def positive(name: str, value: float) -> float:
    """Return a number of seconds or workers after checking that it is positive and finite.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not 0 < value < float("inf"):
        raise CniError(Code.INVALID_CONFIG, f"{name}: {value:g}", "expected: a number above 0")
    return value


def zero_or_positive(name: str, value: float) -> float:
    """Return a number of seconds, which may be 0; errors as `positive`."""
    return value and positive(name, value)
