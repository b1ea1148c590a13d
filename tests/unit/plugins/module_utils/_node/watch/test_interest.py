# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interest in links is outdated as soon as a record is written or removed."""

from __future__ import annotations

import pathlib

from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest, read_times


def test_a_new_record_makes_it_outdated(tmp_path: pathlib.Path) -> None:
    interest = Interest(True, directories=read_times([str(tmp_path), str(tmp_path / "missing")]))
    assert not interest.is_outdated()
    (tmp_path / "net-blue-eth0").write_text("", encoding="utf-8")
    assert interest.is_outdated()


def test_nothing_known_is_outdated() -> None:
    assert Interest().is_outdated()


def test_it_survives_the_way_from_the_child_process() -> None:
    interest = Interest(True, frozenset((b"cni0", b"\xff")), frozenset((7,)), frozenset((0,)), (("/var/lib/cni", 5),))
    assert Interest.from_dict(interest.as_dict()) == interest
