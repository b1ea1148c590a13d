# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make units of systemd: their lines and links, how their changes are carried out, and what a killed run has left to do."""

from __future__ import annotations

import contextlib
import json
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter, program, service
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    Done,
    FileChange,
    apply,
    remove_empty,
    say_done,
)

# Actions of changes that write no file: a unit is started, or systemd reads all units.
STARTED, RELOADED = "started", "reloaded"
_RELOAD = "daemon-reload"
_INSTALLED = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
_PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")

# Modules refuse paths with control characters; a unit of an earlier release may have one.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def require_systemd(systemd_dir: str, purpose: str, alternative: str) -> None:
    """Require systemd on the node.

    Args:
        systemd_dir: A directory that exists while systemd is running.
        purpose: The option that needs systemd, and for what.
        alternative: What to do without it.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if not any(map(os.path.exists, (systemd_dir, *_INSTALLED))):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            purpose,
            f"looked for {', '.join((systemd_dir, *_INSTALLED))}; {alternative}",
        )


def systemctl(paths: NodePaths, *arguments: str) -> None:
    """Run systemctl if systemd is running."""
    path = program.find("systemctl")
    if path and _is_running(paths):
        program.output([path, *arguments])


def list_idle(paths: NodePaths, units: t.Sequence[str]) -> list[str]:
    """Return those of the units that systemd has but does not run as their files describe them; none if it is not running."""
    idle = service.list_idle_units(units) | _read_pending(paths) if _is_running(paths) else ()
    return [name for name in units if name in idle]


def plan(paths: NodePaths, changes: t.Iterable[FileChange]) -> list[FileChange]:
    """Return those changes that are needed or, without any, the reload that an earlier run did not come to."""
    needed = [change for change in changes if change.changed]
    if needed or _RELOAD not in _read_pending(paths):
        return needed
    return [FileChange("", paths.reload_mark, RELOADED, b"units changed since systemd read them\n", b"")]


def carry_out(
    paths: NodePaths,
    changes: t.Sequence[FileChange],
    *,
    stopped: t.Sequence[str] = (),
    then: t.Sequence[str] = (),
    done: Done | None = None,
) -> None:
    """Apply changes of units and links. If systemd is running, it reads them, and starts or stops units.

    What is left of this after a kill or an error is in a file until a later run has done it.

    Args:
        stopped: The units to stop first.
        then: A command of systemctl after the reload, and its units.
        done: As `say_done`; an error says what was done before it.
    """
    if not changes:
        return
    pending = (_read_pending(paths) | {_RELOAD, *then[1:]}) - {*stopped}
    with say_done(done) as clauses:
        _write_pending(paths, pending)
        if stopped:
            systemctl(paths, "stop", *stopped)
            clauses["stopped"] += stopped
        for change in changes:
            if change.action not in (STARTED, RELOADED):
                _apply(change)
                clauses["changed"].append(change.path)
        systemctl(paths, _RELOAD)
        clauses["reloaded"].append("systemd")
        _write_pending(paths, pending - {_RELOAD})
        if then:
            systemctl(paths, *then)
            _write_pending(paths, pending - {_RELOAD, *then[1:]})


def read_comments(path: str, key: str) -> list[t.Any]:
    """Return the values that comments of a unit have for a key."""
    lines = (durable.read(path) or b"").decode("utf-8", "replace").splitlines()
    try:
        return [json.loads(line[len(key) :]) for line in lines if line.startswith(key)]
    except (ValueError, RecursionError):
        return []


def python_command(library: str, *arguments: str) -> str:
    """Return the line that runs the program in a library (systemd.syntax(7)); errors as `interpreter.find_interpreter`.

    bandwidth needs a library, which may be in the virtual environment of the task.
    """
    python = interpreter.find_interpreter("the units of systemd", allow_venv=True)
    return command(python, "-I", library, *arguments)


def command(*words: str) -> str:
    """Return the line that runs a program with its arguments (systemd.syntax(7))."""
    return " ".join(_CONTROL.sub(_escape, _quote(word)).replace("$", "$$") for word in words)


def mounts(*paths: str) -> str:
    """Return the value of RequiresMountsFor=, which has no escapes for control characters."""
    return " ".join(_quote(path) for path in paths if not _CONTROL.search(path))


def plan_link(path: str, target: str | None) -> FileChange:
    """Return the change that makes a symbolic link, or that removes it if `target` is None."""
    before: bytes | None = None
    with io_errors("read the link", path), contextlib.suppress(FileNotFoundError):
        before = os.readlink(path).encode()
    after = None if target is None else target.encode()
    action = "unchanged" if before == after else "removed" if after is None else "changed" if before else "created"
    return FileChange("", path, action, before, after)


def _apply(change: FileChange) -> None:
    """Carry out the change of a unit, or of the link in a directory TARGET.wants that enables one."""
    directory = os.path.dirname(change.path)
    if not directory.endswith(".wants"):
        apply(change)
        return
    if change.before is not None:
        durable.remove(change.path)
    if change.after is not None:
        durable.make_directory(directory)
        with io_errors("make the link", change.path):
            os.symlink(change.after, change.path)
            durable.sync_directory(directory)
    else:
        remove_empty(directory)


def _is_running(paths: NodePaths) -> bool:
    return os.path.isdir(paths.systemd_dir)


def _read_pending(paths: NodePaths) -> set[str]:
    """Return what systemd has yet to do: `_RELOAD`, and names of units that it has to start again."""
    return (
        set((durable.read(paths.reload_mark) or b"").decode("utf-8", "replace").splitlines())
        if _is_running(paths)
        else set()
    )


def _write_pending(paths: NodePaths, pending: t.Collection[str]) -> None:
    if pending and _is_running(paths):
        durable.write(paths.reload_mark, "".join(f"{word}\n" for word in sorted(pending)).encode())
    else:
        durable.remove(paths.reload_mark)


def _quote(word: str) -> str:
    """Quote a word of a line in a unit (systemd.syntax(7))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(word) else f'"{escaped}"'


def _escape(character: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character[0].encode())
