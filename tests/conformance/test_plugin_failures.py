# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The error that a caller gets for a plugin that fails (section 2, "Errors"; section 5, "Error")."""

from __future__ import annotations

import json
import os
import signal
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.process import OUTPUT_LIMIT
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedCall

MIB = 1024 * 1024


def find_check_error(node: ConformanceNode, answer: ScriptedAnswer) -> CniError:
    """Return the error of a CHECK to which one plugin gives this answer."""
    node.lock_timeout = 0
    node.runtime = node.new_runtime()
    node.write("a", CHECK=answer)
    return error_of(node.runtime.check, node.add(node.network("a")))


@pytest.mark.parametrize("code", [0, 1, 2, 4, 5, 6, 7, 11, 50, 51, 99, 100, 999])
def test_code_message_and_details_are_the_plugins_own(node: ConformanceNode, code: int) -> None:
    error = find_check_error(node, ScriptedAnswer(error={"code": code, "msg": "no", "details": "because"}))
    assert (error.code, error.msg) == (code, "plugin a failed (CHECK): no")
    assert error.details.splitlines()[0] == "because"


@pytest.mark.parametrize("version", ["0.1.0", "1.0.0", "9.9.9", "", None, 5])
def test_an_error_of_any_version_is_an_error(node: ConformanceNode, version: object) -> None:
    assert find_check_error(node, ScriptedAnswer(error={"cniVersion": version, "code": 7, "msg": "no"})).code == 7


@pytest.mark.parametrize("status", [1, 3, 255])
def test_the_error_of_a_silent_plugin_has_exit_status_and_path(node: ConformanceNode, status: int) -> None:
    error = find_check_error(node, ScriptedAnswer(exit=status))
    assert (error.code, error.msg) == (Code.UNKNOWN, f"plugin a failed (CHECK): exit status {status}")
    assert error.details == f"CHECK by {node.plugins.path}/a: exit status {status}"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_signal_is_shown_by_name(node: ConformanceNode, number: signal.Signals) -> None:
    assert (
        find_check_error(node, ScriptedAnswer(signal=number)).msg == f"plugin a failed (CHECK): killed by {number.name}"
    )


def test_the_error_has_stderr_and_the_exit_status(node: ConformanceNode) -> None:
    error = find_check_error(node, ScriptedAnswer(exit=4, stderr="first\noops\n"))
    assert error.msg == "plugin a failed (CHECK): exit status 4"
    assert error.details.endswith("stderr (last lines): first\noops")


def test_the_error_has_stderr_beside_the_plugins_error_differs_from_libcni(node: ConformanceNode) -> None:
    error = find_check_error(node, ScriptedAnswer(error={"code": 7, "msg": "no", "details": "because"}, stderr="oops"))
    assert error.details.splitlines() == [
        "because",
        f"CHECK by {node.plugins.path}/a: exit status 1",
        "stderr (last lines): oops",
    ]


@pytest.mark.parametrize("stdout", ["hello", "{", "[1]", "null", '{"other": 1}', "\udcff\udcfe"])
def test_output_that_is_not_an_error_is_shown(node: ConformanceNode, stdout: str) -> None:
    error = find_check_error(node, ScriptedAnswer(stdout=stdout, exit=1))
    assert (error.code, error.msg) == (Code.UNKNOWN, "plugin a failed (CHECK): exit status 1")
    assert "stdout (not a CNI error): " in error.details


def test_a_code_that_is_not_a_number_does_not_hide_the_message_differs_from_libcni(node: ConformanceNode) -> None:
    error = find_check_error(
        node, ScriptedAnswer(stdout='{"code": "7", "msg": "no lease", "details": "because"}', exit=1)
    )
    assert (error.code, error.msg) == (Code.UNKNOWN, "plugin a failed (CHECK): no lease")


@pytest.mark.parametrize("keys", [{"code": 7}, {"msg": "no"}, {"code": 7, "msg": 5, "details": []}])
def test_missing_keys_of_an_error_get_defaults(node: ConformanceNode, keys: JsonObject) -> None:
    error = find_check_error(node, ScriptedAnswer(error=keys))
    assert (error.code, "no" in error.msg or "exit status 1" in error.msg) == (keys.get("code", 0), True)


@pytest.mark.parametrize(
    "keys", [{"code": True, "msg": "no"}, {"code": 0, "msg": "no", "details": {"why": 1}}], ids=str
)
def test_an_error_with_keys_of_other_types_is_shown_raw(node: ConformanceNode, keys: JsonObject) -> None:
    error = find_check_error(node, ScriptedAnswer(error=keys))
    assert (error.code, error.msg) == (Code.UNKNOWN, "plugin a failed (CHECK): no")
    assert "stdout (not a CNI error): " in error.details
    assert json.dumps(keys)[1:-1] in error.details


def test_an_error_with_exit_status_0_counts_as_success(node: ConformanceNode) -> None:
    node.write("a", CHECK=ScriptedAnswer(error={"code": 7, "msg": "no"}, exit=0))
    assert node.runtime.check(node.add(node.network("a"))).was_run


def test_stderr_of_a_plugin_that_succeeds_is_not_a_failure(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(stderr="working"), CHECK=ScriptedAnswer(stderr="working"))
    assert node.runtime.check(node.add(node.network("a"))).was_run


