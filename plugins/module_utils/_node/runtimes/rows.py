# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One row for each container runtime, with the source and release that shows each fact."""

from __future__ import annotations

import operator
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import (
    AT_NEXT_USE,
    AT_ONCE,
    BY_NAME,
    FIRST_FILE,
    FIRST_VALID,
    ON_RELOAD,
    SKIPPED,
    ContainerRuntime,
    Listings,
    RecordOwner,
    Setting,
    Setup,
)

# Parts of patterns.
_DIGEST = "[0-9a-f]{64}"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = r"(?:/var)?/run/netns/"
_OF_PROCESS = r"/proc/\d+/ns/net"
_OF_DOCKER = "(?:/var)?/run/docker/netns/[0-9a-f]+"
# containerd 2.4, pkg/identifiers/validate.go.
_IDENTIFIER = "[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*"

_OPT = "/opt/cni/bin"
_NET_D = "/etc/cni/net.d"
_CRI_ID = "K8S_POD_INFRA_CONTAINER_ID"
_CONTAINERD_FILES = ("/etc/containerd/*.toml", "/etc/containerd/conf.d/*.toml")
_CONTAINERD_STATE = Setting(
    ("/run/containerd", "/run/k3s/containerd", "/var/snap/microk8s/common/run/containerd"),
    _CONTAINERD_FILES,
    ("state",),
)
_CONTAINERD_UNITS = (
    "containerd.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "snap.microk8s.daemon-containerd.service",
)
# go-cni 1.1.13, opts.go: the files up to max_conf_num are loaded, and an error in one of them leaves no network.
_CONTAINERD_BROKEN = "pods have no network, and none can be removed, if it is the first file"
# kubeadm 1.32: cmd/kubeadm/app/preflight/checks_linux.go.
_FORWARDING = {"net.ipv4.ip_forward": "1"}
# containers/storage 1.60, containers.go and store.go: CRI-O and Podman name a container there as they name it to plugins.
_STORAGE = {
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
_STORAGE_LISTS = (
    "root/*-containers/containers.json",
    "root/*-containers/volatile-containers.json",
    "run/*-containers/volatile-containers.json",
)


def _containerd(conf_dir: Setting, plugin_dirs: Setting, **changes: t.Any) -> Setup:
    """Return the setup of containerd, or of a runtime that it is part of."""
    setup = Setup(
        conf_dir=conf_dir,
        plugin_dirs=plugin_dirs,
        bin_dir=plugin_dirs.defaults[0],
        takes=FIRST_FILE,
        broken=_CONTAINERD_BROKEN,
        notices=AT_ONCE,
        version=("containerd", "--version"),
        containers=("crictl", "pods", "--quiet"),
        plugins={"loopback": ""},
        modules=("overlay",),
    )
    return setup._replace(**changes)


# In alphabetical order.
RUNTIMES = (
    # Apptainer 1.5: internal/pkg/runtime/engine/apptainer/container_linux.go, pkg/util/apptainerconf/config.go,
    # pkg/network/network_linux.go, and LoadConfList of libcni 1.3. Its container IDs are the numbers of processes, and its list of
    # instances lacks containers that were started by run and exec.
    ContainerRuntime(
        name="apptainer",
        title="Apptainer",
        setup=Setup(
            conf_dir=Setting(
                ("/etc/apptainer/network", "/usr/local/etc/apptainer/network"),
                ("/etc/apptainer/apptainer.conf", "/usr/local/etc/apptainer/apptainer.conf"),
                ("cni configuration path",),
            ),
            plugin_dirs=Setting(
                ("/usr/libexec/apptainer/cni", "/usr/local/libexec/apptainer/cni"),
                ("/etc/apptainer/apptainer.conf", "/usr/local/etc/apptainer/apptainer.conf"),
                ("cni plugin path",),
            ),
            bin_dir="",
            takes=BY_NAME,
            broken="no container starts with a network of a later file",
            notices=AT_NEXT_USE,
            version=("apptainer", "--version"),
            searches_all=False,
        ),
    ),
    # containerd 2.3 and 1.6: internal/cri/config/config_unix.go (pkg/cri before 2.0) for the directories, internal/cri/server/
    # cni_conf_syncer.go for the watch. containerd 2.4: internal/cri/server/helpers.go and sandbox_run.go for the directories and
    # arguments of sandboxes, plugins/cri/runtime/plugin.go for the parent, which is as in 1.x, pkg/netns/netns_linux.go,
    # core/runtime/v2/task_manager.go. At its start it makes the parent in the state directory. A sandbox has its directories only
    # after ADD.
    ContainerRuntime(
        name="containerd",
        title="containerd",
        setup=_containerd(
            Setting((_NET_D,), _CONTAINERD_FILES, ("conf_dir",)),
            Setting((_OPT,), _CONTAINERD_FILES, ("bin_dir", "bin_dirs")),
        ),
        units=("containerd.service",),
        owner=RecordOwner(
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
                    _CONTAINERD_FILES,
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
    ),
    # CRI-O 1.36: pkg/config/config_unix.go, and pkg/ocicni/ocicni.go of ocicni 0.5 for files and watch. CRI-O 1.37:
    # internal/config/nsmgr/nsmgr_linux.go for the namespaces, internal/storage/runtime.go for the lists, which have a pod before ADD,
    # ocicni for the arguments, docs/crio.conf.5.md for its own directories.
    ContainerRuntime(
        name="crio",
        title="CRI-O",
        setup=Setup(
            conf_dir=Setting((_NET_D,), ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*"), ("network_dir",)),
            plugin_dirs=Setting(
                (_OPT,), ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*"), ("plugin_dir", "plugin_dirs")
            ),
            bin_dir=_OPT,
            takes=FIRST_VALID,
            broken=SKIPPED,
            notices=AT_ONCE,
            version=("crio", "--version"),
            containers=("crictl", "pods", "--quiet"),
            modules=("br_netfilter",),
            sysctls=_FORWARDING,
        ),
        units=("crio.service",),
        owner=RecordOwner(
            name="crio",
            container_id=re.compile(f"(?P<id>{_DIGEST})"),
            netns=re.compile(f"{_NAMED}{_UUID}"),
            id_arg=_CRI_ID,
            units=("crio.service",),
            programs=("crio",),
            settings={**_STORAGE, "own": Setting(("/run/crio", "/var/lib/crio"))},
            listings=Listings(required=_STORAGE_LISTS, markers=("own",), json=_STORAGE_LISTS),
        ),
    ),
    # k3s 1.31: pkg/agent/config/config.go and containerd/config.go, pkg/agent/syssetup/setup.go. Since October 2024 its plugins are
    # also in data/cni, where others may be installed; before, they were in the directory of each release. Without
    # flannel, it sets no directories.
    ContainerRuntime(
        name="k3s",
        title="k3s",
        setup=_containerd(
            Setting(
                ("/var/lib/rancher/k3s/agent/etc/cni/net.d",),
                ("/var/lib/rancher/k3s/agent/etc/containerd/config.toml",),
                ("conf_dir",),
                (_NET_D,),
            ),
            Setting(
                ("/var/lib/rancher/k3s/data/cni", "/var/lib/rancher/k3s/data/current/bin"),
                ("/var/lib/rancher/k3s/agent/etc/containerd/config.toml",),
                ("bin_dir", "bin_dirs"),
                (_OPT,),
            ),
            bin_dir="",
            searches_all=False,
            version=("k3s", "--version"),
            containers=("k3s", "crictl", "pods", "--quiet"),
            plugins=dict.fromkeys(("bridge", "flannel", "host-local", "loopback", "portmap"), ""),
            modules=("br_netfilter", "overlay"),
            sysctls=_FORWARDING,
            sets_kernel=True,
        ),
        units=("k3s.service", "k3s-agent.service"),
    ),
    # kubeadm 1.32: cmd/kubeadm/app/preflight/checks_linux.go. The kubelet has had no settings for CNI since 1.24; containerd's are
    # used. kubernetes-cni of release 1.28 and newer has the reference plugins.
    ContainerRuntime(
        name="kubelet",
        title="kubelet with containerd",
        setup=_containerd(
            Setting((_NET_D,), _CONTAINERD_FILES, ("conf_dir",)),
            Setting((_OPT,), _CONTAINERD_FILES, ("bin_dir", "bin_dirs")),
            version=("kubelet", "--version"),
            plugins={"loopback": "", "portmap": ""},
            sysctls=_FORWARDING,
        ),
        units=("kubelet.service",),
        through="containerd",
    ),
    # nerdctl 2.3: pkg/netutil/netutil.go and store.go, pkg/defaults/defaults_linux.go, pkg/ocihook/ocihook.go. Its containers start
    # again with containerd, under the same ID.
    ContainerRuntime(
        name="nerdctl",
        title="nerdctl",
        setup=Setup(
            conf_dir=Setting((_NET_D,), ("/etc/nerdctl/nerdctl.toml",), ("cni_netconfpath",)),
            plugin_dirs=Setting(
                (_OPT, "/usr/local/libexec/cni", "/usr/local/lib/cni", "/usr/libexec/cni", "/usr/lib/cni"),
                ("/etc/nerdctl/nerdctl.toml",),
                ("cni_path",),
            ),
            bin_dir=_OPT,
            takes=BY_NAME,
            broken="every command that needs a network fails",
            notices=AT_NEXT_USE,
            version=("nerdctl", "--version"),
            containers=("nerdctl", "ps", "--all", "--quiet", "--no-trunc"),
            searches_all=False,
            plugins={"bridge": "1.0.0", "firewall": "1.1.0", "host-local": "", "portmap": "", "tuning": ""},
        ),
        owner=RecordOwner(
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
    ),
    # Nomad 2.0: client/fingerprint/cni.go, client/config/config_linux.go, nomad/job_endpoint_hooks.go, and for sysctls
    # website/content/partials/install/bridge-iptables.mdx of 1.9. client/allocrunner/networking_cni.go, network_manager_linux.go and
    # cni/bridge.go, client/lib/nsutil/netns_linux.go, command/agent/agent.go and the nomad.hcl of its package. The container ID is that
    # of the allocation. With Docker, the namespace belongs to the pause container. An allocation has its directory before ADD.
    ContainerRuntime(
        name="nomad",
        title="Nomad",
        setup=Setup(
            conf_dir=Setting(("/opt/cni/config",), ("/etc/nomad.d/*",), ("cni_config_dir",)),
            plugin_dirs=Setting((_OPT, "/usr/libexec/cni"), ("/etc/nomad.d/*",), ("cni_path",)),
            bin_dir=_OPT,
            takes=BY_NAME,
            broken="the client does not start, and one that runs does not see later changes",
            notices=ON_RELOAD,
            version=("nomad", "version"),
            plugins={
                "bridge": "1.3.0",
                "firewall": "0.4.0",
                "host-local": "0.4.0",
                "loopback": "0.4.0",
                "portmap": "0.4.0",
            },
            modules=("bridge", "br_netfilter"),
            sysctls={f"net.bridge.bridge-nf-call-{program}": "1" for program in ("arptables", "ip6tables", "iptables")},
        ),
        units=("nomad.service",),
        owner=RecordOwner(
            name="nomad",
            container_id=re.compile(f"(?P<id>{_UUID})"),
            netns=re.compile(f"{_NAMED}{_UUID}|{_OF_DOCKER}"),
            networks={"nomad": "/var/run/cni"},
            units=("nomad.service",),
            programs=("nomad",),
            settings={
                "data": Setting(
                    ("/opt/nomad/data", "/opt/nomad", "/var/lib/nomad"), ("/etc/nomad.d/*",), ("data_dir",)
                ),
                "allocations": Setting((), ("/etc/nomad.d/*",), ("alloc_dir",)),
            },
            listings=Listings(
                required=("data/alloc", "allocations"),
                entries=("data/alloc/{id}", "allocations/{id}"),
            ),
        ),
    ),
    # Podman 4, the last with CNI: libpod/sqlite_state.go and boltdb_state.go, and libnetwork/cni/network.go and run.go, pkg/config/
    # default.go and pkg/netns/netns_linux.go of containers/common 0.57. Older releases named namespaces as containerd does. A container
    # has its entry before ADD; one with --rootfs is in no list of containers/storage.
    ContainerRuntime(
        name="podman",
        title="Podman",
        setup=Setup(
            conf_dir=Setting(
                (_NET_D,),
                ("/etc/containers/containers.conf", "/etc/containers/containers.conf.d/*.conf"),
                ("network_config_dir",),
            ),
            plugin_dirs=Setting(
                ("/usr/local/libexec/cni", "/usr/libexec/cni", "/usr/local/lib/cni", "/usr/lib/cni", _OPT),
                ("/etc/containers/containers.conf", "/etc/containers/containers.conf.d/*.conf"),
                ("cni_plugin_dirs",),
            ),
            bin_dir="/usr/local/libexec/cni",
            takes=BY_NAME,
            broken=SKIPPED,
            notices=AT_NEXT_USE,
            version=("podman", "--version"),
            containers=("podman", "ps", "--all", "--quiet", "--no-trunc"),
            endings=(".conflist",),
            plugins=dict.fromkeys(("bridge", "firewall", "host-local", "portmap", "tuning"), ""),
        ),
        owner=RecordOwner(
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
    ),
    # RKE2 1.35: pkg/cli/cmds/root.go; only Windows has directories of its own, elsewhere containerd's defaults are used. The charts of
    # its networks install the plugins.
    ContainerRuntime(
        name="rke2",
        title="RKE2",
        setup=_containerd(
            Setting((_NET_D,), ("/var/lib/rancher/rke2/agent/etc/containerd/config.toml",), ("conf_dir",)),
            Setting((_OPT,), ("/var/lib/rancher/rke2/agent/etc/containerd/config.toml",), ("bin_dir", "bin_dirs")),
            bin_dir="",
            version=("rke2", "--version"),
            containers=("/var/lib/rancher/rke2/bin/crictl", "pods", "--quiet"),
            plugins={"host-local": "", "loopback": "", "portmap": ""},
            modules=("br_netfilter", "overlay"),
            sysctls=_FORWARDING,
            sets_kernel=True,
        ),
        units=("rke2-server.service", "rke2-agent.service"),
    ),
)
NAMES = tuple(runtime.name for runtime in RUNTIMES)
# Programs that no role sets up a node for, but that have records of their own.
_FURTHER_OWNERS = (
    # `ctr run --cni` of containerd 2.4: cmd/ctr/commands/cni.go for the container ID, run/run.go and run_unix.go for the network
    # namespace, pkg/oci/spec.go for the control group, pkg/shim/util.go for the arguments of the shim, core/runtime/v2/bundle.go and
    # task_manager.go for the directories. The task has its directory before ADD, and DEL runs only if `ctr run` ends it or, since
    # 1.7, `ctr task kill`. No task starts again with the network that it had. nerdctl's container IDs are of the same form.
    RecordOwner(
        name="ctr",
        container_id=re.compile(f"(?!.*-{_DIGEST}$)(?P<namespace>{_IDENTIFIER})-(?P<id>{_IDENTIFIER})"),
        netns=re.compile(_OF_PROCESS),
        needs_netns=True,
        mentions=(
            "/{namespace}/{id}\n",
            "/{namespace}/{id}/",
            "\0-namespace\0{namespace}\0-id\0{id}\0",
            "CNI_CONTAINERID={namespace}-{id}\0",
        ),
        units=_CONTAINERD_UNITS,
        programs=("containerd",),
        settings={"state": _CONTAINERD_STATE},
        listings=Listings(
            required=("state/io.containerd.runtime.v*",),
            entries=("state/io.containerd.runtime.v*/{namespace}/{id}",),
        ),
    ),
    # cri-dockerd 0.4: core/docker_service.go for the network namespace, network/cni/cni.go for the container ID; the kubelet before
    # 1.24 has the same code. Moby 29: daemon/container.go for the directories, which containers have before they start, and
    # libnetwork/osl/namespace_linux.go for the network namespace of a container that another program attaches.
    RecordOwner(
        name="docker",
        container_id=re.compile(f"(?P<id>{_DIGEST})"),
        netns=re.compile(f"{_OF_PROCESS}|{_OF_DOCKER}"),
        needs_netns=True,
        units=("docker.service", "snap.docker.dockerd.service"),
        programs=("dockerd",),
        settings={
            "root": Setting(
                ("/var/lib/docker", "/var/snap/docker/common/var-lib-docker"),
                ("/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json"),
                ("data-root", "graph"),
            ),
        },
        listings=Listings(required=("root/containers",), entries=("root/containers/{id}",)),
    ),
)
# Runtimes whose records can be told from others; `owners` of the modules gc and repair takes their names.
OWNERS = tuple(
    sorted(
        [*(runtime.owner for runtime in RUNTIMES if runtime.owner), *_FURTHER_OWNERS],
        key=operator.attrgetter("name"),
    )
)
OWNER_NAMES = tuple(owner.name for owner in OWNERS)


def find(name: str) -> ContainerRuntime | None:
    """Return the row of a runtime by its name."""
    return next((runtime for runtime in RUNTIMES if runtime.name == name), None)


def candidates(attachment: Attachment) -> list[RecordOwner]:
    """Return the runtimes that may have made an attachment, judged by its record; libcni does not record the runtime."""
    of_network = [owner for owner in OWNERS if attachment.network in owner.networks]
    return [owner for owner in of_network or OWNERS if owner.may_own(attachment)]


def data_dirs(root: str = "/") -> dict[str, str]:
    """Return the ``dataDir`` of networks that need no file and do not use host-local's default.

    Args:
        root: All paths are below it; another directory in tests.
    """
    networks = {name: path for owner in OWNERS for name, path in owner.networks.items() if path}
    return {name: root.rstrip("/") + path for name, path in networks.items()}
