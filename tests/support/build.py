# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the Go programs of the interoperation tests from the sources that the distribution installs."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import typing as t

GOPATH = pathlib.Path("/usr/share/gocode")
CNI = GOPATH / "src/github.com/containernetworking/cni"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RUNNER = REPOSITORY / "tests/interop/libcni-runner"
CACHE = REPOSITORY / ".cache/interop"


class Unavailable(Exception):
    """The machine lacks something that a build needs; the text says what to install."""


class BuildFailed(Exception):
    """The compiler failed; the text is its output."""


def libcni_runner(cache: pathlib.Path = CACHE) -> pathlib.Path:
    """Return the path of `libcni-runner`; build it if it is missing or its sources have changed."""
    return _built("libcni-runner", RUNNER, cache)


def noop_plugin(cache: pathlib.Path = CACHE) -> pathlib.Path:
    """Return the path of the reference test double, named `noop` as in its configurations."""
    return _built("noop", CNI / "plugins/test/noop", cache)


def find_missing() -> str | None:
    """Return the reason why nothing can be built here, or None."""
    if not shutil.which("go"):
        return "the Go compiler is missing: install golang-go"
    if not (CNI / "libcni").is_dir():
        return f"libcni's sources are not in {CNI}: install golang-github-appc-cni-dev"
    return None


def _built(name: str, source: pathlib.Path, cache: pathlib.Path) -> pathlib.Path:
    if reason := find_missing():
        raise Unavailable(reason)
    program = cache / f"{name}-{_digest(source, CNI / 'libcni', CNI / 'pkg')}" / name
    with _lock(cache):
        if not program.exists():
            _compile(source, program, cache)
            _forget_others(name, program.parent)
    return program


def _digest(*directories: pathlib.Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for directory in directories for path in directory.rglob("*.go")):
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _lock(cache: pathlib.Path) -> t.Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(source: pathlib.Path, program: pathlib.Path, cache: pathlib.Path) -> None:
    unfinished = cache / f"{program.name}.new"
    environment = {
        "PATH": os.environ["PATH"],
        "GOPATH": str(GOPATH),
        "GOCACHE": str(cache / "go-build"),
        "GOTMPDIR": str(cache),
        "GO111MODULE": "off",
        "GOENV": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    command = ["go", "build", "-buildvcs=false", "-o", str(unfinished), "."]
    done = subprocess.run(command, cwd=source, env=environment, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} in {source}:\n{done.stderr}")
    program.parent.mkdir(exist_ok=True)
    unfinished.replace(program)


def _forget_others(name: str, current: pathlib.Path) -> None:
    for old in current.parent.glob(f"{name}-*"):
        if old != current and old.is_dir():
            shutil.rmtree(old)
