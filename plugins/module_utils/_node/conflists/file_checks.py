# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find files of the conf dir that are broken or set aside, or that runtimes prefer."""

from __future__ import annotations

import os
import re
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config, runtime_reading
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import (
    BY_NAME,
    FIRST_FILE,
    SKIPPED,
    ContainerRuntime,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

# Installers and editors write files with such names, and then rename them.
_TEMPORARY = re.compile(r".*\.(conf|conflist|json)\.(new|part|partial|swp|temp|tmp|dpkg-new|dpkg-tmp)")

# They may be installed later.
_USUAL = [runtime for runtime in RUNTIMES if runtime.name in ("containerd", "crio")]

_Readers = t.Callable[[], list[ContainerRuntime]]

# Seconds; a younger file may belong to a program that is about to rename it.
_YOUNG = 60


def check(
    planned: PlannedDirectory, find: t.Callable[[], t.Iterable[FoundRuntime]], plugin_dirs: t.Sequence[str] = ()
) -> t.Iterator[Finding]:
    """Find files of a directory that runtimes prefer to those of the task, broken files and temporary files.

    Of several files of one network, libcni prefers lists to single plugins; Podman reads lists only. Other runtimes sort by
    file name alone, and all of them read hidden files.

    Args:
        find: Returns the runtimes of the node, for a finding to name them. Without one that reads the directory, what
            containerd and CRI-O do is reported.
        plugin_dirs: Where the task looks for plugins; without them, every plugin counts as installed.
    """

    def readers() -> list[ContainerRuntime]:
        present = [found.runtime for found in find() if found.reads(planned.path)]
        return [runtime for runtime in present if not runtime.through] or _USUAL

    names = _names(planned)
    for network in planned.desired:
        if network.source not in planned.misnamed:
            yield from _find_shadowed(planned, network, readers)
        yield from _find_set_aside(network, names)
    read = [name for name in names if name.endswith(runtime_reading.ENDINGS)]
    first = read[0] if read else ""
    if planned.desired:
        preferred = next((name for name in read if name[0] != "."), "")
        yield from _find_preferred(planned, preferred, readers, lambda name: _is_missing(name, plugin_dirs, find))
    yield from _find_unused(planned, first, readers)
    for name in names:
        yield from _find_leftover(planned, name, is_first=name == first)


def _find_unused(planned: PlannedDirectory, first: str, readers: _Readers) -> t.Iterator[Finding]:
    """Find files in which runtimes, or this engine, find no network."""
    for file, error in planned.broken.items():
        refused = planned.refused.get(file)
        if refused is not None:
            yield _describe_refused(refused, error, readers())
        else:
            yield _describe_broken(file, error, "fix or remove it", readers(), is_first=os.path.basename(file) == first)
    for file, error in planned.misnamed.items():
        is_first = os.path.basename(file) == first
        yield _describe_broken(file, error, f"{error.details}, or remove it", readers(), is_first=is_first)
    for file, error in conf_dir.find_misnamed(planned.path).items():
        if file not in planned.removed:
            yield _describe_broken(file, error, f"{error.details}, or remove it", (), is_first=False)


def _describe_broken(
    file: str, error: CniError, advice: str, readers: t.Iterable[ContainerRuntime], *, is_first: bool
) -> Finding:
    """Return the finding of a file in which runtimes find no network, with what that does to each of them."""
    effects = [
        f"{runtime.title}: {runtime.setup.broken}"
        for runtime in readers
        if runtime.setup.broken != SKIPPED and (is_first or runtime.setup.takes != FIRST_FILE)
    ]
    return Finding("broken-file", file, "", _message(file, error), "; ".join([advice, *effects]))


def _describe_refused(network: NetworkConfiguration, error: CniError, readers: t.Iterable[ContainerRuntime]) -> Finding:
    """Return the finding of a file that runtimes read and this engine refuses."""
    if config.is_refused_single(network):
        message = (
            f"a single plugin's configuration at version {network.version}: container runtimes read it,"
            " this collection does not"
        )
        hint = f"write it as a list, into a file whose name ends with {runtime_reading.LIST_ENDING}"
        return Finding("single-plugin", network.source, "/type", message, hint, is_conditional=True)
    titles = [runtime.title for runtime in readers if network.source.endswith(runtime.setup.endings)]
    subject = " and ".join(titles) or "container runtimes"
    message = f"{_message(network.source, error)}; {subject} read this file nevertheless, this collection does not"
    return Finding("refused-file", network.source, "", message, error.details or "correct or remove it")


def _message(file: str, error: CniError) -> str:
    """Return an error about a file without the file, which the finding has."""
    name = printable.line(file)
    return error.msg.replace(f"{name}: ", "").replace(f"{name} is ", "the file is ", 1)


def _find_shadowed(planned: PlannedDirectory, network: NetworkConfiguration, readers: _Readers) -> t.Iterator[Finding]:
    others = [other.source for other in _read_by_runtimes(planned) if other.name == network.name]
    if not others:
        return
    files = sorted([network.source, *others], key=conf_dir.precedence)
    message = f"{', '.join(files[:-1])} and {files[-1]} define network {network.name}"
    by_name = min(files)
    takers = _phrase_takers(readers())
    winner = f"the first file, but {takers} {by_name}" if takers and by_name != files[0] else "the first file"
    hint = f"remove {', '.join(others)}, or rename one of the networks"
    yield Finding("shadowed-network", network.source, "/name", f"{message}; runtimes use {winner}", hint, network.name)


def _find_preferred(
    planned: PlannedDirectory, first: str, readers: _Readers, is_missing: t.Callable[[str], bool]
) -> t.Iterator[Finding]:
    """Find a network of another file that runtimes which take the first one prefer to those of the task."""
    others = _read_by_runtimes(planned)
    winner = next((network for network in others if os.path.basename(network.source) == first), None)
    if winner is None or first in planned.own:
        return
    plugin = winner.plugins[0].type
    is_leftover = is_missing(plugin)
    if catalogue.find_plugin_type(plugin).selects_networks and not is_leftover:
        return
    if any(winner.name == network.name for network in planned.desired):  # reported as shadowed-network
        return
    takers = _phrase_takers(readers())
    if not takers:
        return
    message = f"{takers} the network {winner.name} for pods, because the name of this file sorts first"
    if is_leftover:
        message += f", and its plugin {plugin} is not installed"
        hint = f"remove it, or install {plugin}; until then, pods have no network"
    else:
        hint = "remove it, or give the preferred network a lower priority number"
    yield Finding("other-file-first", winner.source, "/name", message, hint, winner.name)


def _read_by_runtimes(planned: PlannedDirectory) -> list[NetworkConfiguration]:
    """Return the networks of other files, without those that runtimes do not find."""
    return [network for network in planned.others if network.source not in planned.misnamed]


def _is_missing(plugin: str, plugin_dirs: t.Sequence[str], find: t.Callable[[], t.Iterable[FoundRuntime]]) -> bool:
    """Return whether neither the task nor a runtime of the node finds a plugin."""
    if not plugin_dirs or any(os.path.exists(os.path.join(path, plugin)) for path in plugin_dirs):
        return False
    return not any(os.path.exists(os.path.join(path, plugin)) for found in find() for path in found.searched_dirs)


def _find_set_aside(network: NetworkConfiguration, names: t.Iterable[str]) -> t.Iterator[Finding]:
    """Find the former file of a network that is about to be written, which another program may rename again."""
    directory, own = os.path.split(network.source)
    if os.path.lexists(network.source):
        return
    for name in names:
        if name.startswith(f"{own}.") and conf_dir.is_set_aside(name):
            path = os.path.join(directory, name)
            message = f"another program has renamed {network.source} to this name, and may do so again"
            yield Finding("set-aside-file", path, "", message, conf_dir.describe_set_aside(path), network.name)


def _find_leftover(planned: PlannedDirectory, name: str, *, is_first: bool) -> t.Iterator[Finding]:
    path = os.path.join(planned.path, name)
    if name.startswith(".") and name.endswith(runtime_reading.ENDINGS):
        first = " before all others" if is_first else ""
        message = f"runtimes read this file{first}, although its name begins with a dot"
        yield Finding("leftover-file", path, "", message, "remove it if it is left over from copying")
    elif (durable.is_temporary(name) or _TEMPORARY.fullmatch(name)) and _is_old(path):
        is_own = durable.is_temporary(name)
        message = f"temporary file of an interrupted run of {'this collection' if is_own else 'another program'}"
        advice = "an editor keeps text in it that was not saved, so open it before you remove it"
        hint = "remove it with the module cni.node.gc" if is_own else advice if name.endswith(".swp") else "remove it"
        yield Finding("leftover-file", path, "", message, hint)


def _phrase_takers(readers: t.Iterable[ContainerRuntime]) -> str:
    """Return the subject and the verb of a sentence about the runtimes that take the first file, or an empty string."""
    titles = [runtime.title for runtime in readers if runtime.setup.takes != BY_NAME]
    if len(titles) < 2:
        return f"{titles[0]} uses" if titles else ""
    return f"{', '.join(titles[:-1])} and {titles[-1]} use"


def _names(planned: PlannedDirectory) -> list[str]:
    """Return the names of the files that the directory will have."""
    try:
        with os.scandir(planned.path) as entries:
            existing = {entry.name for entry in entries if not entry.is_dir()}
    except OSError:  # it does not exist yet; writing reports any other error
        existing = set()
    desired = {os.path.basename(network.source) for network in planned.desired}
    return sorted(desired | existing - {os.path.basename(path) for path in planned.removed})


def _is_old(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime > _YOUNG
    except OSError:  # gone by now
        return False
