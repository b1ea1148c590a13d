# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The archive for a version, a source and a checksum, and requests that are refused."""

from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.published import PINNED, PROJECTS
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import resolve_request
from ansible_collections.cni.node.tests.support.error_of import error_of

UPSTREAM = "https://github.com/containernetworking/plugins/releases/download"
FLANNEL = "https://github.com/flannel-io/cni-plugin/releases/download"
OWN = "sha256:" + "0" * 64
ASSET = "cni-plugins-linux-amd64-v1.9.1.tgz"
PIN = f"sha256:{PINNED['1.9.1']['amd64']}"


def test_each_pinned_release_has_four_unique_digests() -> None:
    digests = [digest for architectures in PINNED.values() for digest in architectures.values()]
    assert {tuple(architectures) for architectures in PINNED.values()} == {("amd64", "arm", "arm64", "ppc64le")}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("version", ["1.9.1", "v1.9.1", " V1.9.1 "])
def test_a_version_selects_the_pinned_archive(version: str) -> None:
    request = resolve_request(version, "", "", "x86_64")
    assert (request.location, request.checksum) == (f"{UPSTREAM}/v1.9.1/{ASSET}", PIN)
    assert (request.version, request.warning) == ("1.9.1", "")


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "arm"), ("armv6l", "arm"), ("ppc64le", "ppc64le")],
)
def test_the_archive_is_for_the_architecture_of_the_node(machine: str, architecture: str) -> None:
    request = resolve_request("1.8.0", "", "", machine)
    assert request.location.endswith(f"/cni-plugins-linux-{architecture}-v1.8.0.tgz")
    assert request.checksum == f"sha256:{PINNED['1.8.0'][architecture]}"


def test_a_mirror_gets_the_archives_name() -> None:
    request = resolve_request("1.9.1", "http://mirror/cni/", "", "aarch64")
    assert request.location == "http://mirror/cni/cni-plugins-linux-arm64-v1.9.1.tgz"
    assert request.checksum == f"sha256:{PINNED['1.9.1']['arm64']}"


@pytest.mark.parametrize("source", [ASSET, f"/srv/{ASSET}", f"https://mirror/{ASSET}"])
def test_an_archive_with_an_upstream_name_has_its_version_and_digest(source: str) -> None:
    request = resolve_request("", source, "", "x86_64")
    assert (request.version, request.checksum) == ("1.9.1", PIN)
    assert resolve_request("", source, OWN.upper(), "x86_64").checksum == OWN, "a given digest wins"


@pytest.mark.parametrize("source", ["plugins.tgz", "/usr/lib/cni", "cni-plugins-linux-amd64-v1.9.1.tgz.part"])
def test_any_other_source_is_used_unchanged(source: str) -> None:
    request = resolve_request("site-7", source, "", "x86_64")
    assert (request.location, request.version, request.checksum) == (source, "site-7", "")


def test_a_rebuilt_release_gives_a_warning() -> None:
    request = resolve_request("1.4.1", "", OWN, "x86_64")
    assert request.checksum == OWN
    assert "1.4.1 of the reference plugins: its archives were rebuilt under the same name" in request.warning
    assert "no digest is known" in str(error_of(resolve_request, "1.4.1", "", "", "x86_64"))


@pytest.mark.parametrize(
    ("name", "version", "machine", "location"),
    [
        (
            "consul-cni",
            "1.9.5",
            "x86_64",
            "https://releases.hashicorp.com/consul-cni/1.9.5/consul-cni_1.9.5_linux_amd64.zip",
        ),
        (
            "consul-cni",
            "1.7.2",
            "aarch64",
            "https://releases.hashicorp.com/consul-cni/1.7.2/consul-cni_1.7.2_linux_arm64.zip",
        ),
        (
            "flannel",
            "v1.9.1-flannel3",
            "aarch64",
            f"{FLANNEL}/v1.9.1-flannel3/cni-plugin-flannel-linux-arm64-v1.9.1.tgz",
        ),
        ("flannel", "1.0.0", "ppc64le", f"{FLANNEL}/v1.0.0/flannel-ppc64le"),
    ],
)
def test_a_version_selects_a_known_release_of_a_project(name: str, version: str, machine: str, location: str) -> None:
    request = resolve_request(version, "", "", machine, name)
    assert request.location == location
    assert re.fullmatch("sha256:[0-9a-f]{64}", request.checksum)
    mirrored = resolve_request(version, "https://mirror/x/", "", machine, name)
    assert (mirrored.location, mirrored.checksum) == (
        f"https://mirror/x/{location.rpartition('/')[2]}",
        request.checksum,
    )


