# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A full or read-only disk: an attachment that cannot be recorded is undone, and no file is lost."""

from __future__ import annotations

import contextlib
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

IO_FAILURE = 5
UNDONE = "the DEL that followed succeeded; nothing is left behind"


@contextlib.contextmanager
def _full(path: pathlib.Path) -> t.Iterator[pathlib.Path]:
    with tmpfs(path, "size=4k"):
        (path / "filler").write_bytes(bytes(4096))
        yield path


@contextlib.contextmanager
def _without_inodes(path: pathlib.Path) -> t.Iterator[pathlib.Path]:
    with tmpfs(path, "nr_inodes=1"):
        yield path


Disk = t.Callable[[pathlib.Path], t.ContextManager[pathlib.Path]]
DISKS: dict[str, tuple[Disk, str]] = {
    "full": (_full, "No space left on device"),
    "out of inodes": (_without_inodes, "No space left on device"),
    "read-only": (lambda path: tmpfs(path, "ro"), "Read-only file system"),
}
every_disk = pytest.mark.parametrize(("disk", "problem"), DISKS.values(), ids=DISKS)


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(reference_networks.full())
    made = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    node.attach_and_detach(made)
    return made


@every_disk
def test_no_plugin_runs_if_the_intent_cannot_be_written(
    node: EngineNode, item: JsonObject, disk: Disk, problem: str
) -> None:
    cache_dir = pathlib.Path("/run/cache")
    cache_dir.mkdir()
    with disk(cache_dir):
        error = node.refusal(item, "cannot ", str(cache_dir), problem, cache_dir=str(cache_dir))
        assert UNDONE not in error["text"]
        assert error["code"] == IO_FAILURE
    assert node.attach(item, cache_dir=str(cache_dir))[0]["action"] == "added"


@every_disk
def test_an_attachment_that_cannot_be_recorded_is_undone(
    node: EngineNode, item: JsonObject, disk: Disk, problem: str
) -> None:
    with disk(node.record_of(item).parent):
        error = node.refusal(item, f"cannot write {node.record_of(item)}: {problem}", UNDONE)
        assert error["code"] == IO_FAILURE
    assert node.attach(item)[0]["action"] == "added"


@every_disk
def test_a_delete_either_completes_or_changes_nothing(
    node: EngineNode, item: JsonObject, disk: Disk, problem: str
) -> None:
    """Refuse to begin if the intent cannot be written."""
    before = node.state()
    node.attach(item)
    intents = node.cache_dir / "cni.node" / "intents"
    with disk(intents):
        node.refusal({**item, "state": "absent"}, f"cannot write {intents}/", problem)
    assert node.attach(item)[0]["action"] == "checked"
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state()) == ""


@every_disk
def test_an_attachment_is_checked_on_any_disk(node: EngineNode, item: JsonObject, disk: Disk, problem: str) -> None:
    """Check on a read-only disk: CHECK writes only a missing lock file."""
    node.attach(item)
    with disk(node.cache_dir / "cni.node" / "intents"):
        assert node.attach(item)[0]["action"] == "checked"


def test_conflists_keeps_the_old_file_if_the_new_one_does_not_fit(node: EngineNode) -> None:
    big = reference_networks.network({**reference_networks.bridge(), "comment": "x" * 5000})
    old = {"config": reference_networks.network(reference_networks.bridge())}
    with tmpfs(node.conf_dir, "size=12k"):
        node.run("conflists", conflists=[old]).succeeded()
        before = node.state()
        done = node.run("conflists", conflists=[{"config": big}])
        done.require_failure("cannot write /etc/cni/net.d/10-net.conflist: No space left on device")
        assert before.without("owned").difference(node.state().without("owned")) == ""
        assert node.run("conflists", conflists=[old]).succeeded().result["changed"] is False


@every_disk
def test_conflists_names_the_file_that_it_cannot_write(node: EngineNode, disk: Disk, problem: str) -> None:
    with disk(node.conf_dir):
        before = node.state()
        done = node.run("conflists", conflists=[{"config": reference_networks.full()}])
        done.require_failure("cannot ", " /etc/cni/net.d/", problem)
        assert before.difference(node.state()) == ""
