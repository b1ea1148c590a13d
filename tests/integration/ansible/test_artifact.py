# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The artifact as Galaxy gives it to users: its files, its signature, and the main job on every line of ansible-core."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import galaxy
from ansible_collections.cni.node.tests.support.namespaces import links
from tools import build, cores, release, tree
from tools.paths import ROOT, VENV

# What the installed collection must work with: Ansible's requirements for collections name these four.
USED = {"meta", "playbooks", "plugins", "roles"}
PACKAGED = USED | {
    *("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "COPYING", "LICENSES", "README.md", "REUSE.toml"),
    *("FILES.json", "MANIFEST.json", "SECURITY.md", "changelogs", "docs", "extensions", "tests"),
}
NETWORK = {
    "cniVersion": "1.0.0",
    "name": "dbnet",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipMasq": True,
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/16"},
        }
    ],
}
VARIABLES: JsonObject = {
    # Kernel settings belong to the sandbox.
    "cni_node_concerns": ["networks", "attachments"],
    "cni_node_builtin": "always",
    "cni_node_conflists": [{"config": NETWORK}],
    "cni_node_attachments": [{"network": "dbnet", "netns": "red"}, {"network": "dbnet", "netns": "blue"}],
}
# Bytes that each call sends besides what a ping does, with the attachments of the benchmark.
BUDGET = 20 * 1024
CONTAINERS = [f"bench{number:04d}" for number in range(20)]
NOT_LAUNCHED = {"launcher", "show"}
ARGUMENTS: dict[str, JsonObject] = {
    "attachments": {
        "attachments": bench_networks.items(bench_networks.example("/run/leases"), CONTAINERS, "/run/netns")
    },
    "conflists": {"conflists": []},
    "metrics": {"path": "/tmp/cni.prom"},
    "netns": {"names": []},
    "plugins": {"source": "builtin"},
    "verify": {"networks": []},
}


@dataclasses.dataclass(frozen=True)
class Done:
    """An ended program."""

    status: int
    output: str

    def require_success(self) -> str:
        assert self.status == 0, self.output
        return self.output

    def require_failure(self) -> str:
        assert self.status != 0, self.output
        return self.output


