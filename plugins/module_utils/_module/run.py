# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._module.arguments import require_plain_paths

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ansible_collections.cni.node.plugins.module_utils._cni.stderr_log import StderrLog
    from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange

# What a dry run has found, and does not foretell.
_FOUND: t.Final = ("checked", "failed", "kept", "left", "unchanged")
# As many times -v as show what a module was called with.
_VERBOSE: t.Final = 3


def run(module: AnsibleModule, operation: t.Callable[[AnsibleModule], dict[str, t.Any]]) -> t.NoReturn:
    """Run a module's one operation; this is where an error becomes a failure, and where all that leaves is made safe."""
    try:
        require_plain_paths(module.argument_spec, module.params)
        result = printable.everything(operation(module))
    except Exception as exc:
        module.fail_json(**as_failure(as_error(exc)))
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


def as_failure(error: CniError) -> dict[str, t.Any]:
    """Return what a module says that has failed."""
    return {"msg": str(error), "error": error.as_dict()}


def stderr_log(module: AnsibleModule) -> StderrLog | None:
    """Return what keeps the standard error of plugins that succeed where somebody wants to see it (``-vvv``)."""
    if module._verbosity < _VERBOSE:
        return None
    from ansible_collections.cni.node.plugins.module_utils._cni.stderr_log import StderrLog

    return StderrLog()


def warn_of_omitted(module: AnsibleModule, log: StderrLog | None) -> None:
    """Say that not all of it is shown."""
    if log is not None and log.omitted:
        warn(module, [f"standard error of {log.omitted} more calls of plugins is not shown: there is no room for it"])


def counted(actions: t.Iterable[str], *, foretold: bool = False) -> str:
    """Say how often each action was taken, as ``2 added, 1 failed``, or ``2 would be added, 1 failed`` in check mode."""
    numbers = sorted(collections.Counter(actions).items())
    return ", ".join(f"{number} {done(action, foretold=foretold)}" for action, number in numbers) or "none"


def done(action: str, *, foretold: bool) -> str:
    """Return an action as it was taken, or as it would be."""
    return f"would be {action}" if foretold and action not in _FOUND else action


def numbered(number: int, plural: str) -> str:
    """Return a number and a noun: ``1 file``, ``2 files``, ``1 netns``."""
    is_singular = number == 1 and plural != "netns"
    return f"{number} {plural[:-1] if is_singular else plural}"


def file_diff(change: FileChange) -> dict[str, t.Any]:
    """Return the diff of a changed file: its content, its mode, or both.

    For the removal of a file without content, such as a dangling link, the diff shows the state instead.
    """
    if change.after is None and not change.before:
        return {
            when: {"path": change.path, "state": state} for when, state in (("before", "file"), ("after", "absent"))
        }
    modes = {"before": change.before_mode, "after": change.after_mode}
    if change.before == change.after:
        return {when: {"path": change.path, "mode": f"{mode or 0:04o}"} for when, mode in modes.items()}
    has_other_mode = None not in modes.values() and change.before_mode != change.after_mode
    shown = {when: f" (mode {mode or 0:04o})" if has_other_mode else "" for when, mode in modes.items()}
    return {
        "before_header": f"{change.path}{shown['before']}",
        "before": (change.before or b"").decode("utf-8", "replace"),
        "after_header": f"{change.path}{shown['after']}",
        "after": (change.after or b"").decode("utf-8", "replace"),
    }


def warn(module: AnsibleModule, warnings: t.Iterable[str]) -> None:
    """Show each warning once."""
    for warning in dict.fromkeys(map(printable.lines, warnings)):
        module.warn(warning)


__all__ = ("as_failure", "counted", "done", "file_diff", "numbered", "run", "stderr_log", "warn", "warn_of_omitted")
