# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import errno
import io
import os
import pickle

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error, io_error

SPECIFICATION = {
    1: Code.INCOMPATIBLE_VERSION,
    2: Code.UNSUPPORTED_FIELD,
    3: Code.UNKNOWN_CONTAINER,
    4: Code.INVALID_ENVIRONMENT,
    5: Code.IO_FAILURE,
    6: Code.DECODE_FAILURE,
    7: Code.INVALID_CONFIG,
    11: Code.TRY_AGAIN,
    50: Code.NOT_AVAILABLE,
    51: Code.LIMITED_CONNECTIVITY,
}


@pytest.mark.parametrize(("number", "code"), SPECIFICATION.items())
def test_codes_equal_those_of_the_specification(number: int, code: Code) -> None:
    assert code == number


def test_no_other_code_below_100_is_defined() -> None:
    assert {int(code) for code in Code if 0 < code < 100} == set(SPECIFICATION)


def test_a_plugins_own_code_is_kept() -> None:
    assert CniError(117, "no").code == 117


def test_the_text_of_an_error_has_message_and_details() -> None:
    assert str(CniError(7, "no subnet", "give one")) == "no subnet; give one"


def test_text_without_details_is_the_message() -> None:
    assert str(CniError(7, "no subnet")) == "no subnet"


def test_dictionary_has_the_keys_of_an_error_result() -> None:
    assert CniError(Code.TRY_AGAIN, "busy", "later").as_dict() == {
        "code": 11,
        "msg": "busy",
        "details": "later",
    }


def test_context_is_prepended_to_the_message_of_an_error() -> None:
    outer = CniError(Code.TRY_AGAIN, "busy", "later").within("GC of network n")
    assert outer.as_dict() == {"code": 11, "msg": "GC of network n: busy", "details": "later"}


def test_a_place_is_prepended_once() -> None:
    error = CniError(Code.INVALID_CONFIG, "/mtu: 7 is out of range", "expected: 68").with_place("a.conflist")
    assert str(error) == "a.conflist: /mtu: 7 is out of range; expected: 68"
    assert error.with_place("a.conflist") is error


def test_an_error_can_be_pickled() -> None:
    error = CniError(7, "no subnet", "give one")
    assert pickle.loads(pickle.dumps(error)).as_dict() == error.as_dict()


def test_an_error_of_the_system_names_the_file_and_the_reason() -> None:
    error = io_error("write", "/etc/cni/net.d/x", OSError(errno.ENOSPC, "No space left on device"))
    assert (error.code, error.msg) == (
        Code.IO_FAILURE,
        "cannot write /etc/cni/net.d/x: No space left on device",
    )


def test_an_error_of_the_system_without_a_number_keeps_its_text() -> None:
    assert io_error("read", "/x", OSError("odd")).msg == "cannot read /x: odd"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("user", [0, 1000])
def test_a_permission_error_without_root_suggests_become(
    monkeypatch: pytest.MonkeyPatch, number: int, user: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    error = io_error("open", "/x", OSError(number, os.strerror(number)))
    assert ("become: true" in error.details) is (user != 0)
    assert not io_error("open", "/x", OSError(errno.ENOENT, "No such file or directory")).details


def _as_error(raised: Exception) -> CniError:
    try:
        raise raised
    except Exception as exc:
        return as_error(exc)


@pytest.mark.parametrize(
    ("names", "where"),
    [
        (("/x",), "/x"),
        ((b"/x\xff\n", None, "/y"), "/x\\udcff\\n or /y"),
        ((3,), "a file or socket"),
        ((), "a file or socket"),
    ],
)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES])
def test_an_unexpected_error_of_the_system_is_a_failure_of_input_or_output(
    names: tuple[str | bytes | int | None, ...], where: str, number: int
) -> None:
    error = _as_error(OSError(number, os.strerror(number), *names))
    assert (error.code, error.msg) == (Code.IO_FAILURE, f"cannot access {where}: {os.strerror(number)}")
    assert error.details.startswith("in _as_error, test_error.py:")


@pytest.mark.parametrize("exc", [io.UnsupportedOperation("not writable"), OSError("odd"), ValueError("odd")])
def test_any_other_unexpected_error_is_a_bug(exc: Exception) -> None:
    error = _as_error(exc)
    assert (error.code, error.msg) == (Code.INTERNAL, f"unexpected {type(exc).__name__}: {exc}")
    assert error.details.endswith("; please report it to cni.node")
