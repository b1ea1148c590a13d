# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The link of an ADD that fails is removed, whatever its name is by then. Real links are in tests/integration."""

from __future__ import annotations

import contextlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer, link_change, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.single_link import Macvlan
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request

MASTER = Link(2, "lan0", "", 1500, True, 0, 0, "")


class Container:
    """A container whose links are created and removed here, and cannot be renamed."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}
        self.error: BaseException = KeyboardInterrupt()

    def create_link(self, name: str, kind: str, *dummy: t.Any, **attributes: t.Any) -> None:
        self.links[name] = MASTER._replace(ifindex=7, name=name, kind=kind)

    def rename(self, ifindex: int, name: str) -> None:
        raise self.error

    def remove(self, ifindex: int, name: str, path: str) -> None:
        del self.links[name]

    def find(self, name: str, path: str = "") -> Link | None:
        return {MASTER.name: MASTER, **self.links}.get(name)


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> Container:
    made = Container()
    monkeypatch.setattr(sandbox, "open_sandbox", lambda attachment: contextlib.nullcontext(5))
    monkeypatch.setattr(sandbox, "run_inside", lambda attachment, operation: operation(made))
    monkeypatch.setattr(kernel_writer, "connect", lambda: contextlib.nullcontext(made))
    monkeypatch.setattr(netns, "is_foreign", lambda path, allow_own: True)
    monkeypatch.setattr(rtnetlink, "link", made.find)
    monkeypatch.setattr(link_change, "remove", made.remove)
    return made


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CniError(Code.IO_FAILURE, "no")])
def test_a_link_that_could_not_be_renamed_is_removed(container: Container, error: BaseException) -> None:
    container.error = error
    container.links["eth0"] = MASTER._replace(ifindex=3, name="eth0")
    attachment = Attachment("net", "blue", "eth0", "/run/netns/blue")
    with pytest.raises(type(error)):
        Macvlan().add(read_request("ADD", attachment, type="macvlan", master=MASTER.name))
    assert list(container.links) == ["eth0"]


def test_a_link_that_a_killed_add_has_not_renamed_is_removed_by_del(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    attachment = Attachment("net", "blue", "eth0", "/run/netns/blue")
    with monkeypatch.context() as patch:
        patch.setattr(link_change, "remove", lambda *dummy: None)  # a killed process removes nothing
        with pytest.raises(KeyboardInterrupt):
            Macvlan().add(read_request("ADD", attachment, type="macvlan", master=MASTER.name))
    container.links.update({name: MASTER._replace(ifindex=3, name=name) for name in ("eth1", "cni0")})
    monkeypatch.setattr(sandbox, "remove_own_link", lambda *dummy: None)  # there is none of its name
    Macvlan().delete(read_request("DEL", attachment, type="macvlan", master=MASTER.name))
    assert list(container.links) == ["eth1", "cni0"]
