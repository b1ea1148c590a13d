# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parameters of an attachment, and the identity of its network namespace (section 3)."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, refuse_without_room
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import (
    check_args,
    check_container_id,
    check_ifname,
    check_netns,
    check_network_name,
)

Key = tuple[str, str, str]

_PROC = "/proc/"
_NONE: t.Mapping[str, t.Any] = {}


_SLASHES = 2  # in the name of an attachment


class _Parameters(t.NamedTuple):
    network: str
    container_id: str
    ifname: str
    netns: str = ""
    args: t.Mapping[str, str] = _NONE
    capability_args: t.Mapping[str, t.Any] = _NONE
    config_args: t.Mapping[str, t.Any] = _NONE


class Attachment(_Parameters):
    """A network's name and the parameters of one attachment to it (section 3, "Attachment Parameters").

    Attributes:
        netns: Path of the network namespace; may be empty for DEL.
        args: CNI_ARGS, in order.
        capability_args: Values for the capabilities that plugins declare; any JSON.
        config_args: Values for ``args.cni`` of every plugin's configuration ("args in network config"); any JSON.
    """

    @property
    def key(self) -> Key:
        """The key that identifies the attachment on a node."""
        return self.network, self.container_id, self.ifname

    def __str__(self) -> str:
        return f"attachment of {self.container_id} ({self.ifname}) to network {self.network}"

    def require_valid(self) -> Attachment:
        """Return the attachment if all identifiers and arguments are valid.

        Raises:
            CniError: ``INVALID_CONFIG`` for the network's name, ``INVALID_ENVIRONMENT`` for the others.
        """
        return self._validated

    @functools.cached_property
    def _validated(self) -> Attachment:
        check_args(self.require_identity().args)
        return self

    def require_identity(self) -> Attachment:
        """Return the attachment if its identifiers are valid, without looking at the arguments; errors as `require_valid`."""
        return self._identified

    @functools.cached_property
    def _identified(self) -> Attachment:
        check_network_name(self.network)
        check_container_id(self.container_id)
        check_ifname(self.ifname)
        check_netns(self.netns)
        return self

    def with_netns(self, netns: str) -> Attachment:
        return self._replace(netns=netns)


def parse_name(name: str, where: str) -> Attachment:
    """Return the attachment with a name such as NETWORK/CONTAINER_ID/IFNAME.

    Args:
        where: The option, for errors.

    Raises:
        CniError: ``INVALID_CONFIG``, or as `Attachment.require_valid`.
    """
    if name.count("/") != _SLASHES:
        what = f"{where}: {name!r} is not the name of an attachment"
        raise CniError(Code.INVALID_CONFIG, what, "expected: NETWORK/CONTAINER_ID/IFNAME")
    network, container_id, ifname = name.split("/")
    return Attachment(network, container_id, ifname).require_identity()


def netns_identity(path: str) -> str:
    """Return a text that identifies the namespace at a path, or an empty string if there is none.

    The kernel reuses inode numbers of namespaces at once. The boot and the time at which the inode was created are
    therefore part of the identity. For a path that leads to /proc, that time is only the time of the look-up, so the
    identity omits it.

    Raises:
        CniError: ``IO_FAILURE``: the system has no room to look at it.
    """
    try:
        status = os.stat(path)
    except OSError as exc:
        refuse_without_room("examine", path, exc)
        return ""
    # A mounted namespace is not a link, and islink() is cheap.
    is_under_proc = os.path.islink(path) and os.path.realpath(path).startswith(_PROC)
    since = "" if is_under_proc else str(status.st_mtime_ns)
    return f"{_boot_id()}:{status.st_dev}:{status.st_ino}:{since}"


def is_of_this_boot(identity: str) -> bool:
    """Return whether a `netns_identity` belongs to a namespace created since the last boot."""
    return identity.partition(":")[0] == _boot_id()


@functools.lru_cache(maxsize=1)
def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()
