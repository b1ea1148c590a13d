# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A damaged file of this collection is an error that names it, or is ignored if it is a cache; nothing is lost."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.conflists.ownership import Ownership
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.info.plugin_answers import PluginAnswers
from ansible_collections.cni.node.plugins.module_utils._node.kernel.saved_settings import SavedValue, SavedValues
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import Description
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import Manifest
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.plugins.test_store import FULL

NETWORK = b'{"cniVersion":"1.0.0","name":"net","plugins":[{"type":"ptp"}]}'
REPAIR = {"network": "net", "container_id": "blue", "ifname": "eth0", "lost": ["rule"], "time": "now"}
HELD = {"network": "net", "container_id": "blue", "ifname": "eth0", "resource": "rule"}
ELF = b"\x7fELF"


class Kind(t.NamedTuple):
    """A kind of file: how it is written below a directory, and how it is read. Neither shows where the file is."""

    write: t.Callable[[pathlib.Path], None]
    read: t.Callable[[pathlib.Path], object]


def _write_list(top: pathlib.Path) -> None:
    Ownership.load(str(top)).settle([FileChange("net", str(top / "net.conf"), "created", None, NETWORK)])


def _write_settings(top: pathlib.Path) -> None:
    SavedValues(str(top)).save({"net.ipv4.ip_forward": SavedValue("0", "1", "1")})


def _write_record(top: pathlib.Path) -> None:
    attachment = Attachment("net", "blue", "eth0", "/run/netns/blue", {"A": "1"}, {"ips": ["10.1.0.2/16"]}, {"a": [1]})
    restoration = Restoration(("/opt/cni/bin",), 60.0, ("10.1.0.2/16",), True, "always")
    record = Record(attachment, NETWORK, None, "1.0.0", "id", "ADD", restoration, ("ptp@1.9.1",), "failed")
    RecordStore.of_records(str(top)).write(record)


def _read_record(top: pathlib.Path) -> object:
    (records, broken) = RecordStore.of_records(str(top)).read_all()
    if broken:
        raise next(iter(broken.values()))
    return records


def _write_repairs(top: pathlib.Path) -> None:
    state = WatchState(str(top / "state.json"))
    state.note_repair(REPAIR, is_own=True)
    state.held = [HELD]
    state.write()


def _read_repairs(top: pathlib.Path) -> object:
    state = WatchState(str(top / "state.json"))
    return state.counts, state.recent, state.held


def _answers(top: pathlib.Path) -> PluginAnswers:
    plugin = top.with_name(f"{top.name}-plugin")
    plugin.write_bytes(ELF) if not plugin.exists() else None
    return PluginAnswers(str(top / "answers.json"))


def _ask(top: pathlib.Path, answers: PluginAnswers) -> Description:
    return answers.ask(str(top.with_name(f"{top.name}-plugin")), lambda: Description("1.9.1", ("1.0.0",)))


def _write_answers(top: pathlib.Path) -> None:
    answers = _answers(top)
    _ask(top, answers)
    answers.save()


KEPT = {
    "manifest": Kind(lambda top: FULL.save(str(top)), lambda top: Manifest.load(str(top))),
    "own configurations": Kind(_write_list, lambda top: Ownership.load(str(top)).networks_by_file()),
    "kernel settings": Kind(_write_settings, lambda top: SavedValues(str(top)).settings),
    "record": Kind(_write_record, _read_record),
}
CACHES = {
    "repairs": Kind(_write_repairs, _read_repairs),
    "answers": Kind(_write_answers, lambda top: _ask(top, _answers(top))),
}


def _file_of(top: pathlib.Path) -> pathlib.Path:
    (path,) = (path for path in top.rglob("*") if not path.is_dir() or path.name in ("state.json", "manifest.json"))
    return path


