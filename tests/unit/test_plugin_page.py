# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plugin in docs/writing-a-plugin.md works as the page says, in the process and as an executable."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol
from ansible_collections.cni.node.tests.examples import address_file
from ansible_collections.cni.node.tests.examples.address_file import AddressFile
from ansible_collections.cni.node.tests.support.error_of import error_of

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
EXAMPLE = pathlib.Path(address_file.__file__)
# The directories that the page uses, by what they stand for.
COLLECTIONS, MODULES = "/usr/share/ansible/collections", "/usr/local/lib/cni"

BLUE = Attachment("dbnet", "blue", "eth0", "/run/netns/blue")
RED = Attachment("dbnet", "red", "net1", "/run/netns/red")
RESULT: JsonObject = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.5/16"}, {"address": "fd00::5/64"}]}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class AddressFiles:
    """Calls the plugin for the network dbnet with a directory of its own."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory

    def content(self, **keys: t.Any) -> bytes:
        fixed = {"cniVersion": "1.1.0", "name": "dbnet", "type": "address-file", "directory": str(self._directory)}
        return json.dumps({**fixed, **keys}).encode()

    def call(self, command: str, attachment: Attachment | None = BLUE, **keys: t.Any) -> bytes:
        executor = ProcessExecutor([], timeout=60)
        return protocol.call(AddressFile(), self.content(**keys), Parameters(command, attachment), executor)

    def read(self) -> dict[str, str]:
        files = self._directory.rglob("*:*")
        return {str(path.relative_to(self._directory)): path.read_text(encoding="utf-8") for path in files}


@pytest.fixture
def files(tmp_path: pathlib.Path) -> AddressFiles:
    return AddressFiles(tmp_path / "addresses")


def test_the_page_shows_the_example() -> None:
    header, dummy, source = EXAMPLE.read_text(encoding="utf-8").partition("\n\n")
    assert all(line.startswith("# ") for line in header.splitlines())
    assert blocks("python")[0] == source


def test_add_writes_the_addresses_and_returns_the_previous_result(files: AddressFiles) -> None:
    assert json.loads(files.call("ADD", prevResult=RESULT)) == RESULT
    assert files.read() == {"dbnet/blue:eth0": "10.1.0.5 fd00::5\n"}


def test_add_needs_a_previous_result_and_a_directory(files: AddressFiles) -> None:
    assert error_of(files.call, "ADD").msg == "the request has no prevResult"
    for directory in (None, "", "addresses", 7):
        error = error_of(files.call, "ADD", prevResult=RESULT, directory=directory)
        assert (error.code, error.msg[:10]) == (999, "/directory")
    assert files.read() == {}


def test_check_finds_a_missing_and_a_changed_file(files: AddressFiles) -> None:
    assert error_of(files.call, "CHECK", prevResult=RESULT).code == address_file.WRONG_CONTENT
    files.call("ADD", prevResult=RESULT)
    assert files.call("CHECK", prevResult=RESULT) == b""
    error = error_of(files.call, "CHECK", prevResult={**RESULT, "ips": []})
    assert error.code == address_file.WRONG_CONTENT
    assert error.msg.endswith("/dbnet/blue:eth0 is missing or has changed")


def test_del_removes_the_file_of_its_attachment_and_may_be_repeated(files: AddressFiles) -> None:
    for attachment in (BLUE, RED):
        files.call("ADD", attachment, prevResult=RESULT)
    for dummy in range(2):
        assert files.call("DEL", BLUE.with_netns("")) == b""
        assert list(files.read()) == ["dbnet/red:net1"]


def test_gc_removes_files_of_its_network_without_a_valid_attachment(files: AddressFiles) -> None:
    for attachment in (BLUE, RED):
        files.call("ADD", attachment, prevResult=RESULT)
    files.call("ADD", BLUE, name="other", prevResult=RESULT)
    valid: JsonObject = {"cni.dev/valid-attachments": [{"containerID": "red", "ifname": "net1"}]}
    assert files.call("GC", None, **valid) == b""
    assert sorted(files.read()) == ["dbnet/red:net1", "other/blue:eth0"]


def test_the_network_of_the_page_uses_the_plugin() -> None:
    (text,) = blocks("json")
    network = config.parse(text.encode(), "the page")
    assert network.plugins[-1].type == AddressFile.name


def install(tmp_path: pathlib.Path) -> pathlib.Path:
    """Write the page's script as an executable that finds the collection and the example of this checkout."""
    (script,) = (block for block in blocks("python") if block.startswith("#!"))
    assert script.startswith("#!/usr/bin/python3 ")
    collections = next(path for path in map(pathlib.Path, sys.path) if (path / "ansible_collections/cni/node").exists())
    script = script.replace("/usr/bin/python3", os.path.realpath(sys.executable), 1)
    script = script.replace(COLLECTIONS, str(collections)).replace(MODULES, str(EXAMPLE.parent))
    path = tmp_path / "bin" / "address-file"
    path.parent.mkdir()
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_script_is_an_executable_of_the_plugin(files: AddressFiles, tmp_path: pathlib.Path) -> None:
    path = install(tmp_path)
    executor = ProcessExecutor([str(path.parent)], timeout=60)
    output = executor.execute("address-file", files.content(prevResult=RESULT), Parameters("ADD", BLUE))
    assert json.loads(output) == RESULT
    assert files.read() == {"dbnet/blue:eth0": "10.1.0.5 fd00::5\n"}
    executor.execute("address-file", files.content(), Parameters("DEL", BLUE))
    assert files.read() == {}


def test_the_script_prints_an_error_and_ends_with_status_1(files: AddressFiles, tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [install(tmp_path)], input=files.content(), env={"CNI_COMMAND": "ADD"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout) == {
        "cniVersion": "1.1.0",
        "code": 4,
        "msg": "the environment has no CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME",
        "details": "expected: the parameters of ADD",
    }


def test_the_test_of_the_page_passes(tmp_path: pathlib.Path) -> None:
    (test,) = (block for block in blocks("python") if "protocol.call" in block)
    prefix, addresses = "from address_file import", "/tmp/addresses"
    assert prefix in test
    assert addresses in test
    test = test.replace(prefix, f"from {AddressFile.__module__} import").replace(addresses, str(tmp_path))
    exec(compile(test, "the page", "exec"), {})
    assert (tmp_path / "dbnet" / "blue:eth0").exists()
