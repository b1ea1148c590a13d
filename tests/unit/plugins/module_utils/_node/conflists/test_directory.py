# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which files are written, moved and removed, and which are never touched."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import DesiredConflist
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import ConflistDirectory
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import (
    NetD,
    absent,
    present,
    single,
    text,
)

OWNED = ".cni.node.owned"


@pytest.fixture
def net_d(tmp_path: pathlib.Path) -> NetD:
    return NetD(tmp_path / "cni" / "net.d")


def test_a_plan_changes_no_file(net_d: NetD) -> None:
    changes = net_d.plan(present("a"), absent("b"), purge=True).changes
    assert [(change.action, change.before, change.after) for change in changes] == [("created", None, text("a"))]
    assert not net_d.path.parent.exists()


def test_file_names_consist_of_priority_network_and_form(net_d: NetD) -> None:
    items = [
        present("a"),
        present("b", priority=5),
        present("c", filename="C+c@1.conflist", priority=99),
        present("d", single("d")),
        present("e", single("e"), filename="e.json"),
    ]
    names = ["10-a.conflist", "05-b.conflist", "C+c@1.conflist", "10-d.conf", "e.json"]
    assert net_d.ensure(*items) == dict.fromkeys(names, "created")
    assert net_d.ensure(*items) == dict.fromkeys(names, "unchanged")
    assert net_d.files()["10-a.conflist"] == text("a")


@pytest.mark.parametrize(
    "filename",
    ["a.txt", ".conflist", ".a.conf", "a/b.conf", "../a.conf", "a b.conf", "é.conf", "-a.conf", "a.conf\n", ".."],
)
def test_a_filename_must_be_one_that_runtimes_read(net_d: NetD, filename: str) -> None:
    for item in (present("a", filename=filename), absent(filename=filename)):
        error = error_of(net_d.plan, item)
        assert (error.code, f"{filename!r} is not a valid file name for a network configuration" in error.msg) == (
            Code.INVALID_CONFIG,
            True,
        )
        assert error.msg.startswith(item.where)


@pytest.mark.parametrize(
    ("content", "filename", "what", "endings"),
    [
        (text("a"), "10-a.conf", "a list of plugins", ".conflist"),
        (text("a"), "10-a.json", "a list of plugins", ".conflist"),
        (single("a"), "10-a.conflist", "a single plugin", ".conf or .json"),
    ],
    ids=["list in .conf", "list in .json", "single plugin in .conflist"],
)
def test_a_filename_ends_as_runtimes_expect_it_of_a_list_or_of_a_single_plugin(
    net_d: NetD, content: bytes, filename: str, what: str, endings: str
) -> None:
    assert str(error_of(net_d.ensure, present("a", content, filename=filename))) == (
        f"item a: the file name {filename!r} does not fit {what};"
        f" expected: a name that ends with {endings}; or leave out filename"
    )
    net_d.put(filename, content)
    assert net_d.ensure(absent(filename=filename)) == {filename: "removed"}


REFUSED: dict[str, tuple[list[DesiredConflist], str]] = {
    "not JSON": ([present("a", b"{")], "item a is not valid JSON"),
    "another name": ([present("a", network="b")], "item a: the name is 'b', but the configuration defines 'a'"),
    "a network twice": ([present("a"), present("a", priority=20)], "item a: network 'a' is given twice"),
    "a file twice": (
        [present("a", filename="x.conflist"), present("b", filename="x.conflist")],
        "item b: another item writes ",
    ),
    "no plugin": ([present("a", text("a", plugins=[]))], "item a: /plugins: the network has no plugin"),
}


@pytest.mark.parametrize(("items", "message"), REFUSED.values(), ids=REFUSED)
def test_errors_are_raised_before_anything_is_written(net_d: NetD, items: list[DesiredConflist], message: str) -> None:
    assert error_of(net_d.ensure, present("good"), *items).msg.startswith(message)
    assert not net_d.path.exists()


def test_the_directory_must_be_absolute() -> None:
    assert error_of(ConflistDirectory, "etc/cni").msg == "conf_dir: 'etc/cni' is not an absolute path"


