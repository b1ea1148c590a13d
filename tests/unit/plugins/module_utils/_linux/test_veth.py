# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pair that goes while it is removed. That the kernel's are removed is in tests/integration."""

from __future__ import annotations

import pathlib
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import program, veth
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of

INDEX, NAME = socket.if_nameindex()[0]


@pytest.fixture(autouse=True)
def failing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ip"
    path.write_text('#!/bin/sh\necho "Cannot do it" >&2; exit 1\n', encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr(program, "_SYSTEM_PATH", str(tmp_path))


@pytest.mark.parametrize(("index", "name"), [(INDEX, "veth01234567"), (2**31 - 1, NAME)])
def test_one_that_has_gone_meanwhile_is_removed(index: int, name: str) -> None:
    veth.remove(veth.Veth(name, index, 2, "cni0"))


def test_one_that_is_there_and_cannot_be_removed_is_an_error() -> None:
    error = error_of(veth.remove, veth.Veth(NAME, INDEX, 2, "cni0"))
    assert (error.code, error.details) == (Code.IO_FAILURE, "Cannot do it")
