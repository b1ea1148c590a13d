# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.process import OUTPUT_LIMIT
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import child, close_stdin

ATTACHMENT = Attachment("net", "blue", "eth0", "/run/netns/blue", {"IgnoreUnknown": "1", "K": "V"})
STATUS = Parameters("STATUS")
SIGCHLD_IGNORED = """
import signal, sys
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    print(ProcessExecutor([sys.argv[1]], 30).execute("plugin", b"{}", Parameters("STATUS")))
except CniError as error:
    print(error.code, error.msg)
"""


def put(directory: pathlib.Path, name: str, body: str, mode: int = 0o755) -> pathlib.Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(mode)
    return path


class TestLookUp:
    def test_a_plugin_is_taken_from_the_first_directory_that_has_it(self, tmp_path: pathlib.Path) -> None:
        directories = [tmp_path / name for name in ("missing", "a", "b")]
        for directory in directories[1:]:
            put(directory, "plugin", "")
        assert ProcessExecutor([*map(str, directories)], 1).require("plugin") == str(tmp_path / "a" / "plugin")

    def test_a_directory_of_the_plugins_name_is_ignored(self, tmp_path: pathlib.Path) -> None:
        for name in "abcd":
            (tmp_path / name).mkdir()
        (tmp_path / "a" / "plugin").mkdir()
        os.mkfifo(tmp_path / "b" / "plugin")
        os.symlink("nowhere", tmp_path / "c" / "plugin")
        path = put(tmp_path / "d", "plugin", "")
        assert ProcessExecutor([str(tmp_path / name) for name in "abcd"], 1).require("plugin") == str(path)

    def test_a_link_to_an_executable_is_a_plugin(self, tmp_path: pathlib.Path) -> None:
        os.symlink(put(tmp_path / "a", "other", ""), tmp_path / "a" / "plugin")
        assert ProcessExecutor([str(tmp_path / "a")], 1).require("plugin") == str(tmp_path / "a" / "plugin")

    def test_a_file_that_is_not_executable_is_an_error(self, tmp_path: pathlib.Path) -> None:
        path = put(tmp_path, "plugin", "", mode=0o644)
        error = error_of(ProcessExecutor([str(tmp_path)], 1).require, "plugin")
        assert (error.code, error.msg) == (Code.INVALID_CONFIG, f"plugin {path} is not executable")

    def test_the_error_for_a_missing_plugin_lists_the_directories(self) -> None:
        error = error_of(ProcessExecutor(["/nowhere", "/at/all"], 1).require, "plugin")
        assert (error.code, error.msg) == (Code.INVALID_CONFIG, "plugin 'plugin' is not installed")
        assert "/nowhere, /at/all" in error.details

    def test_no_plugin_is_found_without_directories(self) -> None:
        assert "no directory at all" in error_of(ProcessExecutor([], 1).require, "plugin").details

    @pytest.mark.parametrize("plugin_type", ["../plugin", "b/plugin", "/bin/sh", "", ".", ".."])
    def test_a_type_never_leaves_the_plugin_directories(self, tmp_path: pathlib.Path, plugin_type: str) -> None:
        put(tmp_path, "plugin", f"echo ran > {tmp_path}/log")
        put(tmp_path / "b", "plugin", f"echo ran > {tmp_path}/log")
        executor = ProcessExecutor([str(tmp_path / "b"), str(tmp_path)], 1)
        assert error_of(executor.require, plugin_type).code == Code.INVALID_CONFIG
        assert error_of(executor.execute, plugin_type, b"", STATUS).code == Code.INVALID_CONFIG
        assert not (tmp_path / "log").exists()

    @pytest.mark.parametrize("directory", ["relative", "", "./a", "/opt/a:/opt/b"])
    def test_a_directory_that_cni_path_cannot_carry_is_refused(self, directory: str) -> None:
        error = error_of(ProcessExecutor, ["/opt/cni/bin", directory], 1)
        assert (error.code, repr(directory) in error.msg) == (Code.INVALID_ENVIRONMENT, True)


