# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import errno
import os
import signal
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable, process
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import json_text
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type

# Plugins call iptables, nft and sysctl by name, and a login over SSH often has no directory of them.
_SYSTEM_PATH: t.Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_GO_TRACE: t.Final = b"\n\ngoroutine "
_STDERR_LINES: t.Final = 10
_SHORTAGES: t.Final = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_IN_UTF_8: t.Final = ("CNI_IFNAME", "CNI_ARGS")


class Parameters(t.NamedTuple):
    """The protocol's parameters of one call (section 2, "Parameters").

    Attributes:
        command: ADD, DEL, CHECK, GC, STATUS or VERSION.
        attachment: None for the commands that are not about one.
    """

    command: str
    attachment: Attachment | None = None


class NotFound(CniError):
    """A plugin is not there, or is no executable."""


class UnsafePlugin(CniError):
    """A plugin is not run, because every user of the node could have put it there or changed it."""


# Is told what a plugin that succeeded has written to standard error: its type, the parameters, the last of the output.
Listener = t.Callable[[str, Parameters, bytes], None]


class Executor(t.Protocol):
    """Finds and runs plugins, as processes or in another way."""

    def require(self, plugin_type: str) -> str:
        """Return where a plugin is.

        Raises:
            NotFound: ``INVALID_CONFIG``.
            UnsafePlugin: ``INVALID_ENVIRONMENT``.
        """

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        """Run a plugin and return what it printed.

        Raises:
            CniError: The plugin's own error, or why it could not be run.
        """


class ProcessExecutor:
    """Runs plugins as the specification says: an executable, an environment, JSON on standard input."""

    def __init__(
        self,
        plugin_dirs: t.Sequence[str],
        timeout: float,
        *,
        allow_world_writable: bool = False,
        listener: Listener | None = None,
    ) -> None:
        """
        Args:
            plugin_dirs: Absolute paths, looked through in order; they become CNI_PATH.
            timeout: Seconds that one plugin may run.
            allow_world_writable: Run plugins that every user of the node can replace.
            listener: Is told of what is otherwise dropped; an error has it anyway.
        """
        for path in plugin_dirs:
            if not os.path.isabs(path) or ":" in path:
                raise CniError(
                    Code.INVALID_ENVIRONMENT,
                    f"plugin_dirs: {path!r} is no plugin directory",
                    "expected: an absolute path without ':', for CNI_PATH",
                )
        process.prepare()
        self._plugin_dirs = tuple(plugin_dirs)
        self._timeout = timeout
        self._allow_world_writable = allow_world_writable
        self._listener = listener
        self._safe: set[str] = set()
        self._environment = _encoded(_inherited_environment())

    def require(self, plugin_type: str) -> str:
        check_plugin_type(plugin_type, "plugin type")
        for directory in self._plugin_dirs:
            path = os.path.join(directory, plugin_type)
            mode = _mode(path)
            if stat.S_ISREG(mode):
                self._require_safe(path, mode)
                return _executable(path)
        raise NotFound(
            Code.INVALID_CONFIG,
            f"plugin {plugin_type!r} is not installed",
            f"looked in {', '.join(self._plugin_dirs) or 'no directory at all'}; install it, or name its directory",
        )

    def _require_safe(self, path: str, mode: int) -> None:
        """Look at directories once; plugins look for the plugins that they run themselves in all of them."""
        if self._allow_world_writable or (path in self._safe and not mode & stat.S_IWOTH):
            return
        # Most runs find every attachment as wanted, and run no plugin.
        from ansible_collections.cni.node.plugins.module_utils._base.access import exposures

        for place in (*(one for one in self._plugin_dirs if one not in self._safe), path):
            exposed = next((one for one in exposures(place) if one.is_world_writable), None)
            if exposed:
                raise UnsafePlugin(
                    Code.INVALID_ENVIRONMENT,
                    f"plugin {path} is not run: {exposed}",
                    f"it would run as root; see what is there, then run chmod o-w {exposed.path}, or set "
                    "allow_world_writable_plugins to true",
                )
            self._safe.add(place)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        path = self.require(plugin_type)
        environment = {**self._environment, **_protocol(parameters, self._plugin_dirs)}
        try:
            outcome = process.run([path], environment, request, self._timeout)
        except OSError as exc:
            raise _not_started(path, parameters, exc) from exc
        if outcome.stopped or outcome.status:
            raise _failure(path, parameters, request, outcome, self._timeout)
        if outcome.stderr and self._listener is not None:
            shown = _without_secrets(parameters, request)
            self._listener(plugin_type, parameters, shown(outcome.stderr.decode("utf-8", "replace")).encode())
        return outcome.stdout


def _encoded(environment: t.Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(key): os.fsencode(value) for key, value in environment.items()}


def _protocol(parameters: Parameters, plugin_dirs: t.Sequence[str]) -> dict[bytes, bytes]:
    """Encode paths as the system has them, and the rest as the JSON beside it, whatever the locale."""
    given = _protocol_environment(parameters, plugin_dirs)
    text = {key.encode(): given.pop(key).encode() for key in _IN_UTF_8 if key in given}
    return {**_encoded(given), **text}


