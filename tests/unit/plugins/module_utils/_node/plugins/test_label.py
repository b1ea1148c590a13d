# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The label of a release, and the flaws that are known of it."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import find_flaws


@pytest.mark.parametrize(
    ("release", "plugins", "words"),
    [
        ("1.8.0", ["bridge", "portmap"], ["CVE-2025-67499", "8ee59c6f"]),
        ("1.8.0", ["bridge"], []),
        ("1.9.1", ["bridge", "portmap", "vrf"], []),
        ("1.9.0", ["portmap", "vrf"], ["#1223"]),
        ("1.7.0", ["bridge"], ["#1173"]),
        ("1.0.0", ["bridge"], ["#661"]),
        ("3f5a", ["portmap"], []),
        ("1.8.0-mine", ["portmap"], []),
        ("1.8.0.vendor", ["portmap"], []),
        ("", ["portmap"], []),
    ],
)
def test_known_flaws_depend_on_the_release_and_on_the_installed_plugins(
    release: str, plugins: list[str], words: list[str]
) -> None:
    flaws = find_flaws(release, plugins)
    assert [word for word, flaw in zip(words, flaws) if word in flaw] == words
    assert len(flaws) == len(words)
