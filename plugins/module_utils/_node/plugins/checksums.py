# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The digests of released archives of the reference plugins."""

from __future__ import annotations

import typing as t

CHECKSUM_ADVICE: t.Final = (
    "set checksum to sha256:HEX or sha512:HEX from a source that you trust (in a role: cni_plugins_checksum or"
    " cni_node_plugins_checksum)"
)
# SHA-256 of cni-plugins-linux-<architecture>-v<version>.tgz, as kubespray has pinned them over the years
# (cni_binary_checksums of its releases 2.28 to 2.31). Other releases need a checksum in the task.
PINNED: t.Final[dict[str, dict[str, str]]] = {
    "1.9.1": {
        "amd64": "b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303",
        "arm": "21416880bea0541d78afaf106373d6dbb471edb92c0114fa263494fe4aec8d3b",
        "arm64": "56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec",
        "ppc64le": "44b743ff6e4dc145eb4e5280e49eca182fcc586d8d52ab431d5904b66e5ca6f7",
    },
    "1.8.0": {
        "amd64": "ab3bda535f9d90766cccc90d3dddb5482003dd744d7f22bcf98186bf8eea8be6",
        "arm": "7ed51af2ee5c7784c8b978b293ad1cf6c3022d7792a2e79197fb9cdc98f3f752",
        "arm64": "57ce466fc3b79db1f19b8f4c63e07a1112306efa53c94fe810a2150dd9e07ddb",
        "ppc64le": "63f762df723eb7dbee83e3751167ff1e18cf7b86ef5b48eb620c91af2def434a",
    },
    "1.7.1": {
        "amd64": "1a28a0506bfe5bcdc981caf1a49eeab7e72da8321f1119b7be85f22621013098",
        "arm": "1df4fa20a0fe279bda5a671d172911de2c1a81813bfe8fb0398b46fa9e49d0fb",
        "arm64": "119fcb508d1ac2149e49a550752f9cd64d023a1d70e189b59c476e4d2bf7c497",
        "ppc64le": "15a4070b20c4d6c8bc9b3db52d8303d0520ff7a89cd2e87a2fdf1e9b8dd69373",
    },
    "1.6.2": {
        "amd64": "b8e811578fb66023f90d2e238d80cec3bdfca4b44049af74c374d4fae0f9c090",
        "arm": "ee31b0117206dc6242a0349443020025a71752d20d683c08caa70b32de179c4b",
        "arm64": "01e0e22acc7f7004e4588c1fe1871cc86d7ab562cd858e1761c4641d89ebfaa4",
        "ppc64le": "66dcb90886a039e919904f2fb761b88e03dedd25fb718196855432771eaaa325",
    },
    "1.6.0": {
        "amd64": "682b49ff8933a997a52107161f1745f8312364b4c7f605ccdf7a77499130d89d",
        "arm": "10cd1b6b0f7c1e6faf18b2e46ee338beb1e1cce253efc7086f8bc1f4e1061d1a",
        "arm64": "db09ab057ecf60b05ba05cbec38d55b95cc139c7f1078e2e4857cc13af158cee",
        "ppc64le": "d8d4bd74247407c8c73de057bc00adac28bb1ed2d2ee60a9dda278e3b398bcc2",
    },
    "1.5.1": {
        "amd64": "77baa2f669980a82255ffa2f2717de823992480271ee778aa51a9c60ae89ff9b",
        "arm": "8579252e261d821ac92de9cf98e3f5fec89aeec805e7b5ac7e0a7edf3f9983c4",
        "arm64": "c2a292714d0fad98a3491ae43df8ad58354b3c0bdf5d5a3e281777967c70fcff",
        "ppc64le": "d02db67284064489ace75712f1eeea6b27fd5b630b9ad0876e5e42e153e00b80",
    },
    "1.5.0": {
        "amd64": "57a18478422cb321370e30a5ee6ce026321289cd9c94353ca697dddd7714f1a5",
        "arm": "d381fe4a302bdb41a2c3cfbb0322fc3a0eef7cd852042c82e58401b8bbdd6f90",
        "arm64": "ab38507efe50c34bc2242a25c5783c19fdfe0376c65a2a91d48174d4f39f1fc2",
        "ppc64le": "5eea6e7033a337fd98df00fa8a72a8ca8d2d2c69f6637555828515de94158cab",
    },
    "1.4.0": {
        "amd64": "c2485ddb3ffc176578ae30ae58137f0b88e50f7c7f2af7d53a569276b2949a33",
        "arm": "6cddc5804fff93b914f3314d62fa03f24d69f59c03940e0bbe85a370371b5bb8",
        "arm64": "304d4389d5b732b7a73513d002c4895f731d030682d40653f411e10e39114194",
        "ppc64le": "c87a36a75ad1692933e3218cae734ba809ae2190c725a050ac9033fc96d2ed26",
    },
    "1.3.0": {
        "amd64": "754a71ed60a4bd08726c3af705a7d55ee3df03122b12e389fdba4bea35d7dd7e",
        "arm": "86c4c866a01a8073ad14f6feec74de1fd63669786850c7be47521433f9570902",
        "arm64": "de7a666fd6ad83a228086bd55756db62ef335a193d1b143d910b69f079e30598",
        "ppc64le": "8ceff026f4eccf33c261b4153af6911e10784ac169d08c1d86cf6887b9f4e99b",
    },
    "1.2.0": {
        "amd64": "f3a841324845ca6bf0d4091b4fc7f97e18a623172158b72fc3fdcdb9d42d2d37",
        "arm": "fde5bf2da73995196d248177ee8deeafa8005f33cbe1ab33bd2d75c17ca5a99a",
        "arm64": "525e2b62ba92a1b6f3dc9612449a84aa61652e680f7ebf4eff579795fe464b57",
        "ppc64le": "4960283b88d53b8c45ff7a938a6b398724005313e0388e0a36bd6d0b2bb5acdc",
    },
    "1.1.1": {
        "amd64": "b275772da4026d2161bf8a8b41ed4786754c8a93ebfb6564006d5da7f23831e5",
        "arm": "84f97baf80f9670a8cd0308dedcc8405d2bbc65166d670b48795e0d1262b4248",
        "arm64": "16484966a46b4692028ba32d16afd994e079dc2cc63fbc2191d7bfaf5e11f3dd",
        "ppc64le": "1551259fbfe861d942846bee028d5a85f492393e04bcd6609ac8aaa7a3d71431",
    },
}

__all__ = ("CHECKSUM_ADVICE", "PINNED")
