# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.tests.support.descriptors import refuse_file
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIBCNI_RECORD, encode

# "a-b" + "c" and "a" + "b-c" join to the same name.
ONE = Record(Attachment("a-b", "c", "eth0", "/run/netns/one"), b"{}", version="1.0.0")
OTHER = Record(Attachment("a", "b-c", "eth0", "/run/netns/other"), b"{}", version="1.0.0")


@pytest.fixture
def store(tmp_path: pathlib.Path) -> RecordStore:
    return RecordStore(str(tmp_path / "results"))


def names(store: RecordStore) -> list[str]:
    return sorted(os.listdir(store.directory))


def put(store: RecordStore, name: str, content: bytes) -> pathlib.Path:
    path = pathlib.Path(store.directory, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_record_has_the_path_that_libcni_uses(tmp_path: pathlib.Path) -> None:
    RecordStore.of_records(str(tmp_path)).write(ONE)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*eth0")] == [pathlib.Path("results/a-b-c-eth0")]


def test_intents_are_not_among_the_records(tmp_path: pathlib.Path) -> None:
    RecordStore.of_intents(str(tmp_path)).write(ONE)
    assert RecordStore.of_records(str(tmp_path)).read_all() == ([], {})


def test_record_files_are_private(store: RecordStore) -> None:
    store.write(ONE)
    path = pathlib.Path(store.directory)
    assert [entry.stat().st_mode & 0o777 for entry in (path, path / "a-b-c-eth0")] == [0o700, 0o600]


def test_a_record_is_written_read_replaced_and_removed(store: RecordStore) -> None:
    changed = Record(ONE.attachment, b"[]", version="1.1.0")
    store.write(ONE)
    store.write(changed)
    assert store.read(ONE.attachment.key) == changed
    store.remove(ONE.attachment.key)
    assert (store.read(ONE.attachment.key), store.read_all()) == (None, ([], {}))


def test_a_missing_directory_has_no_records(store: RecordStore) -> None:
    assert (store.read(ONE.attachment.key), store.read_all()) == (None, ([], {}))
    store.remove(ONE.attachment.key)


def test_two_records_with_one_file_name_are_kept_apart(store: RecordStore) -> None:
    store.write(ONE)
    store.write(OTHER)
    assert [store.read(record.attachment.key) for record in (ONE, OTHER)] == [ONE, OTHER]
    assert len(store.read_all()[0]) == 2


def test_a_record_that_cannot_be_read_for_now_is_not_replaced_by_another_of_its_name(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(ONE)
    with monkeypatch.context() as patch:
        refuse_file(patch, store.path_of(ONE.attachment.key))
        error = error_of(RecordStore(store.directory).write, OTHER)
    assert (error.code, store.read_all()) == (Code.IO_FAILURE, ([ONE], {}))


def test_two_records_with_one_file_name_are_kept_apart_when_written_at_the_same_time(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, meanwhile = durable.write, [OTHER]

    def write_interrupted(path: str, content: bytes, **keys: t.Any) -> None:
        if meanwhile:
            store.write(meanwhile.pop())
        write(path, content, **keys)

    monkeypatch.setattr(durable, "write", write_interrupted)
    store.write(ONE)
    assert [store.read(record.attachment.key) for record in (ONE, OTHER)] == [ONE, OTHER]


@pytest.mark.parametrize(("first", "second"), [(ONE, OTHER), (OTHER, ONE)])
def test_records_that_share_a_file_name_are_removed_one_by_one(
    store: RecordStore, first: Record, second: Record
) -> None:
    store.write(ONE)
    store.write(OTHER)
    store.remove(first.attachment.key)
    assert (store.read(first.attachment.key), store.read(second.attachment.key)) == (None, second)
    store.remove(second.attachment.key)
    assert names(store) == []


def test_a_record_that_shares_a_name_is_replaced_in_place(store: RecordStore) -> None:
    changed = Record(OTHER.attachment, b"[]", version="1.1.0")
    store.write(ONE)
    store.write(OTHER)
    store.remove(ONE.attachment.key)
    store.write(changed)
    assert store.read_all() == ([changed], {})


def test_records_that_share_a_file_name_are_not_confused(store: RecordStore) -> None:
    store.write(ONE)
    assert store.read(OTHER.attachment.key) is None
    store.remove(OTHER.attachment.key)
    assert store.read(ONE.attachment.key) == ONE


@pytest.mark.parametrize("lookalike", ["eth0~3.1", "eth0~1.1"])
def test_an_interface_name_that_looks_like_the_other_file_name_is_not_confused(
    store: RecordStore, lookalike: str
) -> None:
    plain, odd = (Record(Attachment("n", "c", name), b"{}", version="1.0.0") for name in ("eth0", lookalike))
    store.write(odd)
    store.write(plain)
    assert [store.read(record.attachment.key) for record in (plain, odd)] == [plain, odd]
    store.remove(plain.attachment.key)
    assert store.read_all() == ([odd], {})


def test_a_record_is_read_beside_a_broken_one_of_the_same_name(store: RecordStore) -> None:
    store.write(ONE)
    store.write(OTHER)
    put(store, "a-b-c-eth0", b"")
    assert store.read(OTHER.attachment.key) == OTHER


def test_a_record_is_removed_beside_a_broken_one_of_the_same_name(store: RecordStore) -> None:
    store.write(ONE)
    store.write(OTHER)
    put(store, "a-b-c-eth0", b"")
    store.remove(OTHER.attachment.key)
    assert names(store) == ["a-b-c-eth0"]


@pytest.mark.parametrize("content", [b"", encode(LIBCNI_RECORD)[:100], b"\0" * 512])
def test_a_broken_record_is_reported_and_can_be_replaced(store: RecordStore, content: bytes) -> None:
    path = put(store, "a-b-c-eth0", content)
    assert error_of(store.read, ONE.attachment.key).code == Code.DECODE_FAILURE
    assert list(store.read_all()[1]) == [str(path)]
    store.write(ONE)
    assert (store.read(ONE.attachment.key), store.read_all()) == (ONE, ([ONE], {}))


def test_a_broken_record_can_be_removed(store: RecordStore) -> None:
    put(store, "a-b-c-eth0", b"{")
    store.remove(ONE.attachment.key)
    assert names(store) == []


def test_one_broken_record_does_not_hide_the_others(store: RecordStore) -> None:
    broken = put(store, "x", b"{")
    store.write(ONE)
    assert store.read_all()[0] == [ONE]
    assert str(broken) in store.read_all()[1][str(broken)].msg


def test_records_of_libcni_are_read(store: RecordStore) -> None:
    put(store, "dbnet-blue-eth0", encode(LIBCNI_RECORD))
    record = store.read(("dbnet", "blue", "eth0"))
    assert record is not None
    assert not record.is_own


def test_a_temporary_file_is_not_a_record(store: RecordStore) -> None:
    put(store, f"{durable.TEMPORARY_PREFIX}x{durable.TEMPORARY_SUFFIX}", b"")
    assert store.read_all() == ([], {})


def test_a_directory_among_the_records_is_reported(store: RecordStore) -> None:
    pathlib.Path(store.directory, "x").mkdir(parents=True)
    assert [error.code for error in store.read_all()[1].values()] == [Code.IO_FAILURE]


def test_a_record_is_written_only_where_it_can_be_read_again(store: RecordStore) -> None:
    largest = ONE._replace(config=b" " * 4 * 1024 * 1024)
    store.write(largest)
    assert store.read(ONE.attachment.key) == largest
    error = error_of(store.write, ONE._replace(config=b" " * 7 * 1024 * 1024))
    assert (error.code, "too many to be read back" in error.msg) == (Code.INVALID_CONFIG, True)
    assert store.read(ONE.attachment.key) == largest


def test_an_endless_record_is_reported(store: RecordStore) -> None:
    put(store, "a-b-c-eth0", json.dumps("x" * 9 * 1024 * 1024).encode())
    assert error_of(store.read, ONE.attachment.key).code == Code.IO_FAILURE


@pytest.mark.parametrize(("length", "fits"), [(236, True), (237, False)])
def test_identifiers_that_are_too_long_in_total_are_refused(store: RecordStore, length: int, fits: bool) -> None:
    key = ("n", "c" * length, "interface0")
    if not fits:
        assert error_of(store.check_key, key).code == Code.INVALID_ENVIRONMENT
        return
    store.check_key(key)
    store.write(Record(Attachment(*key), b"{}"))
    assert store.read(key) is not None
    store.remove(key)


def test_a_directory_that_is_a_file_is_an_error(store: RecordStore) -> None:
    pathlib.Path(store.directory).touch()
    assert error_of(store.read_all).code == Code.IO_FAILURE
    assert error_of(store.write, ONE).code == Code.IO_FAILURE


def test_records_of_a_network_include_unreadable_files_that_may_belong_to_it(store: RecordStore) -> None:
    store.write(ONE)
    store.write(OTHER)
    broken = put(store, "a-b-d-eth0", b"")
    put(store, "x-b-d-eth0", b"")
    assert store.read_network("a")[0] == [OTHER]
    assert store.read_network("a-b")[0] == [ONE]
    assert list(store.read_network("a")[1]) == list(store.read_network("a-b")[1]) == [str(broken)]
    assert store.read_network("b") == ([], {})
    assert store.path_of(ONE.attachment.key) != store.path_of(OTHER.attachment.key)
