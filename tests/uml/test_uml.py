# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A machine of User Mode Linux hides the host, ends with its parent, and passes output and status on."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import uuid

import pytest

from ansible_collections.cni.node.tests.support.programs import path_without
from ansible_collections.cni.node.tests.support.until import until
from ansible_collections.cni.node.tests.uml.main import find_obstacle

UML = str(pathlib.Path(__file__).with_name("uml"))
OBSTACLE = find_obstacle() or ("" if shutil.which("linux.uml") else "install user-mode-linux")
needs_program = pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)
# The machine boots in seconds; a busy host may take much longer.
PATIENCE = 300


def uml(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [UML, *command], check=False, capture_output=True, text=True, env={**os.environ, **environment}
    )


def uml_directories() -> list[str]:
    """Return the directories that machines make where nothing else is said."""
    return sorted(map(str, pathlib.Path("~/.uml").expanduser().glob("*")))


def machines(mark: str) -> list[str]:
    """Return the processes of machines whose command line has the mark, and those of their programs."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@needs_program
def test_the_command_has_another_kernel_and_the_directory_and_variables_of_the_caller(tmp_path: pathlib.Path) -> None:
    mark, directories = uuid.uuid4().hex, uml_directories()
    lost = pathlib.Path(__file__).with_name(mark)
    script = f"""
    uname -r; pwd; echo $MARK $CNI_SANDBOX; ip -brief -4 address show up; iptables -t nat -S POSTROUTING
    ls -A /run /dev/shm; test -e /etc/cni; echo $?
    ip link add probe type dummy && ip link add link probe name vlan5 type vlan id 5; ls /sys/class/net
    echo lost >{lost}; echo lost >/var/tmp/{mark}; echo kept >{tmp_path}/kept; echo error >&2; seq 1 20000; exit 7
    """
    done = uml("sh", "-c", script, MARK=mark, CNI_SANDBOX_OUT=str(tmp_path))
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (7, "error\n")
    assert lines[0] != os.uname().release
    assert lines[1:] == [
        os.getcwd(),
        f"{mark} 1",
        *("lo               UNKNOWN        127.0.0.1/8 ", "-P POSTROUTING ACCEPT"),
        *("/dev/shm:", "", "/run:", "lock", "xtables.lock", "1"),
        *("lo", "probe", "vlan5"),
        *map(str, range(1, 20001)),
    ]
    assert not lost.exists()
    assert not pathlib.Path("/var/tmp", mark).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert uml_directories() == directories


@needs_program
def test_a_command_that_is_killed_kills_the_caller_s_process_in_the_same_way() -> None:
    assert uml("sh", "-c", "kill -SEGV $$").returncode == -signal.SIGSEGV


@needs_program
def test_the_machine_ends_with_a_parent_that_is_killed(tmp_path: pathlib.Path) -> None:
    directories = uml_directories()
    script = f"{UML} sh -c 'touch {tmp_path}/ready; sleep 600' & wait"
    environment = {**os.environ, "CNI_SANDBOX_OUT": str(tmp_path)}
    with subprocess.Popen(["sh", "-c", script], env=environment) as parent:
        until(lambda: (tmp_path / "ready").exists() or None, PATIENCE)
        children = machines(str(tmp_path))
        # The shell, and the process that passes the output on.
        assert len(children) >= 2
        parent.kill()
    until(lambda: not machines(str(tmp_path)) or None, PATIENCE)
    assert uml_directories() == directories


@needs_program
def test_a_machine_that_takes_too_long_is_switched_off() -> None:
    done = uml("sleep", "600", CNI_UML_LIMIT="1")
    assert done.returncode == 124
    assert done.stderr.startswith("uml: the machine was switched off after 1 s; ")


def test_the_error_says_that_the_program_is_missing(tmp_path: pathlib.Path) -> None:
    done = uml("true", PATH=path_without({"linux.uml"}, tmp_path))
    assert (done.returncode, done.stderr) == (125, "uml: linux.uml is missing: install the package user-mode-linux\n")


def test_the_error_of_a_machine_that_fails_has_the_end_of_its_console(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "linux.uml"
    program.write_text("#!/bin/sh\necho Kernel panic\nkill -ABRT $$\n", encoding="utf-8")
    program.chmod(0o755)
    done = uml("true", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (
        125,
        "uml: the machine ended before the command; the end of its console:\nKernel panic\n",
    )
