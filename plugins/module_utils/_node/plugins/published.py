# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Published releases of plugins: their places, digests and defects, as far as they are known."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE

# The first release of flannel whose archives are named after the first three numbers of its version.
_FLANNEL_SHORT = (1, 8, 0, 2)
# Its last release that has only executables.
_FLANNEL_BARE = (1, 0, 0)
# SHA-256 of cni-plugins-linux-<architecture>-v<version>.tgz, as kubespray has pinned them over the years
# (cni_binary_checksums of its releases 2.28 to 2.31). Other releases need a checksum in the task.
_PINNED = """\
1.9.1 amd64 b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303 arm 21416880bea0541d78afaf106373d6dbb471edb92c0114fa263494fe4aec8d3b
1.9.1 arm64 56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec ppc64le 44b743ff6e4dc145eb4e5280e49eca182fcc586d8d52ab431d5904b66e5ca6f7
1.8.0 amd64 ab3bda535f9d90766cccc90d3dddb5482003dd744d7f22bcf98186bf8eea8be6 arm 7ed51af2ee5c7784c8b978b293ad1cf6c3022d7792a2e79197fb9cdc98f3f752
1.8.0 arm64 57ce466fc3b79db1f19b8f4c63e07a1112306efa53c94fe810a2150dd9e07ddb ppc64le 63f762df723eb7dbee83e3751167ff1e18cf7b86ef5b48eb620c91af2def434a
1.7.1 amd64 1a28a0506bfe5bcdc981caf1a49eeab7e72da8321f1119b7be85f22621013098 arm 1df4fa20a0fe279bda5a671d172911de2c1a81813bfe8fb0398b46fa9e49d0fb
1.7.1 arm64 119fcb508d1ac2149e49a550752f9cd64d023a1d70e189b59c476e4d2bf7c497 ppc64le 15a4070b20c4d6c8bc9b3db52d8303d0520ff7a89cd2e87a2fdf1e9b8dd69373
1.6.2 amd64 b8e811578fb66023f90d2e238d80cec3bdfca4b44049af74c374d4fae0f9c090 arm ee31b0117206dc6242a0349443020025a71752d20d683c08caa70b32de179c4b
1.6.2 arm64 01e0e22acc7f7004e4588c1fe1871cc86d7ab562cd858e1761c4641d89ebfaa4 ppc64le 66dcb90886a039e919904f2fb761b88e03dedd25fb718196855432771eaaa325
1.6.0 amd64 682b49ff8933a997a52107161f1745f8312364b4c7f605ccdf7a77499130d89d arm 10cd1b6b0f7c1e6faf18b2e46ee338beb1e1cce253efc7086f8bc1f4e1061d1a
1.6.0 arm64 db09ab057ecf60b05ba05cbec38d55b95cc139c7f1078e2e4857cc13af158cee ppc64le d8d4bd74247407c8c73de057bc00adac28bb1ed2d2ee60a9dda278e3b398bcc2
1.5.1 amd64 77baa2f669980a82255ffa2f2717de823992480271ee778aa51a9c60ae89ff9b arm 8579252e261d821ac92de9cf98e3f5fec89aeec805e7b5ac7e0a7edf3f9983c4
1.5.1 arm64 c2a292714d0fad98a3491ae43df8ad58354b3c0bdf5d5a3e281777967c70fcff ppc64le d02db67284064489ace75712f1eeea6b27fd5b630b9ad0876e5e42e153e00b80
1.5.0 amd64 57a18478422cb321370e30a5ee6ce026321289cd9c94353ca697dddd7714f1a5 arm d381fe4a302bdb41a2c3cfbb0322fc3a0eef7cd852042c82e58401b8bbdd6f90
1.5.0 arm64 ab38507efe50c34bc2242a25c5783c19fdfe0376c65a2a91d48174d4f39f1fc2 ppc64le 5eea6e7033a337fd98df00fa8a72a8ca8d2d2c69f6637555828515de94158cab
1.4.0 amd64 c2485ddb3ffc176578ae30ae58137f0b88e50f7c7f2af7d53a569276b2949a33 arm 6cddc5804fff93b914f3314d62fa03f24d69f59c03940e0bbe85a370371b5bb8
1.4.0 arm64 304d4389d5b732b7a73513d002c4895f731d030682d40653f411e10e39114194 ppc64le c87a36a75ad1692933e3218cae734ba809ae2190c725a050ac9033fc96d2ed26
1.3.0 amd64 754a71ed60a4bd08726c3af705a7d55ee3df03122b12e389fdba4bea35d7dd7e arm 86c4c866a01a8073ad14f6feec74de1fd63669786850c7be47521433f9570902
1.3.0 arm64 de7a666fd6ad83a228086bd55756db62ef335a193d1b143d910b69f079e30598 ppc64le 8ceff026f4eccf33c261b4153af6911e10784ac169d08c1d86cf6887b9f4e99b
1.2.0 amd64 f3a841324845ca6bf0d4091b4fc7f97e18a623172158b72fc3fdcdb9d42d2d37 arm fde5bf2da73995196d248177ee8deeafa8005f33cbe1ab33bd2d75c17ca5a99a
1.2.0 arm64 525e2b62ba92a1b6f3dc9612449a84aa61652e680f7ebf4eff579795fe464b57 ppc64le 4960283b88d53b8c45ff7a938a6b398724005313e0388e0a36bd6d0b2bb5acdc
1.1.1 amd64 b275772da4026d2161bf8a8b41ed4786754c8a93ebfb6564006d5da7f23831e5 arm 84f97baf80f9670a8cd0308dedcc8405d2bbc65166d670b48795e0d1262b4248
1.1.1 arm64 16484966a46b4692028ba32d16afd994e079dc2cc63fbc2191d7bfaf5e11f3dd ppc64le 1551259fbfe861d942846bee028d5a85f492393e04bcd6609ac8aaa7a3d71431
"""


