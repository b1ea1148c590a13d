# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contents of the machine's image. Any change here causes a new build."""

from __future__ import annotations

import hashlib
import pathlib
import platform

SUITE = "bookworm"
PACKAGES = (
    "systemd-sysv",
    "dbus",
    "udev",
    "kmod",
    "procps",
    "openssh-server",
    "python3",
    "iproute2",
    "iputils-ping",
    "iptables",
    "nftables",
    "python3-pyroute2",
    # With what provides the logind that its dependency polkitd requires.
    "firewalld",
    "libpam-systemd",
    # Two container runtimes that use CNI, with the packages that they need to run a container.
    "containerd",
    "podman",
    "crun",
    # Podman requires a network stack; this one brings no CNI plugins, and containers.conf below selects CNI.
    "netavark",
    "busybox-static",
    # Reports whether containerd's network is ready.
    "python3-grpcio",
    # Repairs links, addresses and routes.
    "python3-pyroute2",
)
KERNELS = {"x86_64": "linux-image-cloud-amd64", "aarch64": "linux-image-cloud-arm64"}
FILES = {
    "etc/hostname": "machine\n",
    "etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n",
    "etc/systemd/network/80-ethernet.network": (
        "[Match]\nDriver=virtio_net\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n"
    ),
    "etc/ssh/sshd_config.d/test.conf": "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\n",
    # Debian's default is the directory of its own package, which is not installed here.
    "etc/containerd/config.toml": (
        'version = 2\n[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "/opt/cni/bin"\nconf_dir = "/etc/cni/net.d"\n'
    ),
    "etc/containers/containers.conf": '[network]\nnetwork_backend = "cni"\n',
}
ENABLED = ("systemd-networkd.service", "ssh.service", "containerd.service")
# Tests start it when they need it.
DISABLED = ("firewalld.service",)
# These timers would change the machine at random times.
MASKED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
    *(
        "e2scrub_reap.service",
        "podman-auto-update.service",
        "podman-auto-update.timer",
        "podman.service",
        "podman.socket",
    ),
)
SIZE = "3G"


def kernel() -> str:
    return KERNELS.get(platform.machine(), f"linux-image-{platform.machine()}")


def stamp() -> str:
    source = [pathlib.Path(__file__).with_name(name).read_bytes() for name in ("recipe.py", "image.py")]
    return hashlib.sha256(b"\0".join(source)).hexdigest()[:16]