def _inherited_environment() -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("CNI_") or key == "CNI_NETNS_OVERRIDE"
    }
    path = dict.fromkeys([*kept.get("PATH", "").split(os.pathsep), *_SYSTEM_PATH])
    return {**kept, "PATH": os.pathsep.join(entry for entry in path if entry)}


def _protocol_environment(parameters: Parameters, plugin_dirs: t.Sequence[str]) -> dict[str, str]:
    environment = {"CNI_COMMAND": parameters.command, "CNI_PATH": os.pathsep.join(plugin_dirs)}
    attachment = parameters.attachment
    if attachment is not None:
        environment.update(
            CNI_CONTAINERID=attachment.container_id,
            CNI_NETNS=attachment.netns,
            CNI_IFNAME=attachment.ifname,
            CNI_ARGS=";".join(f"{key}={value}" for key, value in attachment.args.items()),
        )
    elif parameters.command == "VERSION":
        # Plugins of 0.1.0 look at these before they say that they do not know the command.
        environment.update(CNI_CONTAINERID="dummy", CNI_NETNS="dummy", CNI_IFNAME="dummy")
    return environment


def _mode(path: str) -> int:
    """Return a file's type and mode; 0 where there is none."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _executable(path: str) -> str:
    if not os.access(path, os.X_OK):
        raise NotFound(
            Code.INVALID_CONFIG, f"plugin {path} is not executable", "expected: mode 0755, on a mount without noexec"
        )
    return path


def _not_started(path: str, parameters: Parameters, exc: OSError) -> CniError:
    what = f"plugin {path} cannot be started for {parameters.command}: {exc.strerror}"
    advice = "is it built for this machine, and is nobody still writing it?"
    if exc.errno in _SHORTAGES:
        advice = "the node, or a limit of this session, has no room for it: look at ulimit -a and systemd's TasksMax"
    return CniError(Code.IO_FAILURE, what, advice)


def _failure(
    path: str, parameters: Parameters, request: bytes, outcome: process.ProcessResult, timeout: float
) -> CniError:
    """Make the error of a plugin that failed from all that it left behind (section 5, "Error")."""
    shown = _without_secrets(parameters, request)
    stopped = f"{outcome.stopped} (limit {timeout:g} s) and was killed" if outcome.stopped else ""
    said, is_all = ({}, False) if stopped else _said(outcome.stdout)
    # Whoever did not come to an end by itself has found nothing out.
    unsaid = Code.IO_FAILURE if stopped or outcome.status < 0 else Code.UNKNOWN
    code, msg, details = said.get("code", unsaid), shown(said.get("msg", "")), shown(said.get("details", ""))
    ending = stopped or _ending(outcome.status)
    lines = [details, f"{parameters.command} by {path}: {ending}", _output(outcome, is_all, shown)]
    what = f"plugin {os.path.basename(path)} failed ({parameters.command}): {msg or ending}"
    return CniError(code, what, "\n".join(line for line in lines if line))


def _without_secrets(parameters: Parameters, request: bytes) -> t.Callable[[str], str]:
    # Most runs have no failure to tell of.
    from ansible_collections.cni.node.plugins.module_utils._cni.redaction import without_values

    args = parameters.attachment.args if parameters.attachment else {}
    return lambda text: without_values(text, args, request)


def _said(stdout: bytes) -> tuple[dict[str, t.Any], bool]:
    """Return code, message and details, as far as they are of their types, and whether that is all there was."""
    try:
        keys = json_text.decode(stdout, "")
    except CniError:
        return {}, False
    if not isinstance(keys, dict) or not ("code" in keys or "msg" in keys):
        return {}, False
    wanted = {"code": int, "msg": str, "details": str}
    there = {key: keys[key] for key in wanted if keys.get(key) is not None}
    said = {
        key: value for key, value in there.items() if isinstance(value, wanted[key]) and not isinstance(value, bool)
    }
    return said, bool(said) and said.keys() == there.keys()


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def _output(outcome: process.ProcessResult, understood: bool, shown: t.Callable[[str], str]) -> str:
    parts = []
    if not understood and outcome.stdout.strip():
        parts.append(f"it printed, and not as the specification's error: {_last_lines(outcome.stdout, shown)}")
    if outcome.stderr.strip():
        parts.append(f"its last words: {_last_lines(outcome.stderr, shown)}")
    return "\n".join(parts)


def _last_lines(output: bytes, shown: t.Callable[[str], str]) -> str:
    # What is hidden must not be cut in two before.
    text = printable.lines(shown(_without_trace(output).decode("utf-8", "replace"))[-4096:])
    return "\n".join(text.strip().split("\n")[-_STDERR_LINES:])


def _without_trace(output: bytes) -> bytes:
    """Return what a plugin printed up to the trace of a Go panic, which is long and says what its first line says."""
    head, trace, dummy = output.partition(_GO_TRACE)
    return head if trace and any(line.startswith(b"panic: ") for line in head.split(b"\n")) else output


__all__ = ("Executor", "Listener", "NotFound", "Parameters", "ProcessExecutor", "UnsafePlugin")