class Controller:
    """A directory with nothing but installed collections, and the programs of one environment."""

    def __init__(self, path: pathlib.Path, programs: pathlib.Path, python: pathlib.Path) -> None:
        """
        Args:
            programs: The directory of ansible-playbook.
            python: The interpreter of modules; it knows no collection.
        """
        self.path = path
        self.collections = path / "collections"
        self.collection = self.collections / "ansible_collections" / "cni" / "node"
        self._programs = programs
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
        self._environment = {
            **kept,
            "ANSIBLE_HOME": str(path / ".ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            # Environments for development have the checkout along Python's own path.
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
            "ANSIBLE_PYTHON_INTERPRETER": str(python),
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_DEVEL_WARNING": "false",
        }

    def run(self, program: str, *arguments: str | pathlib.Path, **environment: str) -> Done:
        done = subprocess.run(
            [str(self._programs / program), *map(str, arguments)],
            check=False,
            cwd=self.path,
            env={**self._environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Done(done.returncode, done.stdout)

    def install(self, collection: str | pathlib.Path, *options: str) -> Done:
        """Install an artifact, or a collection of a server by its name."""
        words = ("collection", "install", "--force", "--collections-path", self.collections)
        return self.run("ansible-galaxy", *words, *options, collection)

    def verify(self, *options: str) -> Done:
        words = ("collection", "verify", "--offline", "--collections-path", self.collections)
        return self.run("ansible-galaxy", *words, *options, "cni.node")

    def play(self, playbook: str, *options: str) -> Done:
        """Run a playbook of the collection on this node."""
        variables = self.path / "variables.json"
        variables.write_text(json.dumps(VARIABLES), encoding="utf-8")
        return self.run(
            "ansible-playbook", "-i", "node,", "-c", "local", "-e", f"@{variables}", *options, f"cni.node.{playbook}"
        )


def installed_controller(path: pathlib.Path, core: cores.Core, artifact: pathlib.Path) -> Controller:
    """Install the artifact for a line of ansible-core; skip the test where this machine does not have it."""
    programs, python = VENV / "bin" if core is OWN else core.env / "bin", core.python()
    if python is None or not (programs / "ansible-playbook").exists():
        pytest.skip(f"there is no environment with ansible-core {core.line}: `make test-all` makes it")
    controller = Controller(path, programs, python)
    controller.install(artifact, "--offline").require_success()
    return controller


OLDEST = cores.ALL[0]
OWN = cores.OWN


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = build.artifact(tmp_path_factory.mktemp("dist"), tree.copy(tmp_path_factory.mktemp("tree") / "source"))
    assert path is not None
    return path


def test_the_artifact_has_what_users_need_and_no_development_files(artifact: pathlib.Path) -> None:
    with tarfile.open(artifact) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    assert {name.split("/")[0] for name in files} <= PACKAGED
    assert [name for name in files if name.startswith("tests/")] == ["tests/config.yml"]
    assert [name for name in files if re.search(r"molecule|changelogs/fragments|\.pyc$|(^|/)\.", name)] == []
    # Galaxy accepts 20 MB.
    assert artifact.stat().st_size < 2_000_000


def test_a_changed_file_is_found(tmp_path: pathlib.Path, artifact: pathlib.Path) -> None:
    controller = installed_controller(tmp_path, OWN, artifact)
    controller.verify().require_success()
    with (controller.collection / "plugins" / "modules" / "netns.py").open("a", encoding="utf-8") as module:
        module.write("# changed\n")
    assert "plugins/modules/netns.py" in controller.verify().require_failure()


class Gpg:
    """A home directory of gpg with one key."""

    def __init__(self, home: pathlib.Path) -> None:
        home.mkdir(mode=0o700)
        self.home = home
        self.keyring = home / "keyring.kbx"
        # Neither a passphrase nor an expiry: the key ends with the test.
        self._run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.org", "ed25519", "sign")

    def _run(self, *argv: str) -> bytes:
        environment = {**os.environ, "GNUPGHOME": str(self.home)}
        return subprocess.run(argv, check=True, capture_output=True, env=environment).stdout

    def trust(self, public_key: pathlib.Path) -> None:
        """Import a key into the keyring, as docs/releases.md shows."""
        self._run("gpg", "--batch", "--no-default-keyring", "--keyring", str(self.keyring), "--import", str(public_key))

    def end(self) -> None:
        self._run("gpgconf", "--kill", "all")


@pytest.fixture
def gpg(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Gpg]:
    if not shutil.which("gpg-agent"):
        pytest.skip("gpg is missing: install gnupg")
    made = Gpg(tmp_path / "gnupg")
    monkeypatch.setenv("GNUPGHOME", str(made.home))
    yield made
    made.end()


def forge(artifact: pathlib.Path, name: str, text: bytes) -> bytes:
    """Return the content of an artifact with another content of a file, and with digests that fit."""
    with tarfile.open(artifact) as archive:
        members = archive.getmembers()
        streams = {member.name: archive.extractfile(member) for member in members}
        contents = {path: stream.read() if stream else b"" for path, stream in streams.items()}
    contents[name] = text
    files = json.loads(contents["FILES.json"])
    for entry in files["files"]:
        if entry["name"] == name:
            entry["chksum_sha256"] = hashlib.sha256(text).hexdigest()
    contents["FILES.json"] = json.dumps(files).encode()
    manifest = json.loads(contents["MANIFEST.json"])
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(contents["FILES.json"]).hexdigest()
    contents["MANIFEST.json"] = json.dumps(manifest).encode()
    forged = io.BytesIO()
    with tarfile.open(fileobj=forged, mode="w:gz") as copy:
        for member in members:
            member.size = len(contents[member.name])
            copy.addfile(member, io.BytesIO(contents[member.name]))
    return forged.getvalue()


# Fail also if there is no signature.
EVERY_SIGNATURE = ("--required-valid-signature-count", "+all")


def publish(url: str, token: str) -> Done:
    """Upload the artifact in dist as the workflow does."""
    environment = {**os.environ, "ANSIBLE_GALAXY_SERVER_GALAXY_URL": url, "GALAXY_TOKEN": token}
    # .venv is not made again in the middle of a test.
    argv = ["make", "--old-file=venv", "publish"]
    done = subprocess.run(argv, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    return Done(done.returncode, done.stdout + done.stderr)


def test_a_signed_release_is_installed_from_galaxy_and_a_forged_one_is_refused(
    tmp_path: pathlib.Path, gpg: Gpg
) -> None:
    artifact, signature = release.prepare(build.DIST, tree.copy(tmp_path / "source"), "test@example.org")
    gpg.trust(build.DIST / release.PUBLIC_KEY)
    assert "Release Summary" in (build.DIST / release.NOTES).read_text(encoding="utf-8")
    version = artifact.name.split("-")[2].replace(".tar.gz", "")
    controller = Controller(tmp_path, VENV / "bin", pathlib.Path("/usr/bin/python3"))
    signed = ("--signature", signature.as_uri(), "--keyring", str(gpg.keyring), *EVERY_SIGNATURE)
    with galaxy.serve(version) as server:
        assert "HTTP Code: 401" in publish(server.url, "wrong").require_failure()
        assert galaxy.TOKEN not in publish(server.url, galaxy.TOKEN).require_success()
        assert server.artifact == artifact.read_bytes()
        from_galaxy = ("--server", server.url, "--no-cache", *signed)
        controller.install("cni.node", *from_galaxy).require_success()
        controller.verify(*signed).require_success()

        server.artifact = forge(artifact, "plugins/modules/netns.py", b"raise SystemExit\n")
        refused = controller.install("cni.node", *from_galaxy).require_failure()
        assert "Not installing cni.node because GnuPG signature verification failed" in refused
        # Without the signature, nothing tells the forged artifact from the true one.
        controller.install("cni.node", "--server", server.url, "--no-cache").require_success()
    controller.verify().require_success()
    assert "Signature verification failed for 'cni.node'" in controller.verify(*signed).require_failure()


@pytest.mark.parametrize(
    "core",
    [
        pytest.param(
            core, id=core.line, marks=() if core is OWN else pytest.mark.outer("another release of ansible-core")
        )
        for core in cores.ALL
    ],
)
def test_the_installed_artifact_does_the_main_job(
    node: EngineNode, tmp_path: pathlib.Path, artifact: pathlib.Path, core: cores.Core
) -> None:
    controller = installed_controller(tmp_path, core, artifact)
    for path in controller.collection.iterdir():
        if path.name not in USED | {"MANIFEST.json"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "0 errors" in controller.play("validate").require_success()
    template = f"{{{{ lookup('pipe', 'touch {controller.path}/evaluated') }}}}"
    network = {"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "acme", "note": template}]}
    (controller.path / "10-a.conflist").write_text(json.dumps(network), encoding="utf-8")
    validated = controller.play(
        "validate", "-e", f"cni_node_conflist_files={controller.path}/10-a.conflist"
    ).require_success()
    assert "(unrendered-value)" in validated
    assert not (controller.path / "evaluated").exists()
    assert "changed=0" not in controller.play("provision").require_success()
    assert "cni0" in links()
    assert "as provisioned, and every network works" in controller.play("verify").require_success()
    if core in (OLDEST, OWN):
        report = controller.play("report", "-e", "cni_node_report_path=fleet.html").require_success()
        assert re.search(r"node +.* dbnet ", report)
        assert "dbnet" in (controller.path / "fleet.html").read_text(encoding="utf-8")
        assert "cni0" in (controller.path / "fleet.json").read_text(encoding="utf-8")
        assert json.loads((controller.path / "fleet.json").read_text(encoding="utf-8"))["summary"]["nodes"] == 1
    if core is OWN:
        controller.play("remove").require_success()
        assert "cni0" not in links()


def test_the_checkout_is_out_of_reach_of_the_installed_artifact(tmp_path: pathlib.Path, artifact: pathlib.Path) -> None:
    controller = installed_controller(tmp_path, OWN, artifact)
    shutil.rmtree(controller.collection)
    assert "cni.node.validate" in controller.play("validate").require_failure()


def test_the_size_of_each_call_is_within_the_budget(
    node: EngineNode, tmp_path: pathlib.Path, artifact: pathlib.Path
) -> None:
    controller = installed_controller(tmp_path, OWN, artifact)
    modules = sorted(path.stem for path in (controller.collection / "plugins" / "modules").glob("*.py"))
    tasks: list[JsonObject] = [{"cni.node.library": {}, "check_mode": False}, {"ansible.builtin.ping": {}}]
    tasks += [{f"cni.node.{module}": ARGUMENTS.get(module, {})} for module in modules if module not in NOT_LAUNCHED]
    play = {"hosts": "all", "gather_facts": False, "ignore_errors": True, "check_mode": True, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    remote = {"ANSIBLE_KEEP_REMOTE_FILES": "true", "ANSIBLE_REMOTE_TEMP": str(tmp_path / "remote")}
    output = controller.run("ansible-playbook", "-i", "node,", "-c", "local", "play.yml", **remote).require_success()
    sizes: dict[str, list[int]] = collections.defaultdict(list)
    for path in (tmp_path / "remote").glob("*/AnsiballZ_*.py"):
        sizes[path.name].append(path.stat().st_size)
    assert sizes.keys() == {"AnsiballZ_launcher.py", "AnsiballZ_ping.py"}, output
    assert max(sizes["AnsiballZ_launcher.py"]) <= max(sizes["AnsiballZ_ping.py"]) + BUDGET
    assert len(list((tmp_path / "remote").glob("*/cni_node_library.zip"))) == 1
