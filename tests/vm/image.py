# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the machine's disk: Debian from the mirror that this machine's apt uses, in a file system of its own."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

from ansible_collections.cni.node.tests.vm import recipe

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "vm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class ImageRefused(Exception):
    """The machine cannot be made or run; the text is one sentence for the user."""


def ready(cache: pathlib.Path = CACHE) -> pathlib.Path | None:
    """Return the directory of the image, or None if it is missing or older than the recipe."""
    image = cache / recipe.stamp()
    return image if image.is_dir() else None


def build(cache: pathlib.Path = CACHE) -> pathlib.Path:
    """Return a directory with disk.img, vmlinuz, initrd.img and throw-away keys; building takes a minute or two."""
    image = ready(cache)
    if image:
        return image
    unfinished = cache / "unfinished"
    for old in cache.glob("*"):
        shutil.rmtree(old)
    root = unfinished / "root"
    root.mkdir(parents=True)
    _install(root)
    _prepare_root(root, unfinished)
    _pack(root, unfinished)
    shutil.rmtree(root)
    return unfinished.rename(cache / recipe.stamp())


def _install(root: pathlib.Path) -> None:
    packages = ",".join((recipe.kernel(), *recipe.PACKAGES))
    options = ["--variant=minbase", f"--keyring={KEYRING}", f"--include={packages}"]
    _run(
        ["debootstrap", *options, recipe.SUITE, root, mirror()],
        env={**os.environ, **_proxy(), "DEBIAN_FRONTEND": "noninteractive"},
    )
    # No package is installed after this.
    shutil.rmtree(root / "var/cache/apt")
    shutil.rmtree(root / "var/lib/apt/lists")


def mirror() -> str:
    """Return the mirror from which apt would get the suite."""
    form = "$(CODENAME) $(COMPONENT) $(REPO_URI)"
    for line in _read_output(["apt-get", "indextargets", "--format", form, "Created-By: Packages"]).splitlines():
        suite, component, address = line.split()
        if (suite, component) == (recipe.SUITE, "main"):
            return address
    raise ImageRefused(f"this machine's apt knows no source of Debian {recipe.SUITE}: add one to /etc/apt")


def _proxy() -> dict[str, str]:
    setting = _read_output(["apt-config", "shell", "http_proxy", "Acquire::http::Proxy"]).strip()
    name, dummy, value = setting.partition("=")
    return {name: value.strip("'")} if value.strip("'") else {}


def _prepare_root(root: pathlib.Path, out: pathlib.Path) -> None:
    for name, text in recipe.FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    _run(["chroot", root, "systemctl", "enable", "--quiet", *recipe.ENABLED])
    _run(["chroot", root, "systemctl", "disable", "--quiet", *recipe.DISABLED])
    _run(["chroot", root, "systemctl", "mask", "--quiet", *recipe.MASKED])
    _give_keys(root, out)
    # The root file system of a container, with one program.
    for directory in ("bin", "dev", "etc", "proc", "run", "sys", "tmp"):
        (root / "srv/container" / directory).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", root / "srv/container/bin/busybox")


def _give_keys(root: pathlib.Path, out: pathlib.Path) -> None:
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    host = root / "etc/ssh/ssh_host_ed25519_key"
    for path in (host, out / "client_key"):
        _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "throw-away", "-f", path])
    (out / "host_key.pub").write_text(host.with_suffix(".pub").read_text(encoding="utf-8"), encoding="utf-8")
    home = root / "root/.ssh"
    home.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(out / "client_key.pub", home / "authorized_keys")


def _pack(root: pathlib.Path, out: pathlib.Path) -> None:
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(next((root / "boot").glob(f"{name}-*")), out / name)
    _run(["truncate", f"--size={recipe.SIZE}", out / "disk.img"])
    _run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", root, out / "disk.img"])


def _read_output(argv: t.Sequence[str]) -> str:
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    except OSError as error:
        raise ImageRefused(
            f"{argv[0]} cannot be run ({error.strerror}): the image is made on a Debian machine"
        ) from error


def _run(argv: t.Sequence[str | pathlib.Path], env: t.Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        argv,
        check=False,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-20:])
        raise ImageRefused(f"{argv[0]} ended with {done.returncode} while the image was made:\n{last}")
