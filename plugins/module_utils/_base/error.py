# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The one exception of the collection, with the error codes of the specification (section 5, "Error")."""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable

_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Code(enum.IntEnum):
    """The specification's error codes (section 5, "Error").

    ``UNKNOWN`` and ``INTERNAL`` are not in its table: a plugin may leave the code out, and bugs of this
    collection need a code of their own. The reference runtime uses the same two.
    """

    UNKNOWN = 0
    INCOMPATIBLE_VERSION = 1
    UNSUPPORTED_FIELD = 2
    UNKNOWN_CONTAINER = 3
    INVALID_ENVIRONMENT = 4
    IO_FAILURE = 5
    DECODE_FAILURE = 6
    INVALID_CONFIG = 7
    TRY_AGAIN = 11
    NOT_AVAILABLE = 50
    LIMITED_CONNECTIVITY = 51
    INTERNAL = 999


class CniError(Exception):
    """An error with the keys of the specification's *error* result.

    Attributes:
        code: A number of the specification's table, or a plugin's own of 100 and above.
        msg: One sentence: what, where, which value.
        details: What was expected, what to do, and the plugin's own message; may have several lines.

    Both texts are escaped and safe to print.
    """

    def __init__(self, code: int, msg: str, details: str = "") -> None:
        super().__init__(code, msg, details)
        self.code = int(code)
        self.msg = printable.lines(msg)
        self.details = printable.lines(details)

    def __str__(self) -> str:
        return f"{self.msg}; {self.details}" if self.details else self.msg

    def as_dict(self) -> dict[str, t.Any]:
        """Return the keys of an *error* result except ``cniVersion``."""
        return {"code": self.code, "msg": self.msg, "details": self.details}

    def within(self, context: str) -> CniError:
        """Return the same error with ``context`` put before its message."""
        return CniError(self.code, f"{context}: {self.msg}", self.details)

    def with_place(self, place: str) -> CniError:
        """Return the error with the place before its message, unless the message names it already."""
        return self if place in self.msg else self.within(place)

    def with_detail(self, line: str) -> CniError:
        """Return the same error with one more line of details."""
        return CniError(self.code, self.msg, f"{self.details}\n{line}" if self.details else line)


def io_error(action: str, path: str, exc: OSError) -> CniError:
    """Return the error for a failed system call on a file, with advice if root privileges were missing."""
    reason = exc.strerror or str(exc)
    is_for_root = exc.errno in (errno.EACCES, errno.EPERM) and os.geteuid() != 0
    advice = "this process does not run as root; a task on a node needs become: true" if is_for_root else ""
    return CniError(Code.IO_FAILURE, f"cannot {action} {printable.line(path)}: {reason}", advice)


@contextlib.contextmanager
def io_errors(action: str, path: str) -> t.Iterator[None]:
    """Raise the `io_error` of a system call that fails in the block.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        yield
    except OSError as exc:
        raise io_error(action, path, exc) from exc


def refuse_without_room(action: str, path: str, exc: OSError) -> None:
    """Raise the `io_error` of a system call for which this process or the node had no room; return after other failures.

    Where another failure means that there is no such file, this one does not.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    if exc.errno in _NO_ROOM:
        raise io_error(action, path, exc) from exc


def as_error(exc: Exception) -> CniError:
    """Return a `CniError` as it is; wrap an `OSError` as a failure of input or output, and others as internal errors.

    Both have the location in the code.
    """
    if isinstance(exc, CniError):
        return exc
    import traceback  # slow to load, and rarely needed

    at = traceback.extract_tb(exc.__traceback__)[-1]
    where = f"in {at.name}, {os.path.basename(at.filename)}:{at.lineno}"
    if isinstance(exc, OSError) and exc.errno is not None:  # without a number, Python itself has raised it
        named = [os.fsdecode(name) for name in (exc.filename, exc.filename2) if isinstance(name, (str, bytes))]
        return io_error("access", " or ".join(named) or "a file or socket", exc).with_detail(where)
    return CniError(
        Code.INTERNAL,
        f"unexpected {type(exc).__name__}: {exc}",
        f"{where}; please report it to cni.node",
    )