def test_content_and_mode_are_corrected(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    assert net_d.ensure(present("a", text("a", disableGC=True))) == {"10-a.conflist": "changed"}
    (net_d.path / "10-a.conflist").chmod(0o666)
    (change,) = net_d.plan(present("a", text("a", disableGC=True)), mode=0o600).changes
    assert (change.action, change.before_mode, change.after_mode) == ("changed", 0o666, 0o600)
    assert net_d.ensure(present("a", text("a", disableGC=True)), mode=0o600) == {"10-a.conflist": "changed"}
    assert net_d.modes() == {0o600}


def test_a_network_with_another_file_name_is_moved(net_d: NetD) -> None:
    net_d.ensure(present("a"), present("b"))
    moved = present("a", priority=20)
    assert net_d.ensure(moved, present("b")) == {
        "20-a.conflist": "created",
        "10-b.conflist": "unchanged",
        "10-a.conflist": "removed",
    }
    assert net_d.ensure(moved, present("b")) == {"20-a.conflist": "unchanged", "10-b.conflist": "unchanged"}


def test_two_networks_can_swap_file_names(net_d: NetD) -> None:
    net_d.ensure(present("a", filename="1.conflist"), present("b", filename="2.conflist"))
    changed = dict.fromkeys(("1.conflist", "2.conflist"), "changed")
    assert net_d.ensure(present("b", filename="1.conflist"), present("a", filename="2.conflist")) == changed
    assert net_d.files() == {"1.conflist": text("b"), "2.conflist": text("a")}


def test_a_file_of_another_network_than_the_one_named_is_not_removed(net_d: NetD) -> None:
    net_d.ensure(present("a"), present("b"))
    error = error_of(net_d.ensure, absent("a", "10-b.conflist"))
    assert (error.code, error.msg) == (
        Code.INVALID_CONFIG,
        f"item absent: {net_d.path}/10-b.conflist defines network 'b', not 'a'",
    )
    assert list(net_d.files()) == ["10-a.conflist", "10-b.conflist"]
    net_d.put("10-b.conflist", b"{")
    assert "defines network 'b', not 'a'" in error_of(net_d.ensure, absent("a", "10-b.conflist")).msg


def test_the_one_file_that_is_named_with_its_network_is_removed(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    net_d.put("20-a.conflist", text("a"))
    net_d.put("broken.conf", b"{")
    removed = dict.fromkeys(("20-a.conflist", "broken.conf"), "removed")
    assert net_d.ensure(absent("a", "20-a.conflist"), absent("c", "broken.conf")) == removed
    assert net_d.ensure(absent("a", "20-a.conflist"), absent("c", "broken.conf")) == {}
    assert list(net_d.files()) == ["10-a.conflist"]


def test_a_file_that_another_network_takes_over_is_kept(net_d: NetD) -> None:
    net_d.ensure(present("a", filename="1.conflist"))
    for action in ("changed", "unchanged"):
        assert net_d.ensure(absent("a", "1.conflist"), present("b", filename="1.conflist")) == {"1.conflist": action}


def test_absent_removes_every_file_of_a_network(net_d: NetD) -> None:
    net_d.ensure(present("a"), present("b"))
    net_d.put("20-a.conflist", text("a"))
    net_d.put("a.conf", single("a"))
    net_d.put("broken.conf", b"{")
    removed = net_d.ensure(absent("a"), absent("nobody"), absent(filename="none.conf"), absent(filename="broken.conf"))
    assert removed == dict.fromkeys(("10-a.conflist", "20-a.conflist", "a.conf", "broken.conf"), "removed")
    assert list(net_d.files()) == ["10-b.conflist"]


def test_absent_keeps_files_that_the_same_run_writes(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    assert net_d.ensure(absent("a"), present("a", priority=20)) == {
        "20-a.conflist": "created",
        "10-a.conflist": "removed",
    }


Spoil = t.Callable[[pathlib.Path], object]


@pytest.mark.parametrize(
    ("spoil", "remaining"),
    [
        (lambda path: None, []),
        (lambda path: path.chmod(0o600), []),
        (lambda path: path.write_bytes(text("a") + b"\n"), ["10-a.conflist"]),
        (lambda path: path.write_bytes(b""), ["10-a.conflist"]),
        (lambda path: path.unlink(), []),
    ],
    ids=["untouched", "its mode changed", "edited", "emptied", "gone"],
)
def test_purge_removes_own_unchanged_files(net_d: NetD, spoil: Spoil, remaining: list[str]) -> None:
    foreign = net_d.put("00-foreign.conflist", text("foreign"))
    same = net_d.put("10-same.conflist", text("same"))
    net_d.ensure(present("a"), present("same"))
    spoil(net_d.path / "10-a.conflist")
    net_d.ensure(purge=True)
    assert sorted(net_d.files()) == sorted([foreign.name, same.name, *remaining])
    assert net_d.ensure(purge=True) == {}


def test_a_foreign_file_of_the_same_content_stays_foreign_until_it_is_changed(net_d: NetD) -> None:
    net_d.put("10-a.conflist", text("a"))
    net_d.ensure(present("a"))
    net_d.ensure(purge=True)
    assert net_d.files() == {"10-a.conflist": text("a")}
    net_d.ensure(present("a", text("a", disableGC=True)))
    assert net_d.ensure(purge=True) == {"10-a.conflist": "removed"}


def test_a_changed_file_is_own_again_after_it_is_written(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    net_d.put("10-a.conflist", text("a", disableGC=True))
    assert net_d.ensure(present("a")) == {"10-a.conflist": "changed"}
    assert net_d.ensure(purge=True) == {"10-a.conflist": "removed"}
    assert net_d.hidden() == []


def test_a_moved_network_keeps_a_changed_file(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    net_d.put("10-a.conflist", text("a", disableGC=True))
    assert net_d.ensure(present("a", priority=20)) == {"20-a.conflist": "created"}
    assert sorted(net_d.files()) == ["10-a.conflist", "20-a.conflist"]


def test_a_directory_in_place_of_a_file_fails_only_its_own_network(net_d: NetD) -> None:
    (net_d.path / "10-a.conflist").mkdir(parents=True)
    os.symlink("nowhere", net_d.path / "10-b.conflist")
    assert error_of(net_d.ensure, present("a")).code == Code.IO_FAILURE
    assert net_d.ensure(present("b")) == {"10-b.conflist": "created"}
    assert not (net_d.path / "10-b.conflist").is_symlink()
