# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment

# Parts of patterns.
_DIGEST: t.Final = "[0-9a-f]{64}"
_UUID: t.Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED: t.Final = r"(?:/var)?/run/netns/"
_OF_PROCESS: t.Final = r"/proc/\d+/ns/net"


class Setting(t.NamedTuple):
    """A directory of a runtime that its configuration may set.

    Attributes:
        defaults: Patterns of the usual paths.
        files: Patterns of the configuration files.
        keys: The names of the setting in these files.
    """

    defaults: tuple[str, ...]
    files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class Listings(t.NamedTuple):
    """Where a runtime lists its containers. A path begins with the name of a setting, and has patterns.

    Attributes:
        required: The lists are complete only if one of these exists; an empty list need not exist.
        markers: Exists where the runtime has run; by default, `required`.
        entries: Directories with one entry for each container. ``{id}`` and ``{namespace}`` come from the container ID.
        json: Files with a JSON list of objects with the key ``id``.
        sqlite: Databases with the table ``ContainerConfig`` and its column ``ID``.
        unreadable: Databases in a format that needs ``command``.
        command: A program that lists the IDs, one on each line.
    """

    required: tuple[str, ...]
    markers: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    sqlite: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


class ContainerRuntime(t.NamedTuple):
    """A container runtime that uses libcni: what its records look like, and where it lists its containers.

    Attributes:
        container_id: The container IDs that it gives to plugins.
        netns: The paths of its network namespaces.
        id_arg: The argument in which it repeats the container ID, or an empty string.
        networks: Networks that no other runtime has, with the ``dataDir`` that host-local has in them; empty for its default.
        units, programs: Its service, by systemd unit and by name of the process. Both are empty for a runtime without a
            service, which reads its lists at every start of its program.
        settings: By the names that the paths in `listings` begin with.
    """

    name: str
    container_id: re.Pattern[str]
    netns: re.Pattern[str]
    settings: t.Mapping[str, Setting]
    listings: Listings
    id_arg: str = ""
    networks: t.Mapping[str, str] = {}
    units: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    def may_own(self, attachment: Attachment) -> bool:
        """Return whether everything that is recorded of an attachment is as this runtime writes it."""
        if not self.container_id.fullmatch(attachment.container_id):
            return False
        if attachment.netns and not self.netns.fullmatch(attachment.netns):
            return False
        return not self.id_arg or attachment.args.get(self.id_arg) == attachment.container_id

    def own_id(self, attachment: Attachment) -> str:
        """Return the ID that the runtime itself uses for a container."""
        match = self.container_id.fullmatch(attachment.container_id)
        return match["id"] if match else attachment.container_id


_CRI_ID: t.Final = "K8S_POD_INFRA_CONTAINER_ID"
_CONTAINERD_STATE: t.Final = Setting(
    ("/run/containerd", "/run/k3s/containerd", "/var/snap/microk8s/common/run/containerd"),
    ("/etc/containerd/*.toml", "/etc/containerd/conf.d/*.toml"),
    ("state",),
)
_CONTAINERD_UNITS: t.Final = (
    "containerd.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "snap.microk8s.daemon-containerd.service",
)
# containers/storage 1.60, containers.go and store.go: CRI-O and Podman name a container there as they name it to plugins.
_STORAGE: t.Final = {
    "root": Setting(
        ("/var/lib/containers/storage",),
        ("/etc/containers/storage.conf", "/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*"),
        ("graphroot", "root"),
    ),
    "run": Setting(
        ("/run/containers/storage",),
        ("/etc/containers/storage.conf", "/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*"),
        ("runroot",),
    ),
}
_STORAGE_LISTS: t.Final = (
    "root/*-containers/containers.json",
    "root/*-containers/volatile-containers.json",
    "run/*-containers/volatile-containers.json",
)