class TestEnvironment:
    @pytest.fixture
    def environment(self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., dict[str, str]]:
        """Return the environment of a plugin for the given environment of this process."""
        put(tmp_path, "plugin", "exec env")

        def read_environment(parameters: Parameters, **inherited: str) -> dict[str, str]:
            for key, value in inherited.items():
                monkeypatch.setenv(key, value)
            output = ProcessExecutor([str(tmp_path), "/nowhere"], 30).execute("plugin", b"", parameters)
            return dict(line.split("=", 1) for line in output.decode().splitlines())

        return read_environment

    def protocol(self, environment: dict[str, str]) -> dict[str, str]:
        return {key: value for key, value in environment.items() if key.startswith("CNI_")}

    @pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
    def test_operations_on_an_attachment_have_its_parameters(
        self, environment: t.Callable[..., dict[str, str]], tmp_path: pathlib.Path, command: str
    ) -> None:
        assert self.protocol(environment(Parameters(command, ATTACHMENT))) == {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": "blue",
            "CNI_NETNS": "/run/netns/blue",
            "CNI_IFNAME": "eth0",
            "CNI_ARGS": "IgnoreUnknown=1;K=V",
            "CNI_PATH": f"{tmp_path}:/nowhere",
        }

    def test_text_is_utf_8_under_any_locale(
        self, environment: t.Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "fsencode", lambda text: text.encode("latin-1"))
        variables = environment(Parameters("ADD", Attachment("net", "blue", "é0", "/run/netns/blue", {"K": "5 €"})))
        assert (variables["CNI_IFNAME"], variables["CNI_ARGS"]) == ("é0", "K=5 €")

    @pytest.mark.parametrize("command", ["GC", "STATUS"])
    def test_operations_on_a_network_have_no_attachment_parameters(
        self, environment: t.Callable[..., dict[str, str]], tmp_path: pathlib.Path, command: str
    ) -> None:
        assert self.protocol(environment(Parameters(command))) == {
            "CNI_COMMAND": command,
            "CNI_PATH": f"{tmp_path}:/nowhere",
        }

    def test_version_has_the_variables_that_old_plugins_require(
        self, environment: t.Callable[..., dict[str, str]]
    ) -> None:
        variables = environment(Parameters("VERSION"))
        assert [variables[f"CNI_{name}"] for name in ("CONTAINERID", "NETNS", "IFNAME")] == ["dummy"] * 3

    def test_variables_of_the_protocol_are_not_inherited(self, environment: t.Callable[..., dict[str, str]]) -> None:
        variables = environment(STATUS, CNI_ARGS="K=V", CNI_NETNS="/x", CNI_OTHER="x", CNI_COMMAND="DEL")
        assert sorted(self.protocol(variables)) == ["CNI_COMMAND", "CNI_PATH"]

    def test_all_other_variables_are_inherited(self, environment: t.Callable[..., dict[str, str]]) -> None:
        variables = environment(STATUS, CNI_NETNS_OVERRIDE="1", http_proxy="x")
        assert (variables["CNI_NETNS_OVERRIDE"], variables["http_proxy"]) == ("1", "x")

    def test_the_systems_directories_are_in_path_after_the_callers(
        self, environment: t.Callable[..., dict[str, str]]
    ) -> None:
        path = environment(STATUS, PATH="/opt/x::/bin")["PATH"].split(":")
        assert path == ["/opt/x", "/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin"]


