# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The output of a plugin, and the error that follows from it (section 5, "Error")."""

from __future__ import annotations

import errno
import json
import os
import signal
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text, printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.printable import HIDDEN
from ansible_collections.cni.node.plugins.module_utils._base.process import OUT_OF_TIME

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
    from ansible_collections.cni.node.plugins.module_utils._base.process import ProcessResult

_GO_TRACE = b"\n\ngoroutine "
_STDERR_LINES = 10
# Keys of the specification's conventions. Their values are not secret, and the messages are useless without them.
_OPEN = frozenset(("IgnoreUnknown", "IP", "MAC", "GATEWAY", "ips", "mac"))
_OPEN_PREFIX = "K8S_POD_"
# A shorter text would also match inside unrelated words.
SHORTEST = 6
# The standard error of a plugin that has reported its error is debugging output.
_DEBUG_LINES, _DEBUG_WIDTH = 3, 160
_SHORTAGES = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class PluginOutput:
    """The output of one call of a plugin, and the error that follows from it."""

    def __init__(self, path: str, command: str, args: t.Mapping[str, str], request: bytes) -> None:
        """
        Args:
            args: The call's CNI_ARGS, whose values may be secrets, like those of ``args.cni`` in the request.
        """
        self._path = path
        self._command = command
        self._args = args
        self._request = request

    def without_secrets(self, text: str) -> str:
        """Return a text of the plugin with the values of its arguments hidden."""
        return _hide_values(text, self._args, self._request)

    def not_started(self, exc: OSError) -> CniError:
        """Return the error of a plugin that cannot be started."""
        what = f"plugin {self._path} cannot be started for {self._command}: {exc.strerror}"
        advice = "check that it is built for this architecture and that no process is writing to it"
        if exc.errno in _SHORTAGES:
            advice = "processes, open files or memory are exhausted: check ulimit -a and systemd's TasksMax"
        return CniError(Code.IO_FAILURE, what, advice)

    def failure(self, outcome: ProcessResult, timeout: float) -> CniError:
        """Return the error of a failed plugin from its output and exit status (section 5, "Error")."""
        limit = f" (limit {timeout:g} s)" if outcome.stopped == OUT_OF_TIME else ""
        stopped = f"{outcome.stopped}{limit} and was killed" if outcome.stopped else ""
        reported, is_all = ({}, False) if stopped else _parse_error(outcome.stdout)
        # A plugin that was killed reports nothing about the attachment.
        default = Code.IO_FAILURE if stopped or outcome.status < 0 else Code.UNKNOWN
        msg, details = (self.without_secrets(reported.get(key, "")) for key in ("msg", "details"))
        ending = stopped or _describe_status(outcome.status)
        lines = [details, f"{self._command} by {self._path}: {ending}", *self._describe_output(outcome, is_all)]
        what = f"plugin {os.path.basename(self._path)} failed ({self._command}): {msg or ending}"
        return CniError(reported.get("code", default), what, "\n".join(line for line in lines if line))

    def _describe_output(self, outcome: ProcessResult, understood: bool) -> t.Iterator[str]:
        if not understood and outcome.stdout.strip():
            yield f"stdout (not a CNI error): {self._last_lines(outcome.stdout)}"
        if outcome.stderr.strip():
            text = self._last_lines(outcome.stderr)
            yield f"stderr (last lines): {_shorten(text) if understood else text}"

    def _last_lines(self, output: bytes) -> str:
        # Secrets are hidden before the text is cut, which could split them.
        text = self.without_secrets(_without_trace(output).decode("utf-8", "replace"))
        return "\n".join(printable.lines(text[-4096:]).strip().split("\n")[-_STDERR_LINES:])


def _shorten(text: str) -> str:
    lines = text.split("\n")[-_DEBUG_LINES:]
    return "\n".join(line if len(line) <= _DEBUG_WIDTH else f"{line[:_DEBUG_WIDTH]}..." for line in lines)


def _parse_error(stdout: bytes) -> tuple[JsonObject, bool]:
    """Return the valid values among code, message and details, and whether all values given are valid."""
    try:
        keys = json_text.decode(stdout, "")
    except CniError:
        return {}, False
    if not isinstance(keys, dict) or not ("code" in keys or "msg" in keys):
        return {}, False
    types = {"code": int, "msg": str, "details": str}
    present = {key: keys[key] for key in types if keys.get(key) is not None}
    valid = {
        key: value for key, value in present.items() if isinstance(value, types[key]) and not isinstance(value, bool)
    }
    return valid, bool(valid) and valid.keys() == present.keys()


def _describe_status(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def _without_trace(output: bytes) -> bytes:
    """Return the output of a plugin without the stack trace of a Go panic, which is long."""
    head, trace, dummy = output.partition(_GO_TRACE)
    return head if trace and any(line.startswith(b"panic: ") for line in head.split(b"\n")) else output


def _hide_values(text: str, args: t.Mapping[str, str], request: bytes) -> str:
    """Return a plugin's message with the values of CNI_ARGS and of its request's ``args.cni`` hidden."""
    pairs = {key: value for key, value in args.items() if value and not is_open(key)}
    for key, value in pairs.items():
        for form in quoted_forms(value):
            text = text.replace(f"{key}={form}", f"{key}={HIDDEN}")
    values = {*pairs.values(), *_texts(_config_args(request))}
    for form in sorted({form for value in values for form in quoted_forms(value)}, key=len, reverse=True):
        text = text.replace(form, HIDDEN) if len(form) >= SHORTEST else text
    return text


def is_open(key: str) -> bool:
    """Return whether an argument's value is not secret."""
    return key in _OPEN or key.startswith(_OPEN_PREFIX)


def quoted_forms(value: str) -> list[str]:
    """Return a value and its quoted forms, the longest first."""
    quoted = (json.dumps(value, ensure_ascii=ensure_ascii)[1:-1] for ensure_ascii in (True, False))
    return sorted({value, *quoted}, key=len, reverse=True)


def _config_args(request: bytes) -> object:
    try:
        keys = json_text.any_case(json_text.decode(request, ""))
    except CniError:
        return None
    args = keys.get("args") if isinstance(keys, dict) else None
    return args.get("cni") if isinstance(args, dict) else None


def _texts(value: object) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from () if is_open(key) else _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