@pytest.mark.parametrize(
    ("name", "version", "machine", "asset"),
    [
        ("flannel", "1.8.0-flannel1", "x86_64", "cni-plugin-flannel-linux-amd64-v1.8.0-flannel1.tgz"),
        ("flannel", "1.8.0-flannel2", "s390x", "cni-plugin-flannel-linux-s390x-v1.8.0.tgz"),
        ("multus", "4.3.0", "armv7l", "multus-cni_4.3.0_linux_armv6.tar.gz"),
        ("multus", "4.3.0", "x86_64", "multus-cni_4.3.0_linux_amd64.tar.gz"),
        ("whereabouts", "0.9.4", "aarch64", "whereabouts-arm64"),
        ("consul-cni", "2.0.3", "i686", "consul-cni_2.0.3_linux_386.zip"),
    ],
)
def test_a_release_of_a_project_without_a_known_digest_needs_a_checksum(
    name: str, version: str, machine: str, asset: str
) -> None:
    assert resolve_request(version, "", OWN, machine, name).location.endswith(f"/{asset}")
    error = str(error_of(resolve_request, version, "", "", machine, name))
    assert "no digest is known for https://" in error
    assert f"/{asset}; known digests of {name}: " in error
    assert "set checksum to sha256:HEX" in error


def test_each_known_digest_of_a_project_is_unique_and_of_one_of_its_architectures() -> None:
    digests = [
        (architecture in project.architectures, digest)
        for project in PROJECTS.values()
        for by_architecture in project.digests.values()
        for architecture, digest in by_architecture.items()
    ]
    assert all(is_known and re.fullmatch("[0-9a-f]{64}", digest) for is_known, digest in digests)
    assert len({digest for dummy, digest in digests}) == len(digests)


def test_versions_of_other_projects_have_no_defects_of_the_reference_plugins() -> None:
    assert resolve_request("1.0.0", "x.zip", "", "x86_64", "tap").warning == ""
    assert "use 1.7.1" in str(error_of(resolve_request, "", "cni-plugins-linux-amd64-v1.7.0.tgz", "", "", "tap"))


REFUSED_SETS: dict[str, tuple[tuple[str, str, str, str, str], tuple[str, ...]]] = {
    "unknown": (("1", "", OWN, "x86_64", "tap"), ("source is missing, and no project is known by the name tap",)),
    "a mirror": (("1", "https://m/", OWN, "x86_64", "tap"), ("source is a mirror", "consul-cni, flannel, multus")),
    "no version": (("", "https://m/", OWN, "x86_64", "flannel"), ("version is missing",)),
    "architecture": (("4.3.0", "", OWN, "ppc64le", "multus"), ("multus has no release for", "ppc64le", "s390x")),
}


@pytest.mark.parametrize(("arguments", "fragments"), REFUSED_SETS.values(), ids=REFUSED_SETS)
def test_a_refused_release_of_a_project_says_what_to_do(arguments: t.Any, fragments: tuple[str, ...]) -> None:
    error = str(error_of(resolve_request, *arguments))
    for fragment in fragments:
        assert fragment in error


REFUSED: dict[str, tuple[tuple[str, str, str, str], tuple[str, ...]]] = {
    "no archives": (("0.9.0", "", OWN, "x86_64"), ("published without archives", "use 0.9.1")),
    "broken": (("v1.0.0", "", OWN, "x86_64"), ("use 1.0.1",)),
    "mixed": (("1.6.1", "", OWN, "x86_64"), ("mix two builds", "use 1.6.2")),
    "incomplete": (("1.7.0", "", OWN, "x86_64"), ("incomplete", "use 1.7.1")),
    "by its name": (("", "cni-plugins-linux-amd64-v1.7.0.tgz", "", "x86_64"), ("version 1.7.0", "use 1.7.1")),
    "unknown version": (
        ("9.9.9", "", "", "x86_64"),
        ("no digest is known for", "v9.9.9.tgz", "known digests: releases 1.9.1, "),
    ),
    "architecture": (("1.9.1", "", "", "s390x"), ("no digest is known for", "s390x", "set checksum to sha256:HEX")),
    "no release": (("1.9.1", "", "", "i686"), ("no release for this node's architecture, i686", "source and checksum")),
    "a URL": (("1.9.1", "https://m/x.tgz", "", "x86_64"), ("no digest is known for https://m/x.tgz",)),
    "contradiction": (("1.8.0", ASSET, "", "x86_64"), ("version: 1.8.0, but", "says version 1.9.1")),
    "another node's": (("", ASSET, "", "aarch64"), ("says architecture amd64, but this node has aarch64", "for arm64")),
    "nothing": (("", "https://mirror/", "", "x86_64"), ("version is missing",)),
    "no version": (("../1", "", "", "x86_64"), ("version: '../1' is not a version",)),
    "short": (("1.9.1", "", "sha256:12", "x86_64"), ("checksum: 'sha256:12' is not a checksum", "64 hexadecimal")),
    "weak": (("1.9.1", "", "md5:" + "0" * 32, "x86_64"), ("is not a checksum",)),
    "a URL as checksum": (("1.9.1", "", "sha256:https://x", "x86_64"), ("is not a checksum",)),
}


@pytest.mark.parametrize(("arguments", "fragments"), REFUSED.values(), ids=REFUSED)
def test_a_refused_request_says_what_to_do(arguments: t.Any, fragments: tuple[str, ...]) -> None:
    error = str(error_of(resolve_request, *arguments))
    for fragment in fragments:
        assert fragment in error
