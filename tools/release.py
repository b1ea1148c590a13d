# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the artifact into dist and sign its manifest: python -m tools.release KEY [TAG].

KEY identifies a secret key of gpg. Nothing is built if galaxy.yml, the changelog and the tag disagree.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import typing as t
from pathlib import Path

import yaml

from tools import build, tree
from tools.paths import Unavailable, run, tool

MANIFEST = "MANIFEST.json"
NOTES = "release-notes.md"
PUBLIC_KEY = "cni-node.asc"


def find_problems(source: Path, tag: str = "") -> list[str]:
    """Return why the collection in `source` cannot be released, under this tag if one is given."""
    version = _read(source / "galaxy.yml")["version"]
    waiting = sorted(path.name for path in (source / "changelogs" / "fragments").glob("*.y*ml"))
    problems = []
    if tag and tag != version:
        problems.append(f"the tag is {tag}, but galaxy.yml has version {version}")
    if version not in _read(source / "changelogs" / "changelog.yaml")["releases"]:
        problems.append(f"the changelog has no release {version}: run make changelog")
    if waiting:
        problems.append(f"the changelog lacks {', '.join(waiting)}: run make changelog")
    return problems


def _read(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def prepare(directory: Path, source: Path, key: str, tag: str = "") -> tuple[Path, Path]:
    """Write artifact, signature, public key and release notes into the directory; return the paths of the first two.

    Raises:
        Unavailable: The collection cannot be released, or a program failed.
    """
    problems = find_problems(source, tag)
    if problems:
        raise Unavailable("; ".join(problems))
    artifact = build.artifact(directory, source)
    if artifact is None:
        raise Unavailable("ansible-galaxy could not build the artifact; its message is above")
    signature = artifact.with_name(artifact.name.replace(".tar.gz", f"-{MANIFEST}.asc"))
    sign(read_manifest(artifact), key, signature)
    (directory / PUBLIC_KEY).write_bytes(_call_gpg("--armor", "--export", key))
    notes: list[str | Path] = ["generate", "--only-latest", "--output-format", "md", "--output", directory / NOTES]
    if run([tool("antsibull-changelog"), *notes], cwd=source) != 0:
        raise Unavailable("antsibull-changelog could not write the release notes; its message is above")
    return artifact, signature


def read_manifest(artifact: Path) -> bytes:
    """Return the manifest of an artifact, which has the digests of all other files."""
    with tarfile.open(artifact) as archive:
        stream = archive.extractfile(MANIFEST)
        assert stream is not None
        return stream.read()


def sign(manifest: bytes, key: str, signature: Path) -> None:
    """Write the detached, armoured signature that `ansible-galaxy collection verify --signature` expects."""
    signature.write_bytes(_call_gpg("--local-user", key, "--armor", "--detach-sign", "-", data=manifest))


def _call_gpg(*arguments: str, data: bytes = b"") -> bytes:
    """Return what gpg prints; raise Unavailable when it is missing or fails."""
    try:
        return subprocess.run(["gpg", "--batch", *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout
    except FileNotFoundError as exc:
        raise Unavailable("gpg is missing: install the package gnupg") from exc
    except subprocess.CalledProcessError as exc:
        raise Unavailable(f"gpg failed with status {exc.returncode}; its message is above") from exc


def main(argv: t.Sequence[str]) -> int:
    key, tag = [*argv, "", ""][:2]
    try:
        if not key:
            raise Unavailable("name the key of gpg that signs: make release KEY=FINGERPRINT")
        for path in prepare(build.DIST, tree.copy(tree.place_for("release")), key, tag):
            print(path)
    except Unavailable as exc:
        print(f"make release: {exc}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
