# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The manifest of installed plugins is read as written, or refused."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import (
    Manifest,
    PluginSet,
    Release,
    SetAside,
)
from ansible_collections.cni.node.tests.support.error_of import error_of

FULL = Manifest(
    sets={
        "flannel": PluginSet([Release(["sha256:66"], "1.9.1-flannel3", ["flannel"], {"flannel": "77"})]),
        "reference": PluginSet(
            [Release(["sha256:00", "sha512:11"], "1.9.1", ["bridge", "ptp"], {"bridge": "22"})], "sha256:33"
        ),
    },
    installed={"bridge": ["22", "44"], "flannel": ["77"]},
    owners={"bridge": "reference", "flannel": "flannel", "ptp": "reference"},
    set_aside={"bridge": SetAside("55", 0o750, 1, 2, 3), "ptp": SetAside("", 0o777, 0, 0, 4, "bridge")},
    made=["/opt/cni"],
    seen={"/opt/cni/bin/bridge": [1, 2, 3, 4, 5, "22"]},
)


def test_a_manifest_is_read_back_unchanged_and_written_once(tmp_path: pathlib.Path) -> None:
    assert Manifest.load(str(tmp_path)) == Manifest()
    FULL.save(str(tmp_path))
    (path,) = tmp_path.iterdir()
    inode = path.stat().st_ino
    assert Manifest.load(str(tmp_path)) == FULL
    FULL.save(str(tmp_path))
    assert path.stat().st_ino == inode


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2}', '{"format": 3}', '{"format": 1, "releases": []}', "{"]
)
def test_an_unreadable_manifest_is_an_error(tmp_path: pathlib.Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    assert f"{tmp_path}/manifest.json" in str(error_of(Manifest.load, str(tmp_path)))


def test_a_digest_is_read_again_only_for_a_changed_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bridge"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    digests = Digests({})
    first = digests.sha256(str(path))
    kept = {str(path): [*digests.by_path[str(path)][:-1], "known"]}
    assert Digests(kept).sha256(str(path)) == "known"
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert Digests(kept).sha256(str(path)) not in ("known", first), (
        "the same size and time do not make the same content"
    )