def test_no_output_at_add_is_a_failure(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(stdout=""))
    error = error_of(node.runtime.add, node.network("a"), node.attachment())
    assert (error.code, error.msg) == (Code.DECODE_FAILURE, "the result of plugin a is not valid JSON: it is empty")


def test_null_is_an_empty_result(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(stdout="null"))
    assert node.runtime.add(node.network("a"), node.attachment()).keys == {"cniVersion": "1.1.0"}


@pytest.mark.parametrize(
    "unreadable",
    [
        {"dns": {"nameservers": "10.1.0.1"}},
        {"interfaces": [{"name": "eth0", "mtu": "1500"}]},
        {"routes": [{"dst": "0.0.0.0/0", "table": "main"}]},
    ],
)
def test_a_result_that_no_plugin_could_read_at_del_is_a_failure_of_add(
    node: ConformanceNode, unreadable: JsonObject
) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": "1.1.0", **unreadable}))
    error = error_of(node.runtime.add, node.network("a"), node.attachment())
    assert error.code == Code.DECODE_FAILURE
    assert node.ran() == [("ADD", "a"), ("DEL", "a")]


@pytest.mark.parametrize("version", ["9.9.9", "1.2.0"])
def test_a_result_in_an_unknown_version_is_a_failure(node: ConformanceNode, version: str) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": version}))
    error = error_of(node.runtime.add, node.network("a"), node.attachment())
    assert (error.code, f"'{version}'" in error.msg) == (Code.INCOMPATIBLE_VERSION, True)


@pytest.mark.parametrize("stream", ["stdout_bytes", "stderr_bytes"])
def test_an_error_message_has_a_limited_length(node: ConformanceNode, stream: str) -> None:
    output: JsonObject = {stream: MIB - 1}
    error = find_check_error(node, ScriptedAnswer(stdout="", exit=1, **output))
    assert error.msg == "plugin a failed (CHECK): exit status 1"
    assert len(str(error)) < 10_000


def test_a_result_of_nearly_the_limit_is_read(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"vendor": "x" * (OUTPUT_LIMIT - 1000)}))
    final = node.runtime.add(node.network("a"), node.attachment())
    assert len(final.keys["vendor"]) == OUTPUT_LIMIT - 1000


@pytest.mark.parametrize("size", [OUTPUT_LIMIT + 1, 50 * MIB])
def test_output_has_a_limit_differs_from_libcni(node: ConformanceNode, size: int) -> None:
    node.write("a", ADD=ScriptedAnswer(stdout="", stdout_bytes=size))
    error = error_of(node.runtime.add, node.network("a"), node.attachment())
    assert error.msg.startswith(f"plugin a failed (ADD): printed more than {OUTPUT_LIMIT} bytes")


def test_endless_stderr_is_not_a_failure(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(stderr_bytes=50 * MIB))
    assert node.runtime.add(node.network("a"), node.attachment()).keys == {"cniVersion": "1.1.0"}


def test_binary_data_in_stderr_is_shown_as_text(node: ConformanceNode) -> None:
    details = find_check_error(node, ScriptedAnswer(exit=1, stderr="\x1b[31mred\0\udcff")).details
    assert "\\x1b[31mred\\x00\ufffd" in details


def test_a_plugin_that_does_not_read_its_request_may_succeed(node: ConformanceNode) -> None:
    node.write("a", ADD=ScriptedAnswer(read_stdin=False, stdout="{}"))
    huge = {"type": "a", "x": "y" * 3 * MIB}
    assert node.runtime.add(node.network(huge), node.attachment()).keys == {"cniVersion": "1.1.0"}


@pytest.mark.parametrize("grandchild", ["same group", "own session"])
def test_the_runtime_does_not_wait_for_a_grandchild_with_open_output_differs_from_libcni(
    node: ConformanceNode, grandchild: t.Literal["same group", "own session"]
) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"dns": {"domain": "a"}}, grandchild=grandchild))
    started = time.monotonic()
    final = node.runtime.add(node.network("a"), node.attachment())
    end_grandchild(node.calls("ADD")[0])
    assert final.keys["dns"] == {"domain": "a"}
    assert time.monotonic() - started < node.timeout / 2


def end_grandchild(call: ScriptedCall) -> None:
    assert call.grandchild is not None
    os.kill(call.grandchild, signal.SIGKILL)


def test_a_file_that_is_not_a_program_is_an_error(node: ConformanceNode) -> None:
    network = node.network("a")
    (node.plugins.path / "a").write_bytes(b"")
    error = error_of(node.runtime.add, network, node.attachment())
    assert (error.code, error.msg) == (
        Code.IO_FAILURE,
        f"plugin {node.plugins.path}/a cannot be started for ADD: Exec format error",
    )


def test_stderr_of_a_successful_plugin_reaches_the_listener_differs_from_libcni(
    node: ConformanceNode, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[tuple[str, str, bytes]] = []
    executor = ProcessExecutor(
        [str(node.plugins.path)],
        node.timeout,
        listener=lambda plugin, parameters, stderr: heard.append((plugin, parameters.command, stderr)),
    )
    node.write("a", ADD=ScriptedAnswer(stderr="no IPv6\n"))
    node.write("b", ADD=ScriptedAnswer(stderr="out of order\n", exit=1))
    error = error_of(Runtime(executor, str(node.cache), 0).add, node.network("a", "b"), node.attachment())
    assert "out of order" in error.details
    assert heard == [("a", "ADD", b"no IPv6\n")]
    assert capfd.readouterr() == ("", "")
