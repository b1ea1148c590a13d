# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Do what a page of the documentation says: write its files, run its commands, compare what they print.

    python -m ansible_collections.cni.node.tests.support.pages [--show] [--section HEADING] PAGE DIRECTORY

A block whose first line is a comment with a file name is that file. So is a block below an HTML comment
``<!-- file: NAME -->``, for formats without comments. In a block of the language ``console``, a line after ``$ `` is a
command, up to a line that does not end in a backslash. The lines up to the next command are its output, in which the
line ``...`` stands for any number of lines, and ``...`` at the end of a line for the rest of it. A command without such
lines may print anything. Durations, MAC addresses, the number of tasks that changed nothing, and the lengths of rules
made of asterisks do not count.

A command has to succeed, unless the output on the page shows an error of Ansible: then it has to fail.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import typing as t

_BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w.-]+(?:/[\w.-]+)*\.\w+)\n")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_ERROR = re.compile(r"FAILED!|^fatal: |failed=[1-9]", re.MULTILINE)
_ANYTHING = "..."
_VARIABLE = (
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), r"N \2"),
    (re.compile(r"\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b"), "MAC"),
    (re.compile(r"\*{3,}$"), "***"),
    (re.compile(r"\b(ok|skipped)=\d+"), r"\1=N"),
    (re.compile(r" {2,}"), "  "),
)


# Commands that no test runs, with the reason.
NOT_RUN = {
    "ansible-galaxy collection download cni.node": "Galaxy cannot be reached",
    "python3 -m pip download --dest packages ansible-core jsonschema": "it fetches what the tests already run with",
    "curl -LO https://github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz": (
        "GitHub cannot be reached; an archive of that name takes its place"
    ),
    "python3 -m pip install --no-index --find-links packages ansible-core jsonschema": "needs what was not downloaded",
    "ansible-galaxy collection install collections/cni-node-1.0.0.tar.gz": "needs what was not downloaded",
    "nomad job run web.nomad.hcl": "no package that the tests can install has Nomad",
    "ansible cp1 -i inventory.yml -b -a 'kubeadm init --pod-network-cidr=10.244.0.0/16'": (
        "no package that the tests can install has kubeadm"
    ),
    "ansible-playbook cni.node.repair -i inventory -e cni_node_repair_on_reload=true       # and lets the node do it from now on": (
        "needs systemd; the tutorial of a firewall's reload runs it on a booted machine"
    ),
    "journalctl --unit cni-node-repair.service --output cat": "the same",
    "ansible cp1 -i inventory.yml -b -a 'kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes'": "needs a cluster",
}


class PageError(Exception):
    """A page and what happens differ; the message has the line of the page and both texts."""


class File(t.NamedTuple):
    """A file that the reader writes."""

    line: int
    section: str
    name: str
    text: str


class Command(t.NamedTuple):
    """A command that the reader runs, and the lines that the page shows below it."""

    line: int
    section: str
    text: str
    output: list[str]


class Other(t.NamedTuple):
    """A block that is neither of both."""

    line: int
    section: str
    language: str


Step = t.Union[File, Command, Other]


def read_steps(text: str) -> list[Step]:
    """Return the blocks of a page in their order, each with its line and the heading above it."""
    steps: list[Step] = []
    # A comment in a block begins like a heading.
    prose = _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    headings = [(heading.start(), heading[1]) for heading in _HEADING.finditer(prose)]
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(3)) + 1
        section = next((title for start, title in reversed(headings) if start < block.start()), "")
        named = _FILE.match(block[3])
        if block[1] or named:
            steps.append(File(line, section, block[1] or (named or block)[1], block[3]))
        elif block[2] == "console":
            steps += _commands(line, section, block[3].splitlines())
        else:
            steps.append(Other(line, section, block[2]))
    return steps


def _commands(first: int, section: str, lines: t.Sequence[str]) -> t.Iterator[Command]:
    words: list[str] = []
    command = Command(first, section, "", [])
    for number, line in enumerate(lines, first):
        if line.startswith("$ ") or words:
            if not words and command.text:
                yield command
            if not words:
                command = Command(number, section, "", [])
            words.append(line.removeprefix("$ ") if not words else line)
            if not line.endswith("\\"):
                command = command._replace(text="\n".join(words))
                words = []
        else:
            command.output.append(line)
    yield command


