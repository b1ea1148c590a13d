# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process of another user, or of a container, is not a plugin, even with a plugin's environment."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import process_table
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root]

PLUGIN = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "blue", "CNI_IFNAME": "eth0"}
SOMEBODY = 65534
FOREIGN: dict[str, tuple[str, ...]] = {
    "another user": ("setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"),
    "real user only": ("setpriv", f"--ruid={SOMEBODY}", "--euid=0"),
    "root of another user namespace": ("unshare", "--user", "--map-root-user"),
    "root of a container": ("unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"),
}


@contextlib.contextmanager
def start_waiting_plugin(*before: str) -> t.Iterator[subprocess.Popen[bytes]]:
    variables = [f"{name}={value}" for name, value in PLUGIN.items()]
    argv = [*before, "env", *variables, "sh", "-c", "echo begun; read forever", "bridge"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        try:
            yield process
        finally:
            process.kill()


def read_environment(pid: int) -> bytes:
    """Return the variables of a process, or of the only one that it has started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return until(pathlib.Path(f"/proc/{(children or [str(pid)])[0]}/environ").read_bytes)


@pytest.mark.parametrize("before", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_process_is_not_a_plugin_whatever_its_environment(before: tuple[str, ...]) -> None:
    with start_waiting_plugin(*before) as process:
        assert b"CNI_COMMAND=ADD" in read_environment(process.pid)
        assert gc_owners.find_add_in_progress() == ""
        process_table.wait_or_kill({"CNI_CONTAINERID": "blue", "CNI_IFNAME": "eth0"}, ["sh", "bridge"], 0.2)
        assert process.poll() is None


def test_a_process_of_the_same_user_counts_as_a_plugin() -> None:
    with start_waiting_plugin() as process:
        assert str(process.pid) in gc_owners.find_add_in_progress()
        process_table.wait_or_kill({"CNI_CONTAINERID": "blue", "CNI_IFNAME": "eth0"}, ["sh", "bridge"], 0.2)
        assert process.wait(60) == -9
