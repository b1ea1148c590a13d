# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure the collection and its peers: tests/bench/run [--quick] [--rounds NUMBER] [--only CHAPTER]... [--plugins DIR] [--write PAGE].

Measurements run inside tests/support/sandbox and write Markdown files to a directory outside.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing as t

from ansible_collections.cni.node.tests.bench import (
    bench_drift,
    bench_fleet,
    bench_machine,
    bench_repair,
    bench_start,
    bench_validation,
    bench_watch,
    beside_netavark,
    builtin,
    growth,
    looping,
    no_op,
    page,
    peers,
    rule_growth,
)
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode
from ansible_collections.cni.node.tests.bench.effort import QUICK, WHOLE, Bench
from ansible_collections.cni.node.tests.support import build

SANDBOX = build.REPOSITORY / "tests/support/sandbox"
CHAPTERS: dict[str, t.Callable[[Bench], str]] = {
    "machine": bench_machine.describe,
    "no-op": no_op.chapter,
    "fleet": bench_fleet.chapter,
    "looping": looping.chapter,
    "builtin": builtin.chapter,
    "netavark": beside_netavark.chapter,
    "rules": rule_growth.chapter,
    "start": bench_start.chapter,
    "peers": peers.chapter,
    "drift": bench_drift.chapter,
    "repair": bench_repair.chapter,
    "watch": bench_watch.chapter,
    "growth": growth.chapter,
    "validation": bench_validation.chapter,
}


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/bench/run", description="Measure the collection against its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer attachments and rounds: does it run at all?")
    parser.add_argument("--rounds", type=int, metavar="NUMBER", help="so many rounds of every measurement")
    parser.add_argument("--only", action="append", choices=CHAPTERS, help="measure only this; may be repeated")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="put the tables into this page")
    parser.add_argument("--plugins", type=pathlib.Path, metavar="DIR", help="the reference plugins to compare with")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(chosen: argparse.Namespace, output: pathlib.Path) -> None:
    """Write one Markdown file per chapter; runs inside the sandbox."""
    effort = (QUICK if chosen.quick else WHOLE).with_rounds(chosen.rounds)
    bench = Bench(BenchNode.prepare(pathlib.Path("/run/bench"), chosen.plugins), build.libcni_runner(), output, effort)
    for name in chosen.only or CHAPTERS:
        started = time.monotonic()
        tables = CHAPTERS[name](bench)
        (output / f"{name}.md").write_text(tables, encoding="utf-8")
        print(f"## {name} ({time.monotonic() - started:.0f} s)\n\n{tables}\n", flush=True)


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    if chosen.inside:
        measure(chosen, chosen.inside)
        return 0
    build.libcni_runner()
    with tempfile.TemporaryDirectory(dir=build.REPOSITORY / ".cache") as output:
        argv = [os.fspath(SANDBOX), sys.executable, "-m", f"{__package__}.main", "--inside", output, *arguments]
        # PYTHONUNBUFFERED, for example, would make a pipelined module read its input byte by byte.
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "JUNIT_", "PYTHON"))}
        # In the outer ring, the nodes of a fleet run modules with their own Python, started for each.
        environment = {**kept, "CNI_SANDBOX_OUT": output, "CNI_RING": "outer"}
        done = subprocess.run(argv, env=environment, check=False)
        if done.returncode == 0 and chosen.write:
            written = {path.stem: path.read_text(encoding="utf-8") for path in pathlib.Path(output).glob("*.md")}
            page.replace(chosen.write, written)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
