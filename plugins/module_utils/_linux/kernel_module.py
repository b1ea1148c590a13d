# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kernel modules: whether they are loaded, built in or can be loaded."""

from __future__ import annotations

import enum
import functools
import os
import re
import typing as t
import zlib

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program

_NAME = re.compile(r"[a-zA-Z0-9_]+", re.ASCII)
_ROOT = "/"
_SIZE_LIMIT = 16 * 1024 * 1024
# Some kernels, 6.1 among them, fail with ENOMEM when more than 4 MiB of a setting are read.
_SETTING_LIMIT = 64
_CAP_SYS_MODULE = 16

# Names in the kernel's configuration of modules whose own name differs.
_OPTIONS = {
    "8021q": "VLAN_8021Q",
    "br_netfilter": "BRIDGE_NETFILTER",
    "nft_chain_nat": "NFT_NAT",
    "overlay": "OVERLAY_FS",
    "vrf": "NET_VRF",
    "xt_MASQUERADE": "NETFILTER_XT_TARGET_MASQUERADE",
    "xt_mark": "NETFILTER_XT_MARK",
    "xt_nat": "NETFILTER_XT_NAT",
}
_PREFIXES = {"sch_": "NET_SCH_", "act_": "NET_ACT_", "cls_": "NET_CLS_", "xt_": "NETFILTER_XT_MATCH_"}


class State(enum.Enum):
    PRESENT = "present"
    BUILT_IN = "built_in"
    LOADABLE = "loadable"


def canonical(name: str) -> str:
    """Return a module's name as the kernel shows it.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    shown = name.replace("-", "_")
    if not _NAME.fullmatch(shown):
        raise CniError(
            Code.INVALID_CONFIG, f"{name!r} is not a kernel module name", "expected: letters, digits, '_' and '-'"
        )
    return shown


def state(name: str) -> State:
    """Return the state of a module: loaded, built in or loadable.

    Raises:
        CniError: ``NOT_AVAILABLE``: the kernel does not have it, or this process may not load it.
    """
    return _loaded_state(name) or (State.BUILT_IN if _is_built_in(name) else _on_disk(name))


def load(names: t.Sequence[str]) -> None:
    """Load modules.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("modprobe")
    if names and path:
        program.output([path, "-a", *names])


def _loaded_state(name: str) -> State | None:
    directory = _path("sys/module", name)
    if not os.path.isdir(directory):
        return None
    return State.PRESENT if os.path.exists(os.path.join(directory, "initstate")) else State.BUILT_IN


def _is_built_in(name: str) -> bool:
    """Return whether the running kernel's files list a module as built in; /sys shows only some of these."""
    listed = _built_in_modules()
    if listed is not None:
        return name in listed
    option = _OPTIONS.get(name) or _by_prefix(name)
    return f"\nCONFIG_{option}=y\n".encode() in _configuration()


def _by_prefix(name: str) -> str:
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    return (_PREFIXES.get(prefix, "") + name[len(prefix) :]).upper()


@functools.lru_cache(maxsize=1)
def _built_in_modules() -> frozenset[str] | None:
    content = _read("lib/modules", os.uname().release, "modules.builtin")
    return None if content is None else frozenset(_module_name(line) for line in content.decode().splitlines())


@functools.lru_cache(maxsize=1)
def _configuration() -> bytes:
    packed = _read("proc/config.gz")
    if packed is not None:
        return zlib.decompressobj(wbits=31).decompress(packed, _SIZE_LIMIT)
    return _read("boot", f"config-{os.uname().release}") or b""


def _module_name(path: str) -> str:
    return os.path.basename(path.strip()).split(".ko", 1)[0].replace("-", "_")


def _on_disk(name: str) -> State:
    path = program.find("modprobe")
    if not os.path.exists(_path("proc/modules")):
        raise _unavailable("the running kernel does not have it and does not support loadable modules")
    if path is None:
        raise _unavailable("it is not loaded, and modprobe is missing: install kmod")
    directory = _path("lib/modules", os.uname().release)
    if not os.path.isdir(directory):
        raise _unavailable(
            f"it is not loaded, and {directory} is missing: "
            "boot the installed kernel; in a container, load it on the host"
        )
    try:
        steps = program.output([path, "-D", name]).split("\n")
    except CniError as exc:
        problem = f"the running kernel does not have it: {exc.details or exc.msg}"
        raise _unavailable(
            f"{problem}; some distributions have a package for it, such as kernel-modules-extra"
        ) from exc
    last = [step for step in steps if step][-1:]
    return _by_step(last[0].split() if last else ["builtin"])


def _by_step(step: t.Sequence[str]) -> State:
    """Return the state by the last step of modprobe, as a name may be an alias of another module."""
    if step[0] == "builtin":
        return State.BUILT_IN
    if step[0] == "install" and os.path.basename(step[1]) in ("true", "false"):
        raise _unavailable(f"modprobe's configuration forbids it: {' '.join(step)}")
    running = _loaded_state(_module_name(step[1])) if step[0] == "insmod" else None
    if running is None:
        _require_rights()
    return running or State.LOADABLE


def _require_rights() -> None:
    if (_read("proc/sys/kernel/modules_disabled", limit=_SETTING_LIMIT) or b"").strip() == b"1":
        raise _unavailable(
            "it is not loaded, and module loading is disabled until the next boot (kernel.modules_disabled)"
        )
    if not _capabilities() >> _CAP_SYS_MODULE & 1:
        raise _unavailable(
            "it is not loaded, and this process may not load modules (CAP_SYS_MODULE): "
            "in a container, load it on the host"
        )


def _capabilities() -> int:
    status = (_read("proc/self/status") or b"").decode()
    match = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return int(match[1], 16) if match else 0


def _path(*parts: str) -> str:
    return os.path.join(_ROOT, *parts)


def _read(*parts: str, limit: int = _SIZE_LIMIT) -> bytes | None:
    return durable.read(_path(*parts), limit=limit)


def _unavailable(problem: str) -> CniError:
    return CniError(Code.NOT_AVAILABLE, problem)
