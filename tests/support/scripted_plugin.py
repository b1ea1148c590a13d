# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of every scripted plugin; scripted_plugins.py writes it as an executable with its ANSWERS.

It imports as little as it can, since a test may run it hundreds of times: no typing, and json only for an answer
that needs it.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing as t

ANSWERS: dict[str, list[dict[str, t.Any]]] = {}

# Seconds after which a remaining process of a plugin ends by itself. A gate also opens when its test is killed.
LIFETIME, LIFETIME_AT_GATE = 60, 300
HERE, NAME = os.path.split(os.path.abspath(sys.argv[0]))
LOG = f"{HERE}/.calls"
COMMAND = os.environ.get("CNI_COMMAND", "")


def log(event: str, **facts: object) -> None:
    call = {"event": event, "plugin": NAME, "command": COMMAND, "pid": os.getpid(), "time": time.monotonic()}
    line = repr({**call, **facts})
    log_file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(log_file, f"{line}\n".encode())
    os.close(log_file)


def earlier_calls() -> int:
    start = f"{{'event': 'start', 'plugin': {NAME!r}, 'command': {COMMAND!r}, "
    try:
        with open(LOG, encoding="utf-8") as lines:
            return sum(line.startswith(start) for line in lines)
    except FileNotFoundError:
        return 0


def choose() -> dict[str, t.Any]:
    """Return the next answer to a command; the last answer is repeated."""
    answers = ANSWERS.get(COMMAND) or [{}]
    return answers[0] if len(answers) == 1 else answers[min(earlier_calls(), len(answers) - 1)]


def read_stdin(answer: dict[str, t.Any]) -> str:
    if answer.get("read_stdin", True):
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    os.close(0)
    return ""


def read_environment() -> list[str]:
    """Return the runtime's environment, duplicates included, without this interpreter's additions."""
    with open("/proc/self/environ", encoding="utf-8", errors="surrogateescape") as environ:
        return environ.read().split("\0")[:-1]


def encode(answer: dict[str, t.Any], stdin: str) -> str:
    """Return standard output: the given text, or JSON with the request's cniVersion unless it has its own."""
    if answer.get("stdout") is not None:
        return str(answer["stdout"])
    output = answer.get("error", answer.get("result"))
    if output is None and COMMAND != "ADD":
        return ""
    import json

    request = json.loads(stdin) if stdin else {}
    if output is None:
        output = request.get("prevResult", {})
    return json.dumps({"cniVersion": request.get("cniVersion", ""), **output})


def write(stream: int, text: str, size: int) -> None:
    """Write `text`, padded with letters to `size` bytes."""
    rest = memoryview(text.encode("utf-8", "surrogateescape").ljust(size, b"x"))
    while rest:
        rest = rest[os.write(stream, rest) :]


def end_by_itself(seconds: int = LIFETIME) -> None:
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def hang(deaf: bool) -> None:
    import signal

    end_by_itself()
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def leave_grandchild(own_session: bool) -> None:
    """Start a process that outlives the plugin and holds its standard streams open."""
    ready, set_up = os.pipe()
    child = os.fork()
    if child == 0:
        if own_session:
            os.setsid()
        end_by_itself()
        os.close(set_up)
        hang(deaf=False)
    os.close(set_up)
    os.read(ready, 1)
    log("grandchild", grandchild=child)


def wait_for_release(gate: str) -> None:
    import fcntl

    end_by_itself(LIFETIME_AT_GATE)
    log("held")
    with open(gate, "rb") as closed:
        fcntl.flock(closed, fcntl.LOCK_SH)


def main() -> None:
    answer = choose()
    stdin = read_stdin(answer)
    log("start", environ=read_environment(), stdin=stdin)
    if answer.get("hold"):
        wait_for_release(answer["hold"])
    if answer.get("grandchild"):
        leave_grandchild(own_session=answer["grandchild"] == "own session")
    write(2, answer.get("stderr") or "", answer.get("stderr_bytes") or 0)
    write(1, encode(answer, stdin), answer.get("stdout_bytes") or 0)
    if answer.get("close"):
        os.close(1)
        os.close(2)
    if answer.get("hang"):
        hang(deaf=answer["hang"] == "deaf")
    log("end")
    if answer.get("signal"):
        os.kill(os.getpid(), answer["signal"])
    status = answer.get("exit")
    os._exit(int("error" in answer) if status is None else status)


main()
