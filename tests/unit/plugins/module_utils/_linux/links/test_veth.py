# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removal of veth pairs that no longer exist. tests/integration removes real pairs."""

from __future__ import annotations

import os

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux.links import veth
from ansible_collections.cni.node.tests.support.error_of import error_of

LOOPBACK = 1
NO_LINK = 2**31 - 1


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel refuses others before it looks")
def test_removing_a_missing_veth_succeeds() -> None:
    veth.remove(veth.Veth("veth01234567", NO_LINK, 2, "cni0"))


def test_a_link_that_cannot_be_removed_is_an_error() -> None:
    error = error_of(veth.remove, veth.Veth("lo", LOOPBACK, 2, "cni0"))
    assert error.code == Code.IO_FAILURE
    assert "cannot remove the link lo" in error.msg.lower()
