# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The archive of a bundle is bounded, and says what it leaves out."""

from __future__ import annotations

import io
import random
import tarfile

from ansible_collections.cni.node.plugins.module_utils._node.bundle import archive


def read(packed: archive.Packed) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(packed.content), mode="r:gz") as opened:
        members = opened.getmembers()
        assert {(member.mode, member.uid, member.isreg()) for member in members} == {(0o600, 0, True)}
        return {member.name: (opened.extractfile(member) or io.BytesIO()).read().decode() for member in members}


def test_files_are_in_one_directory_in_their_order() -> None:
    packed = archive.pack("top", {"b.txt": "one\n", "a/ä.txt": "zwei\n"}, 0.0)
    assert list(read(packed).items()) == [("top/b.txt", "one\n"), ("top/a/ä.txt", "zwei\n")]
    assert (packed.sizes, packed.cut) == ({"b.txt": 4, "a/ä.txt": 5}, [])


def test_the_middle_of_a_long_file_is_left_out_between_lines() -> None:
    lines = [f"line {number} ä\n" for number in range(400_000)]
    packed = archive.pack("top", {"long.txt": "".join(lines), "short.txt": "short\n"}, 0.0)
    assert packed.cut == ["long.txt"]
    text = read(packed)["top/long.txt"]
    assert text.startswith(lines[0])
    assert text.endswith(lines[-1])
    (note,) = [line for line in text.splitlines() if line.startswith("[...")]
    assert " bytes are left out here ...]" in note
    assert {line + "\n" for line in text.splitlines() if line and line != note} <= set(lines)


def test_an_archive_of_what_cannot_be_compressed_is_not_larger_than_the_limit() -> None:
    numbers = random.Random(1)
    files = {
        f"{number}.txt": "".join(f"{numbers.randbytes(40).hex()}\n" for dummy in range(25_000)) for number in range(9)
    }
    packed = archive.pack("top", {**files, "small.txt": "small\n"}, 0.0)
    assert len(packed.content) <= archive.SIZE_LIMIT
    assert set(packed.cut) == set(files)
    assert read(packed)["top/small.txt"] == "small\n"


def test_a_file_without_line_breaks_is_cut_as_well() -> None:
    packed = archive.pack("top", {"x": "x" * 10_000_000}, 0.0)
    assert packed.cut == ["x"]
    assert packed.sizes["x"] < 3_000_000
