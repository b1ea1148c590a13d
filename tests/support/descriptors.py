# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import errno
import os
import resource
import typing as t

import pytest


@contextlib.contextmanager
def no_more_files(*, room: int = 0) -> t.Iterator[None]:
    """Let this process open no more than a number of files meanwhile."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = -1
    with contextlib.ExitStack() as stack:
        for _file in range(room):
            last = os.dup(0)
            stack.callback(os.close, last)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def refuse_file(monkeypatch: pytest.MonkeyPatch, path: str | os.PathLike[str]) -> None:
    """Let `os.open` fail for one path, as if there was no room for another open file at that moment."""
    open_file = os.open

    def open_others(given: str, *arguments: t.Any, **options: t.Any) -> int:
        if given == os.fspath(path):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_file(given, *arguments, **options)

    monkeypatch.setattr(os, "open", open_others)
