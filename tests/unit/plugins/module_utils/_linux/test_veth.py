# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pair that goes while it is removed. That the kernel's are removed is in tests/integration."""

from __future__ import annotations

import os

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import veth
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of

LOOPBACK = 1
NO_LINK = 2**31 - 1


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel refuses others before it looks")
def test_one_that_has_gone_meanwhile_is_removed() -> None:
    veth.remove(veth.Veth("veth01234567", NO_LINK, 2, "cni0"))


def test_one_that_is_there_and_cannot_be_removed_is_an_error() -> None:
    error = error_of(veth.remove, veth.Veth("lo", LOOPBACK, 2, "cni0"))
    assert error.code == Code.IO_FAILURE
    assert "cannot remove the link lo" in error.msg.lower()
