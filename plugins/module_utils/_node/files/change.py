# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Changes of files: planned, shown as a diff, and carried out atomically."""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import open_regular

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

_MODE = 0o644
_SIZE_LIMIT = 4 * 1024 * 1024
_REMOVAL = {"before": "file", "after": "absent"}

# What a run has done: objects by the past participle of the verb, such as paths by "changed".
Done = t.Mapping[str, t.Sequence[str]]


class FileChange(t.NamedTuple):
    """The change of one file.

    Attributes:
        network: The network that the file defines.
        action: ``created``, ``changed``, ``removed`` or ``unchanged``.
        before, after: Its content; None if there is no file.
        before_mode, after_mode: Its permissions; None if there is no file or they are not managed.
    """

    network: str
    path: str
    action: str
    before: bytes | None
    after: bytes | None
    before_mode: int | None = None
    after_mode: int | None = None

    @property
    def changed(self) -> bool:
        return self.action != "unchanged"

    def as_diff(self) -> JsonObject:
        """Return both states as text with headers: the content, the mode, or both, whichever changes.

        For the removal of a file without content, such as a dangling link, the diff shows the state instead.
        """
        if self.after is None and not self.before:
            return {when: {"path": self.path, "state": state} for when, state in _REMOVAL.items()}
        modes = {"before": self.before_mode, "after": self.after_mode}
        if self.before == self.after:
            return {when: {"path": self.path, "mode": f"{mode or 0:04o}"} for when, mode in modes.items()}
        has_other_mode = None not in modes.values() and self.before_mode != self.after_mode
        shown = {when: f" (mode {mode or 0:04o})" if has_other_mode else "" for when, mode in modes.items()}
        return {
            "before_header": f"{self.path}{shown['before']}",
            "before": (self.before or b"").decode("utf-8", "replace"),
            "after_header": f"{self.path}{shown['after']}",
            "after": (self.after or b"").decode("utf-8", "replace"),
        }


def plan_change(path: str, after: bytes | None, *, network: str = "", mode: int = _MODE) -> FileChange:
    """Return the change that writes a file, or that removes it if `after` is None."""
    before = durable.read(path)
    return _plan_change(path, before, None if before is None else os.stat(path), after, network, mode)


def plan_change_beside_others(path: str, after: bytes) -> FileChange:
    """Return the change that writes a file in a directory in which another user may write.

    A link, or a file with more than one name, may lead to what only root can read. It counts as no file, and is replaced.
    """
    before, status = None, None
    with contextlib.suppress(CniError), open_regular(path, follow=False) as stream:
        status = os.fstat(stream.fileno())
        before = stream.read(_SIZE_LIMIT) if status.st_nlink == 1 else None
    return _plan_change(path, before, status, after, "", _MODE)


def _plan_change(
    path: str, before: bytes | None, status: os.stat_result | None, after: bytes | None, network: str, mode: int
) -> FileChange:
    before_mode = None if before is None or status is None else stat.S_IMODE(status.st_mode)
    after_mode = None if after is None else mode
    action = _action(before, after, same_mode=before_mode == after_mode)
    return FileChange(network, path, action, before, after, before_mode, after_mode)


def require_writable(changes: t.Iterable[FileChange]) -> None:
    """Refuse changes of files that cannot be written, so that nothing is half done.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for change in changes:
        number = _reason_not_writable(change.path) if change.changed else 0
        if number:
            raise io_error("write", change.path, OSError(number, os.strerror(number)))


def _reason_not_writable(path: str) -> int:
    """Return the error number of writing a file, or 0. Its directory may be missing."""
    directory = existing_directory(os.path.dirname(path))
    with io_errors("read", directory):
        if not os.access(directory, os.W_OK):
            return errno.EROFS if os.statvfs(directory).f_flag & os.ST_RDONLY else errno.EACCES
        is_too_long = len(os.fsencode(os.path.basename(path))) > os.statvfs(directory).f_namemax
        return errno.ENAMETOOLONG if is_too_long else 0


@contextlib.contextmanager
def say_done(done: Done | None = None) -> t.Iterator[dict[str, list[str]]]:
    """Let an error in the block say what was done before it. The block adds that to what it gets: objects by their verb.

    Args:
        done: What has been done before the block.
    """
    clauses = collections.defaultdict(list, {verb: [*objects] for verb, objects in (done or {}).items()})
    try:
        yield clauses
    except CniError as exc:
        before = " and ".join(f"{verb} {', '.join(objects)}" for verb, objects in clauses.items() if objects)
        if not before:
            raise
        raise exc.with_detail(f"before that, this run has {before}; run it again") from exc


def apply_all(changes: t.Iterable[FileChange], done: Done | None = None) -> None:
    """Carry out changes one after the other. An error says what was done before it, as `say_done`."""
    with say_done(done) as clauses:
        for change in changes:
            apply(change)
            if change.changed:
                clauses["changed"].append(change.path)


def apply(change: FileChange) -> None:
    """Carry out one change. At any moment, the file has either the old content or the new."""
    if change.action == "removed":
        durable.remove(change.path)
    elif change.changed and change.after is not None:
        durable.make_directory(os.path.dirname(change.path))
        durable.write(change.path, change.after, mode=_MODE if change.after_mode is None else change.after_mode)


def missing_directories(path: str) -> list[str]:
    """Return the missing directories of a path, the deepest first."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def existing_directory(path: str) -> str:
    """Return a directory, or that of its parents in which it would be made."""
    missing = missing_directories(path)
    return os.path.dirname(missing[-1]) if missing else path


def remove_empty(*directories: str) -> None:
    """Remove those directories that are empty, the deepest first."""
    for path in sorted(directories, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def _action(before: bytes | None, after: bytes | None, *, same_mode: bool) -> str:
    if before is None:
        return "unchanged" if after is None else "created"
    if after is None:
        return "removed"
    return "unchanged" if before == after and same_mode else "changed"
