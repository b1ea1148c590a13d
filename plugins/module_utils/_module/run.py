# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run a module, and turn what it returns or raises into its result."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._module.arguments import (
    ANSWERS_KEY,
    FOLLOWING_KEY,
    require_paths,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


# Actions that check mode takes as well: they are reported, not predicted.
_OBSERVED = ("checked", "drifted", "failed", "kept", "left", "skipped", "unchanged")


def run(module: AnsibleModule, operation: t.Callable[..., dict[str, t.Any]], *arguments: t.Any) -> t.NoReturn:
    """Run a module's operation and exit: errors become a failure, and text in the result is escaped.

    Args:
        operation: Called with the module and the arguments; returns the module's result.
    """
    following = module.params.pop(FOLLOWING_KEY, None)
    try:
        require_paths(module.argument_spec, module.params)
        result = printable.escape_all(operation(module, *arguments))
        if following:
            result[ANSWERS_KEY] = _compare(module, following, result, *arguments)
    except Exception as exc:
        if isinstance(exc, ModuleNotFoundError) and str(exc.name).startswith("ansible."):
            raise  # for the launcher, which knows what to do
        module.fail_json(**as_failure(as_error(exc)))
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


def _compare(*arguments: t.Any) -> list[dict[str, t.Any] | None]:
    # The other modules that it runs are in the library only.
    from ansible_collections.cni.node.plugins.module_utils._module.comparison import compare

    return compare(*arguments)


def as_failure(error: CniError) -> dict[str, t.Any]:
    """Return the result of a failed module."""
    return {"msg": str(error), "error": error.as_dict()}


def summarize_actions(actions: t.Iterable[str], *, predicted: bool = False) -> str:
    """Return how often each action was taken, as ``2 added, 1 failed``; in check mode ``2 would be added, 1 failed``."""
    numbers = sorted(collections.Counter(actions).items())
    return ", ".join(f"{number} {phrase_action(action, predicted=predicted)}" for action, number in numbers) or "none"


def phrase_action(action: str, *, predicted: bool) -> str:
    """Return an action, preceded by "would be" if check mode predicts it."""
    return f"would be {action}" if predicted and action not in _OBSERVED else action


def count_entries(name: str, entries: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """Return the number of a result's entries, such as ``2 plugins (1 with an error)``.

    Args:
        name: The key of the result, a noun in the plural.
    """
    noun = name if name == "netns" else name[:-1]
    broken = [entry for entry in entries if entry.get("error")]
    return f"{printable.quantity(len(entries), noun)}{f' ({len(broken)} with an error)' if broken else ''}"


def warn(module: AnsibleModule, warnings: t.Iterable[str]) -> None:
    """Show each warning once, escaped."""
    for warning in dict.fromkeys(map(printable.lines, warnings)):
        module.warn(warning)
