# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the machine that the measurements run on."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import shutil
import subprocess
import textwrap
import typing as t

import ansible.release

from ansible_collections.cni.node.tests.bench.bench_node import REFERENCE_PLUGINS
from ansible_collections.cni.node.tests.bench.effort import Bench


def describe(bench: Bench) -> str:
    machine = f"{'virtual, ' if _is_virtual() else ''}{len(os.sched_getaffinity(0))} CPUs, {platform.machine()}"
    facts = {
        "disk": _program("findmnt", "--noheadings", "--output", "FSTYPE", "--target", str(bench.disk)),
        "kernel": ".".join(platform.release().split(".")[:2]),
        "reference plugins": _plugins(bench.node.plugin_dirs),
        "iptables": _program("iptables", "--version"),
        "Python": platform.python_version(),
        "ansible-core": ansible.release.__version__,
        "Go": _program("go", "version"),
        "libcni": _package("golang-github-appc-cni-dev"),
    }
    text = "; ".join([f"Measured on: {machine}", *(f"{name} {fact}" for name, fact in facts.items())])
    return "\n".join(textwrap.wrap(f"{text}.", 140, break_on_hyphens=False))


def _is_virtual() -> bool:
    return "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")


def _program(*argv: str) -> str:
    """Return the version in the program's output, or the whole output if it has none."""
    search = os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin"))
    printed = subprocess.run(argv, env={"PATH": search}, check=False, capture_output=True, text=True).stdout.strip()
    version = re.search(r"\d+\.\d+\S*( \(\w+\))?", printed)
    return version[0] if version else printed or "unknown"


def _plugins(directories: t.Sequence[str]) -> str:
    """Return the release of the reference plugins; those of Debian do not print it."""
    if directories == REFERENCE_PLUGINS:
        return _package("containernetworking-plugins")
    about = subprocess.run([f"{directories[0]}/bridge"], env={}, check=False, capture_output=True, text=True)
    release = re.search(r"plugin v(\d\S+)", about.stderr)
    return release[1] if release else "unknown"


def _package(name: str) -> str:
    """Return the version of the Debian package."""
    return (
        _program("dpkg-query", "--show", "--showformat=${Version}", name) if shutil.which("dpkg-query") else "unknown"
    )
