# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import time

import pytest
from hypothesis import given

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, netns_identity
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import attachments

VALID = Attachment("net", "blue", "eth0", "/run/netns/blue", {"K": "V"}, {"mac": 1})


@given(attachments())
def test_network_container_and_interface_identify_an_attachment(attachment: Attachment) -> None:
    assert attachment.key == (attachment.network, attachment.container_id, attachment.ifname)


def test_the_name_of_an_attachment_is_readable() -> None:
    assert str(VALID) == "attachment of blue (eth0) to network net"


@pytest.mark.parametrize("netns", ["/run/netns/blue", "/proc/1/ns/net", ""])
def test_a_valid_attachment_is_returned_unchanged(netns: str) -> None:
    attachment = VALID.with_netns(netns)
    assert attachment.require_valid() is attachment


@pytest.mark.parametrize(
    ("attachment", "code", "named"),
    [
        (Attachment("../net", "blue", "eth0"), Code.INVALID_CONFIG, "'../net'"),
        (Attachment("net", "", "eth0"), Code.INVALID_ENVIRONMENT, "CNI_CONTAINERID"),
        (Attachment("net", "blue", "eth0/"), Code.INVALID_ENVIRONMENT, "CNI_IFNAME"),
        (Attachment("net", "blue", "eth0", "run/netns/blue"), Code.INVALID_ENVIRONMENT, "CNI_NETNS"),
        (Attachment("net", "blue", "eth0", "/run/a\0b"), Code.INVALID_ENVIRONMENT, "CNI_NETNS"),
        (Attachment("net", "blue", "eth0", "/run/\ud800"), Code.INVALID_ENVIRONMENT, "CNI_NETNS"),
        (Attachment("net", "blue", "eth0", args={"a;b": "c"}), Code.INVALID_ENVIRONMENT, "CNI_ARGS"),
    ],
)
def test_every_identifier_and_argument_is_validated(attachment: Attachment, code: Code, named: str) -> None:
    error = error_of(attachment.require_valid)
    assert error.code == code
    assert named in error.msg


def test_identity_is_stable_while_the_namespace_exists(tmp_path: pathlib.Path) -> None:
    (tmp_path / "blue").touch()
    assert netns_identity(str(tmp_path / "blue")) == netns_identity(str(tmp_path / "blue")) != ""


def test_identity_changes_when_another_takes_the_path(tmp_path: pathlib.Path) -> None:
    (tmp_path / "blue").touch()
    (tmp_path / "other").touch()
    before = netns_identity(str(tmp_path / "blue"))
    (tmp_path / "other").replace(tmp_path / "blue")
    assert netns_identity(str(tmp_path / "blue")) not in (before, "")


def test_identity_changes_when_the_inode_number_is_given_to_a_later_one(tmp_path: pathlib.Path) -> None:
    (tmp_path / "blue").touch()
    before = netns_identity(str(tmp_path / "blue"))
    os.utime(tmp_path / "blue", ns=(1, 1))
    assert netns_identity(str(tmp_path / "blue")) != before


@pytest.mark.parametrize("is_linked", [False, True])
def test_identity_of_a_processs_namespace_stays_between_look_ups(tmp_path: pathlib.Path, is_linked: bool) -> None:
    path = f"/proc/{os.getpid()}/ns/net"
    (tmp_path / "blue").symlink_to(path)
    named = str(tmp_path / "blue") if is_linked else path
    before, looked_up, until = netns_identity(named), os.stat(path).st_mtime_ns, time.monotonic() + 2
    # The kernel creates the inode again for a later look-up, unless a process holds it.
    while os.stat(path).st_mtime_ns == looked_up and time.monotonic() < until:
        pass
    assert netns_identity(named) == before != ""


def test_identity_differs_after_a_reboot(tmp_path: pathlib.Path) -> None:
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert netns_identity(str(tmp_path)).startswith(boot)


@pytest.mark.parametrize("path", ["", "/nowhere/at/all"])
def test_a_missing_namespace_has_no_identity(path: str) -> None:
    assert netns_identity(path) == ""
