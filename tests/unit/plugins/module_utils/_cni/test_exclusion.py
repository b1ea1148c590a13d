# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import Exclusion
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import enter_in_thread, run_holder

HOLDER = """
import sys
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import Exclusion
exclusion = Exclusion(sys.argv[1], 60)
what = sys.argv[2:]
with exclusion.lock_network(what[0]) if len(what) == 1 else exclusion.lock_attachment(Attachment(*what, "eth0")):
    print("held", flush=True)
    sys.stdin.read()
"""

# A network alone, or a network and a container.
What = tuple[str, ...]
BLUE, RED = ("net", "blue"), ("net", "red")
GOES_TOGETHER = (
    (BLUE, RED),
    (BLUE, ("other", "red")),
    (BLUE, ("other",)),
    (("net",), ("other",)),
    (("net",), ("other", "blue")),
)
EXCLUDES = ((BLUE, BLUE), (BLUE, ("other", "blue")), (BLUE, ("net",)), (("net",), BLUE), (("net",), ("net",)))


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "locks"


def take_lock(exclusion: Exclusion, what: What) -> t.ContextManager[None]:
    network, *container = what
    return (
        exclusion.lock_attachment(Attachment(network, container[0], "eth0"))
        if container
        else exclusion.lock_network(network)
    )


def take(exclusion: Exclusion, what: What) -> None:
    with take_lock(exclusion, what):
        pass


def hold_elsewhere(exclusion: Exclusion, directory: pathlib.Path, what: What, by: str) -> t.ContextManager[None]:
    """Hold a lock in another process or in another thread."""
    return run_holder(HOLDER, directory, *what) if by == "process" else enter_in_thread(take_lock(exclusion, what))


@pytest.mark.parametrize("by", ["process", "thread"])
@pytest.mark.parametrize(("held", "requested"), GOES_TOGETHER)
def test_operations_on_different_containers_and_networks_do_not_wait(
    directory: pathlib.Path, by: str, held: What, requested: What
) -> None:
    exclusion = Exclusion(str(directory), 0)
    with hold_elsewhere(exclusion, directory, held, by):
        take(exclusion, requested)


@pytest.mark.parametrize("by", ["process", "thread"])
@pytest.mark.parametrize(("held", "requested"), EXCLUDES)
def test_operations_on_one_container_and_gc_of_its_network_exclude_each_other(
    directory: pathlib.Path, by: str, held: What, requested: What
) -> None:
    exclusion = Exclusion(str(directory), 0)
    with hold_elsewhere(exclusion, directory, held, by):
        assert error_of(take, exclusion, requested).code == Code.TRY_AGAIN
    take(exclusion, requested)


def test_the_error_names_the_locked_object(directory: pathlib.Path) -> None:
    exclusion = Exclusion(str(directory), 0)
    with hold_elsewhere(exclusion, directory, BLUE, "thread"):
        assert "container blue is in use" in error_of(take, exclusion, BLUE).msg
        assert "network net is in use" in error_of(take, exclusion, ("net",)).msg


@pytest.mark.parametrize(("outer", "inner"), [(BLUE, BLUE), (("net",), BLUE), (("net",), ("net",))])
def test_a_thread_may_take_a_lock_again_that_it_holds(directory: pathlib.Path, outer: What, inner: What) -> None:
    exclusion = Exclusion(str(directory), 0)
    with take_lock(exclusion, outer):
        take(exclusion, inner)
        with hold_elsewhere(Exclusion(str(directory), 0), directory, ("third",), "thread"):
            assert error_of(take, Exclusion(str(directory), 0), outer).code == Code.TRY_AGAIN
    take(Exclusion(str(directory), 0), outer)


def test_gc_during_an_operation_of_the_same_thread_on_its_network_is_an_error(directory: pathlib.Path) -> None:
    exclusion = Exclusion(str(directory), 0)
    with take_lock(exclusion, BLUE):
        assert error_of(take, exclusion, ("net",)).code == Code.INTERNAL


def test_an_exception_releases_all_locks(directory: pathlib.Path) -> None:
    exclusion = Exclusion(str(directory), 0)
    with pytest.raises(ZeroDivisionError), take_lock(exclusion, BLUE):
        raise ZeroDivisionError
    take(Exclusion(str(directory), 0), BLUE)
    take(exclusion, ("net",))


def test_the_container_is_unlocked_if_its_network_cannot_be_locked(directory: pathlib.Path) -> None:
    exclusion = Exclusion(str(directory), 0)
    with hold_elsewhere(exclusion, directory, ("net",), "process"):
        error_of(take, exclusion, BLUE)
        take(exclusion, ("other", "blue"))


def test_names_of_a_network_and_a_container_are_not_confused(directory: pathlib.Path) -> None:
    exclusion = Exclusion(str(directory), 0)
    with hold_elsewhere(exclusion, directory, ("blue",), "thread"):
        take(exclusion, BLUE)
