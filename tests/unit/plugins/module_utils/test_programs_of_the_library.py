# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs refuse a library that others can change: each with one error, as its caller expects it."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as boot_main
from ansible_collections.cni.node.plugins.module_utils._node.library.install import install
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import executable as plugin_program
from ansible_collections.cni.node.tests.support import libraries


@pytest.fixture
def exposed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Return the library of this process, in a directory that every user can write."""
    tmp_path.chmod(0o755)
    library = Library(str(tmp_path / "lib"), "0" * 64)
    install(library, {"__main__.py": b""})
    monkeypatch.setenv(*libraries.request(library).popitem())
    (tmp_path / "lib").chmod(0o777)
    return library


@pytest.mark.parametrize("command", ["VERSION", "DEL"])
def test_a_plugin_prints_one_cni_error(
    exposed: Library, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], command: str
) -> None:
    monkeypatch.setenv("CNI_COMMAND", command)
    assert plugin_program.main("/opt/cni/bin/bridge") == 1
    output = capfdbinary.readouterr()
    error = json.loads(output.out)
    assert (error["cniVersion"], error["code"], output.err) == ("1.1.0", 4, b"")
    assert error["msg"] == f"the library cannot be in {exposed.path}"
    assert "every user can write it" in error["details"]


@pytest.mark.parametrize("arguments", [["/var/lib/cni"], ["repair", "/var/lib/cni"]])
def test_the_program_of_the_units_writes_one_line(
    exposed: Library, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert boot_main.main(arguments) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"failed: the library cannot be in {exposed.path}; ")