@pytest.fixture
def top(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


def _truncate(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _empty(path: pathlib.Path) -> None:
    path.write_bytes(b"")


def _make_undecodable(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"', b'"\xff', 1))


def _fill_with_zeros(path: pathlib.Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _nest(path: pathlib.Path) -> None:
    path.write_bytes(b"[" * 100_000)


def _make_large(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes().rstrip() + b" " * (1024 * 1024 * 20))


def _make_directory(path: pathlib.Path) -> None:
    path.unlink()
    path.mkdir()


def _make_pipe(path: pathlib.Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _make_dangling_link(path: pathlib.Path) -> None:
    path.unlink()
    path.symlink_to("/nonexistent/file")


DAMAGES = [
    _truncate,
    _empty,
    _make_undecodable,
    _fill_with_zeros,
    _nest,
    _make_large,
    _make_directory,
    _make_pipe,
    _make_dangling_link,
]


def _state_of(path: pathlib.Path) -> object:
    status = path.lstat()
    return status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KEPT.values(), ids=KEPT)
def test_a_damaged_file_is_an_error_that_names_it(
    top: pathlib.Path, kind: Kind, damage: t.Callable[[pathlib.Path], None]
) -> None:
    kind.write(top)
    path = _file_of(top)
    damage(path)
    before = _state_of(path)
    with pytest.raises(CniError) as caught:
        kind.read(top)
    assert str(path) in caught.value.msg
    assert caught.value.code in (Code.DECODE_FAILURE, Code.IO_FAILURE)
    assert _state_of(path) == before


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", CACHES.values(), ids=CACHES)
def test_a_damaged_cache_is_ignored_and_written_again(
    top: pathlib.Path, kind: Kind, damage: t.Callable[[pathlib.Path], None]
) -> None:
    kind.write(top)
    expected = kind.read(top)
    path = next(top.rglob("*.json"))
    damage(path)
    kind.read(top)
    if path.is_dir():  # nothing can be written there
        return
    kind.write(top)
    assert durable.read(str(path)) is not None
    assert not path.is_symlink()
    assert path.is_file()
    assert kind.read(top) == expected


@pytest.mark.parametrize("name", ["manifest", "own configurations", "kernel settings"])
def test_the_error_of_a_damaged_file_says_what_to_do(top: pathlib.Path, name: str) -> None:
    KEPT[name].write(top)
    path = _file_of(top)
    _truncate(path)
    with pytest.raises(CniError) as caught:
        KEPT[name].read(top)
    assert caught.value.msg.startswith(f"{path} is damaged (the ")
    assert "it is not valid JSON: line 1, column " in caught.value.msg
    assert "remove " in caught.value.details


def test_a_link_to_another_file_is_not_followed(top: pathlib.Path) -> None:
    _write_settings(top)
    path = _file_of(top)
    path.rename(top / "elsewhere")
    path.symlink_to(top / "elsewhere")
    with pytest.raises(CniError, match="it is a symbolic link; expected: a regular file"):
        SavedValues(str(top))
    assert json.loads((top / "elsewhere").read_text())["settings"]


# One of each type, and of each nesting.
OTHER_VALUES: tuple[t.Any, ...] = (None, True, 5, 0.5, "x", [], {}, [[]], [5], {"x": []}, [{}])
# Values that only decide whether a file is read again, or that belong to plugins; and null, which other runtimes write for nothing.
ANY_VALUE = ("/seen/", "/cni.node/configArgs/", "/capabilityArgs/", "/cni.node/restore/timeout")
MAY_BE_NULL = ("/netns", "/cniArgs", "/capabilityArgs")


def _mutations(value: t.Any, place: str = "") -> t.Iterator[tuple[str, t.Any, t.Any]]:
    """Yield the place of each value in a document, another value, and the document that has this value there."""
    for other in OTHER_VALUES:
        if type(other) is not type(value):
            yield place, other, other
    if isinstance(value, (dict, list)):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            for where, other, mutated in _mutations(inner, f"{place}/{key}"):
                changed: t.Any = dict(value) if isinstance(value, dict) else list(value)
                changed[key] = mutated
                yield where, other, changed


def _error_of_read(kind: Kind, top: pathlib.Path) -> str:
    try:
        kind.read(top)
    except CniError as exc:
        return exc.msg
    return ""


@pytest.mark.parametrize("kind", KEPT.values(), ids=KEPT)
def test_a_value_of_another_type_is_an_error_that_names_the_file(top: pathlib.Path, kind: Kind) -> None:
    kind.write(top)
    path = _file_of(top)
    for place, other, document in _mutations(json.loads(path.read_bytes())):
        path.write_bytes(json.dumps(document).encode())
        error = _error_of_read(kind, top)
        is_allowed = place.startswith(ANY_VALUE) or (other is None and place in MAY_BE_NULL)
        assert error.startswith(str(path)) or (is_allowed and not error), (place, other)


@pytest.mark.parametrize("kind", CACHES.values(), ids=CACHES)
def test_a_cache_with_a_value_of_another_type_is_written_again(top: pathlib.Path, kind: Kind) -> None:
    kind.write(top)
    path = next(top.rglob("*.json"))
    for dummy, dummy_value, document in _mutations(json.loads(path.read_bytes())):
        path.write_bytes(json.dumps(document).encode())
        kind.read(top)
        kind.write(top)
        assert json.loads(path.read_bytes())["format"] == 1
