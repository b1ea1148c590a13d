# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import syscall

REFUSED = {errno.ENOENT, errno.EPERM}


def test_a_failed_call_names_its_cause_and_its_object(tmp_path: pathlib.Path) -> None:
    missing = str(tmp_path / "missing")
    operations: list[t.Callable[[], None]] = [
        lambda: syscall.mount(missing, missing, syscall.MS_BIND),
        lambda: syscall.unmount(missing, syscall.MNT_DETACH),
    ]
    for operation in operations:
        with pytest.raises(OSError, match="missing") as caught:
            operation()
        assert caught.value.errno in REFUSED
        assert caught.value.filename == missing


def test_flags_that_the_kernel_does_not_know_are_refused() -> None:
    with pytest.raises(OSError, match="Invalid argument") as caught:
        syscall.unshare(1)
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, None)


def test_a_system_call_whose_number_is_not_known_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(os.uname())
    monkeypatch.setattr(os, "uname", lambda: os.uname_result([*names[:4], "abacus"]))
    with pytest.raises(OSError, match="not implemented") as caught:
        syscall.bpf(0, b"")
    assert caught.value.errno == errno.ENOSYS
