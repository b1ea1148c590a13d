# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux.links import netlink
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables
from ansible_collections.cni.node.tests.support.descriptors import no_more_files


def test_chains_that_cannot_be_listed_do_not_count_as_absent() -> None:
    with no_more_files(), pytest.raises(CniError, match="cannot list the chains of nf_tables: Too many open files"):
        nf_tables.list_chains()


def test_chains_that_change_while_they_are_listed_are_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing that another program interrupts may lack a chain, and DEL would leave it."""
    generations = iter([1, 2, 2, 2])
    monkeypatch.setattr(netlink, "list_entries", lambda *dummy: ())
    monkeypatch.setattr(nf_tables, "generation", lambda: next(generations))
    assert nf_tables.list_chains() == ()
    assert next(generations, None) is None
    changing = itertools.count()
    monkeypatch.setattr(nf_tables, "generation", lambda: next(changing))
    with pytest.raises(CniError, match="were changed while they were listed") as caught:
        nf_tables.list_chains()
    assert caught.value.code == Code.TRY_AGAIN
