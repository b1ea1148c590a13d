# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Projects other than the reference plugins that publish plugins, and the digests of their releases."""

from __future__ import annotations

import re
import typing as t

# The first release of flannel whose archives are named after the first three numbers of its version.
_FLANNEL_SHORT: t.Final = (1, 8, 0, 2)
# Its last release that has only executables.
_FLANNEL_BARE: t.Final = (1, 0, 0)


class Project(t.NamedTuple):
    """A project that publishes plugins.

    Attributes:
        directory: URL of the directory of a release, with ``{version}``.
        asset: Returns the name of the archive or executable for a version and an architecture.
        architectures: The architectures of all its releases.
        digests: SHA-256 of assets by version and architecture.
    """

    directory: str
    asset: t.Callable[[str, str], str]
    architectures: tuple[str, ...]
    digests: dict[str, dict[str, str]]


def _flannel_asset(version: str, architecture: str) -> str:
    numbers = tuple(map(int, re.findall(r"\d+", version)))
    if numbers <= _FLANNEL_BARE:
        return f"flannel-{architecture}"
    tag = f"v{version}"
    return f"cni-plugin-flannel-linux-{architecture}-{tag[:6] if numbers >= _FLANNEL_SHORT else tag}.tgz"


def _multus_asset(version: str, architecture: str) -> str:
    return f"multus-cni_{version}_linux_{'armv6' if architecture == 'arm' else architecture}.tar.gz"


# By the name of the set. A digest is here only if a public repository pins the file at exactly this URL: the releases have
# none that this collection could fetch and trust. All other versions and architectures need a checksum in the task.
PROJECTS: t.Final[dict[str, Project]] = {
    "consul-cni": Project(
        "https://releases.hashicorp.com/consul-cni/{version}/",
        lambda version, architecture: f"consul-cni_{version}_linux_{architecture}.zip",
        ("386", "amd64", "arm", "arm64"),
        {
            # mihakrumpestar/infrastructure, packages/consul-cni/flake.nix, commits bd00e00c7599 and de35f5d3e995
            "1.9.5": {"amd64": "cd44a1b75ce8b9a5d854febb940b3a5f1ebf4dfa17ab2f06ed81cb340872c7c5"},
            "1.9.0": {"amd64": "7523fab9d558ac339e04aefd7e709ee2c6a27fcf1b9fc681d48abf0527583345"},
            # eye-track/nomad-cluster, jobs/management/job.management.hcl, commit 7cbfd7dfce47
            "1.7.2": {"arm64": "a39935a82c3c9aabeaa32ef093876fd58ff3b0e5d16a89535521c4865ccf0e10"},
            # stut/consul-cni.nix, flake.nix, commit 77a3620a29b0
            "1.6.0": {"amd64": "90cd9419d4530740c07df7c0db476e1801753a6a8f7f7d03a40a2294e3630aad"},
        },
    ),
    "flannel": Project(
        "https://github.com/flannel-io/cni-plugin/releases/download/v{version}/",
        _flannel_asset,
        ("386", "amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"),
        {
            # VirtualMachinist/hedronetes-h3s, integration/tower/flannel-cni.nix, commit 62ad4daad472
            "1.9.1-flannel3": {"arm64": "691c01b5a3375e2b13910ef7b713bc2b8137047fb09fba363f2f3e3796ad84d9"},
            # kubespray, flannel_cni_binary_checksums, before commit 937e64d2960c
            "1.0.0": {
                "amd64": "22dc9152571167f30d59d1e512bb7f4b4978175ddd46a30b24ad247c8c843dd7",
                "arm": "bd36adccabf9974c0a9f9a09bfe35558ddeb83636efefa94bc260ef267e14671",
                "arm64": "eb7183498b5d1ae4034dde6184e4396270e29ed88482b295f81b93eb3120c61c",
                "ppc64le": "994d206a84013b050677d3e09b53485faaa9e769a43065cf4674efb52fafb18c",
            },
        },
    ),
    "multus": Project(
        "https://github.com/k8snetworkplumbingwg/multus-cni/releases/download/v{version}/",
        _multus_asset,
        ("386", "amd64", "arm", "arm64", "s390x"),
        {},
    ),
    "whereabouts": Project(
        "https://github.com/k8snetworkplumbingwg/whereabouts/releases/download/v{version}/",
        lambda version, architecture: f"whereabouts-{architecture}",
        ("amd64", "arm", "arm64"),
        {},
    ),
}

__all__ = ("PROJECTS", "Project")
