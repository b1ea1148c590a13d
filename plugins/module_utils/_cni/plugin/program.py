# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run plugins as executables: the protocol of section 2 with an environment, standard input and an exit status."""

from __future__ import annotations

import contextlib
import os
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor, Parameters, ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import (
    check_container_id,
    check_ifname,
)
from ansible_collections.cni.node.plugins.module_utils._cni.plugin import protocol, standard_output
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin

# Gets the directories of CNI_PATH and returns what runs delegated plugins.
MakeExecutor = t.Callable[[t.Sequence[str]], Executor]
# Seconds that a delegated executable may run; the runtime has a limit of its own.
_TIMEOUT = 120.0


def make_process_executor(directories: t.Sequence[str]) -> ProcessExecutor:
    """Return an executor of executables, which write to the standard error of this process (section 4)."""
    return ProcessExecutor(directories, _TIMEOUT, listener=_forward_stderr)


def _forward_stderr(plugin_type: str, parameters: Parameters, text: bytes) -> None:
    if sys.stderr is not None:
        sys.stderr.buffer.write(text)


def run(plugin: Plugin, make_executor: MakeExecutor) -> int:
    """Run the operation that the environment names; print its result or its error; return the exit status."""
    content = b""
    try:
        standard_output.require()
        command = os.environ.get("CNI_COMMAND", "")
        content = b"" if command == "VERSION" else _read_request()
        parameters = _read_parameters(command, content)
        executor = make_executor([os.path.abspath(path) for path in os.environ.get("CNI_PATH", "").split(":") if path])
        output, status = protocol.call(plugin, content, parameters, executor), 0
    except Exception as exc:
        output, status = _encode_error(exc, content), 1
    try:
        if output:
            standard_output.write(output)
    except CniError as exc:
        with contextlib.suppress(OSError):  # there is no other place for the error
            os.write(2, output if status else _encode_error(exc, content))
        status = 1
    return status


def _encode_error(exc: Exception, content: bytes) -> bytes:
    return json_text.encode({"cniVersion": _version_of(content), **as_error(exc).as_dict()})


def _read_request() -> bytes:
    if sys.stdin is None:
        raise CniError(Code.IO_FAILURE, "standard input is closed", "expected: the request of the runtime")
    with io_errors("read", "standard input"):
        return sys.stdin.buffer.read()


def _read_parameters(command: str, content: bytes) -> Parameters:
    if command not in protocol.ATTACHMENT_COMMANDS:
        return Parameters(command)
    names = {"CNI_CONTAINERID": True, "CNI_NETNS": command != "DEL", "CNI_IFNAME": True}
    missing = [name for name, is_required in names.items() if is_required and not os.environ.get(name)]
    if missing:
        what = f"the environment has no {', '.join(missing)}"
        raise CniError(Code.INVALID_ENVIRONMENT, what, f"expected: the parameters of {command}")
    container_id = check_container_id(os.environ["CNI_CONTAINERID"])
    ifname = check_ifname(os.environ["CNI_IFNAME"])
    parts = [part for part in os.environ.get("CNI_ARGS", "").split(";") if part]
    args = {key: value for key, dummy, value in (part.partition("=") for part in parts)}
    attachment = Attachment(_name_of(content), container_id, ifname, os.environ.get("CNI_NETNS", ""), args)
    return Parameters(command, attachment, args_are_pairs=all(part.count("=") == 1 for part in parts))


def _name_of(content: bytes) -> str:
    keys = json_text.as_object(json_text.decode(content, "the request", recorded=True), "the request")
    return str(keys.get("name") or "")


def _version_of(content: bytes) -> str:
    """Return the version in which an error is printed, as far as the request tells it."""
    try:
        named = json_text.as_object(json_text.decode(content, "", recorded=True), "").get("cniVersion")
    except CniError:
        return version.LATEST
    return named if named in version.KNOWN else version.LATEST