class Defect(t.NamedTuple):
    """A defect of a whole release of the reference plugins.

    Attributes:
        instead: The release to use.
        source: Where it is described; empty if an installed release does not have it.
        fatal: Whether the release is refused; otherwise there is a warning.
    """

    reason: str
    instead: str
    source: str = ""
    fatal: bool = True


# Defects of single plugins are in the catalogue.
DEFECTS = {
    "0.9.0": Defect("it was published without archives", "0.9.1"),
    "1.0.0": Defect("some of its plugins lack versions 0.4.0 or 1.0.0 of the specification", "1.0.1", "#661"),
    "1.4.1": Defect(
        "its archives were rebuilt under the same name, so that each has two digests", "1.5.1", fatal=False
    ),
    "1.6.1": Defect("its archives mix two builds", "1.6.2", "#1136"),
    "1.7.0": Defect("its archives are incomplete", "1.7.1", "#1173"),
}


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


def _read_digests(text: str) -> dict[str, dict[str, str]]:
    """Return digests by version and architecture from lines of a version and pairs of the two others."""
    digests: dict[str, dict[str, str]] = {}
    for version, *words in map(str.split, text.splitlines()):
        digests.setdefault(version, {}).update(zip(words[::2], words[1::2]))
    return digests


PINNED = _read_digests(_PINNED)
# By the name of the set. A digest is here only if a public repository pins the file at exactly this URL: the releases have
# none that this collection could fetch and trust. All other versions and architectures need a checksum in the task.
PROJECTS = {
    REFERENCE: Project(
        "https://github.com/containernetworking/plugins/releases/download/v{version}/",
        lambda version, architecture: f"cni-plugins-linux-{architecture}-v{version}.tgz",
        ("amd64", "arm", "arm64", "mips64le", "ppc64le", "riscv64", "s390x"),
        PINNED,
    ),
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
