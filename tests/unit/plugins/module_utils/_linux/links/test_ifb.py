# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the output of tc. Tests that remove links are in tests/integration."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux.links import ifb
from ansible_collections.cni.node.tests.support.error_of import error_of

pytestmark = pytest.mark.usefixtures("program_dir")
REDIRECT = "action order 1: mirred (Egress Redirect to device {}) stolen"

# It lists queues by the file of this run; a link is asked about its filters between two of these. As JSON, releases print names
# that JSON has not.
TC = """\
#!/bin/sh
PATH=/usr/bin:/bin
cd {directory} || exit 1
if [ "$1" = -j ]; then echo "[{{\\"kind\\":\\"ingress\\",\\"dev\\":\\"it\\\\'s\\"}}]"; exit; fi
if [ "$1" = qdisc ]; then cat queues; cp later queues; exit; fi
cat "filters.$4" || {{ echo "Cannot find device $4" >&2; exit 1; }}
"""


def tc(directory: pathlib.Path, now: list[str], later: list[str]) -> None:
    """Write a fake tc: veth0 redirects to bwp0, and veth1 does not exist."""
    (directory / "filters.veth0").write_text(REDIRECT.format("bwp0"), encoding="utf-8")
    for name, devices in (("queues", now), ("later", later)):
        lines = [f"qdisc ingress ffff: dev {device} parent ffff:fff1 ---------------- \n" for device in devices]
        (directory / name).write_bytes("".join(lines).encode("utf-8", "surrogateescape"))
    (directory / "tc").write_text(TC.format(directory=directory), encoding="utf-8")
    (directory / "tc").chmod(0o755)


def test_a_link_that_disappears_meanwhile_has_no_targets(tmp_path: pathlib.Path) -> None:
    tc(tmp_path, ["veth0", "veth1"], later=["veth0"])
    assert ifb.targets() == {"bwp0"}


def test_an_unreadable_link_is_an_error(tmp_path: pathlib.Path) -> None:
    tc(tmp_path, ["veth0", "veth1"], later=["veth0", "veth1"])
    error = error_of(ifb.targets)
    assert (error.code, "Cannot find device veth1" in error.details) == (Code.IO_FAILURE, True)


@pytest.mark.parametrize(
    "name", [b"it's", b'quo"te\\', b"caf\xe9", b"a\x85b", b"c\xc2\x85d", b"\xc2\xa0", b"\x1b[2J", b"a\x1cb"]
)
def test_a_link_with_any_name_can_redirect_to_an_ifb(tmp_path: pathlib.Path, name: bytes) -> None:
    shown = os.fsdecode(name)
    tc(tmp_path, [shown], later=[shown])
    (tmp_path / f"filters.{shown}").write_text(REDIRECT.format("bwp1"), encoding="utf-8")
    assert ifb.targets() == {"bwp1"}