class Reader:
    """Follows the steps of pages in one directory.

    Args:
        directory: The reader's directory, with the files that earlier steps have written.
        environment: The environment of the commands.
        is_talkative: Whether to print each command and its output.
    """

    def __init__(
        self, directory: pathlib.Path, environment: t.Mapping[str, str], *, is_talkative: bool = False
    ) -> None:
        self._directory = directory
        self._environment = dict(environment)
        self._is_talkative = is_talkative

    def follow(self, steps: t.Iterable[Step]) -> None:
        """Take the steps one after the other; raise PageError at the first that is not as the page says."""
        for step in steps:
            if isinstance(step, File):
                self.write(step.name, step.text)
            elif isinstance(step, Command) and step.text not in NOT_RUN:
                self._run(step)

    def write(self, name: str, text: str) -> None:
        """Write a file of the reader's directory."""
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _run(self, command: Command) -> None:
        done = subprocess.run(
            ["bash", "-c", command.text],
            check=False,
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if self._is_talkative:
            print(f"$ {command.text}\n{done.stdout}{done.stderr}", flush=True)
        shown = "\n".join(command.output)
        if bool(done.returncode) != bool(_ERROR.search(shown)):
            problem = f"ended with status {done.returncode}, which the page does not say"
        elif command.output and not matches(command.output, done.stdout.splitlines()):
            problem = f"should print:\n{shown}"
        else:
            return
        raise PageError(
            f"line {command.line}: {command.text}\n{problem}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}"
        )


def matches(expected: t.Sequence[str], printed: t.Sequence[str]) -> bool:
    """Return whether these lines were printed, where dots stand for other lines or for the rest of a line."""
    *parts, last = _split(_comparable(expected))
    rest = _comparable(printed)
    for index, part in enumerate(parts):
        at = _find(part, rest)
        if at is None or (index == 0 and at > 0):
            return False
        rest = rest[at + len(part) :]
    end = len(rest) - len(last)
    return end >= 0 and (end == 0 or bool(parts)) and _is_same(last, rest[end:])


def _comparable(lines: t.Iterable[str]) -> list[str]:
    comparable = []
    for line in filter(None, map(str.rstrip, lines)):
        for pattern, replacement in _VARIABLE:
            line = pattern.sub(replacement, line)
        comparable.append(line)
    return comparable


def _split(lines: t.Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == _ANYTHING:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _find(part: list[str], lines: list[str]) -> int | None:
    starts = range(len(lines) - len(part) + 1)
    return next((start for start in starts if _is_same(part, lines[start : start + len(part)])), None)


def _is_same(expected: t.Sequence[str], printed: t.Sequence[str]) -> bool:
    return all(
        line.startswith(begin.removesuffix(_ANYTHING)) if begin.endswith(_ANYTHING) else line == begin
        for begin, line in zip(expected, printed)
    )


def reader_environment(home: pathlib.Path) -> dict[str, str]:
    """Return the environment of a shell in which this collection and the Ansible beside this Python are installed.

    Args:
        home: The directory for Ansible's own files.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    collections = next(path.parent for path in pathlib.Path(__file__).parents if path.name == "ansible_collections")
    return {
        **kept,
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_REMOTE_TEMP": str(home / "remote"),
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_NOCOLOR": "true",
        "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
    }


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Do what a page says.")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path, help="the reader's directory")
    parser.add_argument("--show", action="store_true", help="print each command and its output")
    parser.add_argument("--section", action="append", help="only what is below this heading")
    arguments = parser.parse_args(argv)
    steps = read_steps(arguments.page.read_text(encoding="utf-8"))
    if arguments.section:
        steps = [step for step in steps if step.section in arguments.section]
    directory = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    reader = Reader(directory, reader_environment(directory / ".ansible"), is_talkative=arguments.show)
    try:
        reader.follow(steps)
    except PageError as error:
        print(f"{shlex.quote(str(arguments.page))}, {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