# In alphabetical order; `owners` of the module gc takes the names.
RUNTIMES: t.Final = (
    # containerd 2.4: internal/cri/server/helpers.go and sandbox_run.go for the directories and arguments of sandboxes,
    # plugins/cri/runtime/plugin.go for the parent, which is as in 1.x, pkg/netns/netns_linux.go, core/runtime/v2/task_manager.go.
    # At its start it makes the parent in the state directory. A sandbox has its directories only after ADD.
    ContainerRuntime(
        name="containerd",
        container_id=re.compile(f"(?P<id>{_DIGEST})"),
        netns=re.compile(f"(?:{_NAMED}|(?:/var)?/run/containerd/io.containerd.grpc.v1.cri/netns/)cni-{_UUID}"),
        id_arg=_CRI_ID,
        units=_CONTAINERD_UNITS,
        programs=("containerd",),
        settings={
            "root": Setting(
                (
                    "/var/lib/containerd",
                    "/var/lib/rancher/*/agent/containerd",
                    "/var/snap/microk8s/common/var/lib/containerd",
                ),
                _CONTAINERD_STATE.files,
                ("root",),
            ),
            "state": _CONTAINERD_STATE,
        },
        listings=Listings(
            required=("root/io.containerd.grpc.v1.cri", "state/io.containerd.grpc.v1.cri"),
            entries=(
                "root/io.containerd.grpc.v1.cri/sandboxes/{id}",
                "root/io.containerd.grpc.v1.cri/containers/{id}",
                "state/io.containerd.grpc.v1.cri/sandboxes/{id}",
                "state/io.containerd.runtime.v*/*/{id}",
                "state/io.containerd.sandbox.controller.v1.shim/*/{id}",
            ),
        ),
    ),
    # CRI-O 1.37: internal/config/nsmgr/nsmgr_linux.go for the namespaces, internal/storage/runtime.go for the lists, which have a pod
    # before ADD, ocicni for the arguments, docs/crio.conf.5.md for its own directories.
    ContainerRuntime(
        name="crio",
        container_id=re.compile(f"(?P<id>{_DIGEST})"),
        netns=re.compile(f"{_NAMED}{_UUID}"),
        id_arg=_CRI_ID,
        units=("crio.service",),
        programs=("crio",),
        settings={**_STORAGE, "own": Setting(("/run/crio", "/var/lib/crio"))},
        listings=Listings(required=_STORAGE_LISTS, markers=("own",), json=_STORAGE_LISTS),
    ),
    # nerdctl 2: pkg/ocihook/ocihook.go. Its containers start again with containerd, under the same ID.
    ContainerRuntime(
        name="nerdctl",
        container_id=re.compile(f"(?P<namespace>[A-Za-z0-9][A-Za-z0-9_.-]*)-(?P<id>{_DIGEST})"),
        netns=re.compile(_OF_PROCESS),
        units=("containerd.service",),
        programs=("containerd",),
        settings={
            "root": Setting(("/var/lib/nerdctl",), ("/etc/nerdctl/nerdctl.toml",), ("data_root",)),
            "state": _CONTAINERD_STATE,
        },
        listings=Listings(
            required=("root/*/containers",),
            entries=("root/*/containers/{namespace}/{id}", "state/io.containerd.runtime.v*/{namespace}/{id}"),
        ),
    ),
    # Nomad 2.0: client/allocrunner/networking_cni.go, network_manager_linux.go and cni/bridge.go, client/lib/nsutil/netns_linux.go,
    # command/agent/agent.go and the nomad.hcl of its package. The container ID is that of the allocation. With Docker, the
    # namespace is that of the pause container. An allocation has its directory before ADD.
    ContainerRuntime(
        name="nomad",
        container_id=re.compile(f"(?P<id>{_UUID})"),
        netns=re.compile(f"{_NAMED}{_UUID}|(?:/var)?/run/docker/netns/[0-9a-f]+"),
        networks={"nomad": "/var/run/cni"},
        units=("nomad.service",),
        programs=("nomad",),
        settings={
            "data": Setting(("/opt/nomad/data", "/opt/nomad", "/var/lib/nomad"), ("/etc/nomad.d/*",), ("data_dir",)),
            "allocations": Setting((), ("/etc/nomad.d/*",), ("alloc_dir",)),
        },
        listings=Listings(
            required=("data/alloc", "allocations"),
            entries=("data/alloc/{id}", "allocations/{id}"),
        ),
    ),
    # Podman 4, the last with CNI: libpod/sqlite_state.go and boltdb_state.go, and libnetwork/cni/run.go and pkg/netns/netns_linux.go of
    # containers/common. Older releases named namespaces as containerd does. A container has its entry before ADD; one with
    # --rootfs is in no list of containers/storage.
    ContainerRuntime(
        name="podman",
        container_id=re.compile(f"(?P<id>{_DIGEST})"),
        netns=re.compile(f"(?:{_NAMED}|/run/user/[0-9]+/netns/)(?:netns|cni)-{_UUID}"),
        networks={"podman": ""},
        settings=_STORAGE,
        listings=Listings(
            required=("root/db.sql", "run/db.sql", "root/libpod/bolt_state.db"),
            json=_STORAGE_LISTS,
            sqlite=("root/db.sql", "run/db.sql"),
            unreadable=("root/libpod/bolt_state.db",),
            command=("podman", "ps", "--all", "--quiet", "--no-trunc"),
        ),
    ),
)
NAMES: t.Final = tuple(runtime.name for runtime in RUNTIMES)


def candidates(attachment: Attachment) -> list[ContainerRuntime]:
    """Return the runtimes that may have made an attachment, judged by its record; libcni does not record the runtime."""
    of_network = [runtime for runtime in RUNTIMES if attachment.network in runtime.networks]
    return [runtime for runtime in of_network or RUNTIMES if runtime.may_own(attachment)]


def data_dirs(root: str = "/") -> dict[str, str]:
    """Return the ``dataDir`` of networks that need no file and do not use host-local's default.

    Args:
        root: All paths are below it; another directory in tests.
    """
    networks = {name: path for runtime in RUNTIMES for name, path in runtime.networks.items() if path}
    return {name: root.rstrip("/") + path for name, path in networks.items()}


__all__ = ("NAMES", "RUNTIMES", "ContainerRuntime", "Listings", "Setting", "candidates", "data_dirs")