class TestFailure:
    @pytest.fixture
    def fail(self, tmp_path: pathlib.Path) -> t.Callable[..., CniError]:
        def fail(body: str, timeout: float = 30) -> CniError:
            put(tmp_path, "plugin", body)
            return error_of(
                ProcessExecutor([str(tmp_path)], timeout).execute, "plugin", b"", Parameters("DEL", ATTACHMENT)
            )

        return fail

    def test_a_plugins_error_is_kept_and_completed(
        self, fail: t.Callable[..., CniError], tmp_path: pathlib.Path
    ) -> None:
        error = fail(
            """echo '{"code": 117, "msg": "no lease", "details": "pool is empty"}'; echo working >&2; exit 3"""
        )
        assert (error.code, error.msg) == (117, "plugin plugin failed (DEL): no lease")
        assert error.details.splitlines() == [
            "pool is empty",
            f"DEL by {tmp_path}/plugin: exit status 3",
            "stderr (last lines): working",
        ]

    @pytest.mark.parametrize(
        ("printed", "code", "msg"),
        [
            ('{"code": 11, "msg": "later"}', 11, "later"),
            ('{"msg": "no"}', 0, "no"),
            ('{"code": 7}', 7, "exit status 1"),
            ('{"code": "7", "msg": "no"}', 0, "no"),
            ('{"code": 7.5, "msg": 5}', 0, "exit status 1"),
            ('{"error": "no"}', 0, "exit status 1"),
            ("[7]", 0, "exit status 1"),
            ("hello", 0, "exit status 1"),
            ("", 0, "exit status 1"),
        ],
    )
    def test_valid_keys_of_an_error_are_used(
        self, fail: t.Callable[..., CniError], printed: str, code: int, msg: str
    ) -> None:
        error = fail(f"echo '{printed}'; exit 1")
        assert (error.code, error.msg) == (code, f"plugin plugin failed (DEL): {msg}")

    def test_other_output_of_a_failed_plugin_is_shown(self, fail: t.Callable[..., CniError]) -> None:
        assert "stdout (not a CNI error): hello" in fail("echo hello; exit 1").details

    @pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (40, "signal 40")])
    def test_a_signal_is_named(self, fail: t.Callable[..., CniError], number: int, name: str) -> None:
        error = fail(f"exec /bin/sh -c 'kill -{number} $$'")
        assert (error.code, error.msg) == (Code.IO_FAILURE, f"plugin plugin failed (DEL): killed by {name}")

    def test_the_last_ten_lines_of_stderr_are_shown_as_text(self, fail: t.Callable[..., CniError]) -> None:
        details = fail("seq 100 >&2; printf 'a\\033[31m\\377b' >&2; exit 1").details
        assert details.endswith("\n".join(["stderr (last lines): 92", *map(str, range(93, 101)), "a\\x1b[31m\ufffdb"]))

    def test_debugging_output_beside_an_error_is_cut(self, fail: t.Callable[..., CniError]) -> None:
        details = fail("""seq 100 >&2; printf '%0200d' 0 >&2; echo '{"code": 7, "msg": "no"}'; exit 1""").details
        assert details.split("\n")[1:] == ["stderr (last lines): 99", "100", f"{'0' * 160}..."]

    def test_a_panic_is_shown_without_its_trace(self, fail: t.Callable[..., CniError]) -> None:
        trace = "goroutine 1 [running]:\\nmain.main()\\n" + "\\t/plugin.go:1\\n" * 20
        details = fail(f"printf 'panic: out of order\\n\\n{trace}' >&2; exit 2").details
        assert details.endswith("stderr (last lines): panic: out of order")
        assert "goroutine 1" in fail(f"printf 'tired\\n\\n{trace[:40]}' >&2; exit 2").details

    def test_the_error_of_a_time_limit_names_the_limit_without_the_output(
        self, fail: t.Callable[..., CniError]
    ) -> None:
        error = fail("""echo '{"code": 7, "msg": "no"}'; exec sleep 60""", timeout=0.3)
        assert (error.code, error.msg) == (
            Code.IO_FAILURE,
            "plugin plugin failed (DEL): ran out of time (limit 0.3 s) and was killed",
        )

    def test_too_much_output_is_an_error(self, fail: t.Callable[..., CniError]) -> None:
        error = fail("exec yes")
        assert error.msg == f"plugin plugin failed (DEL): printed more than {OUTPUT_LIMIT} bytes and was killed"
        assert len(str(error)) < 10_000

    def test_a_plugin_that_cannot_be_started_is_an_io_failure(
        self, fail: t.Callable[..., CniError], tmp_path: pathlib.Path
    ) -> None:
        (tmp_path / "plugin").touch(mode=0o755)
        error = error_of(ProcessExecutor([str(tmp_path)], 1).execute, "plugin", b"", STATUS)
        assert error.code == Code.IO_FAILURE
        assert error.msg == f"plugin {tmp_path}/plugin cannot be started for STATUS: Exec format error"

    def test_a_lack_of_resources_for_a_process_is_reported_as_an_error_of_the_node(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*dummy: object, **dummies: object) -> t.NoReturn:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        put(tmp_path, "plugin", "")
        monkeypatch.setattr(os, "posix_spawn", refuse)
        error = error_of(ProcessExecutor([str(tmp_path)], 1).execute, "plugin", b"", STATUS)
        assert error.msg == f"plugin {tmp_path}/plugin cannot be started for STATUS: Too many open files"
        assert "ulimit" in error.details
        assert "built for" not in error.details

    def test_an_environment_that_is_too_large_is_an_error_of_input_and_output(self, tmp_path: pathlib.Path) -> None:
        put(tmp_path, "plugin", "")
        huge = Parameters("ADD", Attachment("net", "blue", "eth0", args={"K": "x" * 200_000}))
        assert error_of(ProcessExecutor([str(tmp_path)], 1).execute, "plugin", b"", huge).code == Code.IO_FAILURE


def test_stdout_is_the_result_regardless_of_stderr(tmp_path: pathlib.Path) -> None:
    put(tmp_path, "plugin", "cat; echo complaint >&2")
    assert ProcessExecutor([str(tmp_path)], 30).execute("plugin", b"request", STATUS) == b"request"


def test_a_failure_is_not_lost_where_sigchld_was_ignored(tmp_path: pathlib.Path) -> None:
    put(tmp_path, "plugin", """echo '{"code": 7, "msg": "no"}'; exit 3""")
    with child(SIGCHLD_IGNORED, tmp_path) as process:
        assert close_stdin(process) == "7 plugin plugin failed (STATUS): no"
