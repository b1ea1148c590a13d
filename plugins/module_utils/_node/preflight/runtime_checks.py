# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare what a runtime needs with what the node has, without changing anything."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.access import exposures
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements
from ansible_collections.cni.node.plugins.module_utils._node.kernel.planned_changes import plan_modules, plan_settings
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs, add_network
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import read_description
from ansible_collections.cni.node.plugins.module_utils._node.preflight.preflight_check import (
    MISSING,
    OK,
    WARNING,
    PreflightCheck,
)
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import (
    BY_NAME,
    SKIPPED,
    ContainerRuntime,
)
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import executables

# The package of Podman has this file, also in releases without CNI.
_PODMAN_TMPFILES = ("/etc/tmpfiles.d/podman.conf", "/usr/lib/tmpfiles.d/podman.conf")
_EMPTIED = re.compile(rb"^[Dr]!?\s+/var/lib/cni/networks\s*$", re.MULTILINE)
# CRI-O of this release and newer runs GC when it starts.
_COLLECTS_SINCE = (1, 32)


class Wanted(t.NamedTuple):
    """The directories that the task writes to.

    Attributes:
        conf_dir: The directory of network configurations.
        bin_dir: The directory in which plugins are installed.
    """

    conf_dir: str
    bin_dir: str


class RuntimeChecks:
    """The checks of one runtime that the node has."""

    def __init__(self, found: FoundRuntime, wanted: Wanted, root: str = "/") -> None:
        """
        Args:
            root: Files of other programs are below it; another directory in tests.
        """
        self._found = found
        self._wanted = wanted
        self._root = root.rstrip("/")
        self._runtime = found.runtime
        self._setup = found.runtime.setup

    def run(self) -> list[PreflightCheck]:
        """Return all checks.

        Raises:
            CniError: ``IO_FAILURE``: a directory cannot be read.
        """
        directory = conf_dir.load(self._found.conf_path)
        checks = [
            self._check_service(),
            *self._check_conf_dir(directory),
            *self._check_networks(directory),
            *self._check_plugin_dirs(),
            *self._check_plugins(directory),
            *self._check_dhcp(directory),
            *self._check_kernel(),
            *self._check_routers(directory),
            *self._check_neighbours(directory),
        ]
        return [check for check in checks if check is not None]

    def _make(self, subject: str, needed: str, found: str, state: str = OK, hint: str = "") -> PreflightCheck:
        return PreflightCheck(self._runtime.name, subject, needed, found, state, hint)

    def _check_service(self) -> PreflightCheck:
        version = self._found.version or "unknown version"
        units = self._found.units
        if not self._runtime.units:
            return self._make("program", self._runtime.title, version)
        active = [unit for unit, is_active in units.items() if is_active]
        if active:
            return self._make("service", "active", f"{active[0]} is active, {version}")
        if units:
            unit = next(iter(units))
            found, hint = f"{unit} is not active", f"run systemctl start {unit}"
        else:
            unit = self._runtime.units[0]
            found = f"there is no {unit}"
            hint = f"install the service of {self._runtime.title}; without systemd, start {self._found.program} as this system does"
        return self._make("service", "active", f"{found}, {version}", MISSING, hint)

    def _check_conf_dir(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        found, wanted = self._found, self._wanted.conf_dir
        if found.error is not None:
            yield self._make("configuration", "readable", found.error.msg, WARNING, "its usual directories are assumed")
        where = found.conf_dir.origin
        if found.reads(wanted):
            yield self._make("conf dir", wanted, f"{directory.path}, {where}")
        else:
            hint = f"set cni_node_conf_dir to {directory.path}"
            yield self._make("conf dir", wanted, f"it reads {directory.path}, {where}", MISSING, hint)

    def _check_networks(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        setup = self._setup
        for path, error in sorted({**directory.broken, **directory.misnamed}.items()):
            yield self._check_file(path, error, directory)
        for path, error in sorted(conf_dir.find_misnamed(directory.path).items()):
            hint = f"{error.details}, or remove {path}"
            yield self._make("network file", "a name that runtimes read", error.msg, WARNING, hint)
        if setup.takes == BY_NAME:
            for network in directory.runtime_networks:
                yield self._check_name(network)
            return
        names = conf_dir.list_files(directory.path, setup.endings)
        readable = (*directory.networks.values(), *directory.shadowed, *directory.refused.values())
        valid = {
            os.path.basename(network.source): network
            for network in readable
            if network.source not in directory.misnamed
        }
        taken = next((valid[name] for name in names if name in valid), None)
        if taken is None:
            hint = "write one with cni.node.conflists; pods stay without network until then"
            yield self._make("network", "one valid file", f"none in {directory.path}", MISSING, hint)
        else:
            yield self._check_taken(taken)

    def _check_taken(self, network: NetworkConfiguration) -> PreflightCheck:
        found = f"{network.name}, from {network.source}"
        types = dict.fromkeys(plugin.type for plugin in network.plugins)
        missing = [name for name in types if not any(map(durable.is_executable, self._plugin_paths(name)))]
        if not missing:
            return self._make("network", self._setup.takes, found)
        names = ", ".join(missing)
        hint = f"remove {network.source} if it is left over, or install {names}; pods stay without network until then"
        found = f"{found}, without its {printable.plural('plugin', len(missing))} {names}"
        return self._make("network", self._setup.takes, found, MISSING, hint)

    def _check_file(self, path: str, error: CniError, directory: ConfDir) -> PreflightCheck:
        """Return the check of a file that this collection does not read, or that runtimes do not."""
        if path in directory.refused:
            hint = f"{self._runtime.title} reads it, but this collection does not: {error.details or 'correct it'}"
            return self._make("network file", "readable by this collection", error.msg, WARNING, hint)
        state = WARNING if self._setup.broken == SKIPPED else MISSING
        advice = error.details if path in directory.misnamed else f"fix or remove {path}"
        return self._make("network file", "valid", error.msg, state, f"{advice}; until then, {self._setup.broken}")

    def _check_name(self, network: NetworkConfiguration) -> PreflightCheck:
        subject, name = f"network {network.name}", os.path.basename(network.source)
        if not name.endswith(self._setup.endings):
            endings = " or ".join(self._setup.endings)
            return self._make(subject, f"a file that ends with {endings}", name, WARNING, f"rename {network.source}")
        if self._runtime.name == "nomad" and network.name != network.name.lower():
            hint = "rename the network: Nomad looks for the name in lower case"
            return self._make(subject, "a name in lower case", network.name, MISSING, hint)
        return self._make(subject, "by its name", network.source)

    def _check_plugin_dirs(self) -> t.Iterator[PreflightCheck]:
        searched, file = self._found.searched_dirs, self._found.plugin_dirs.file
        shown = f"{', '.join(searched)}, {self._found.plugin_dirs.origin}"
        if not self._setup.bin_dir:
            yield self._make("plugin dirs", "plugins of its own", shown)
        elif self._found.searches(self._wanted.bin_dir):
            yield self._make("plugin dirs", self._wanted.bin_dir, shown)
        else:
            hint = f"set cni_node_bin_dir to {searched[0]}, or let it search there: {file or self._setup.plugin_dirs.files[0]}"
            yield self._make("plugin dirs", self._wanted.bin_dir, shown, MISSING, hint)
        for exposure in {each.path: each for path in searched for each in exposures(path)}.values():
            hint = f"plugins run as root: run chown root {exposure.path} and chmod go-w {exposure.path}"
            state = MISSING if exposure.is_world_writable else WARNING
            yield self._make(f"owner of {exposure.path}", "root alone can write", exposure.reason, state, hint)

    def _check_plugins(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        lowest = dict(self._setup.plugins)
        for network in directory.runtime_networks:
            for executable in executables(network):
                lowest.setdefault(executable.type, "")
        for name, release in sorted(lowest.items()):
            yield self._check_plugin(name, release)

    def _check_plugin(self, name: str, lowest: str) -> PreflightCheck:
        subject, needed = f"plugin {name}", f"{lowest} or newer" if lowest else "installed"
        paths = self._plugin_paths(name)
        path = next(filter(durable.is_executable, paths), "")
        if not path:
            searched = ", ".join(self._found.searched_dirs)
            file = next(filter(os.path.isfile, paths), "")
            if file:
                hint = f"run chmod 0755 {file}, and mount its file system without noexec"
                return self._make(subject, needed, f"{file} cannot be run", MISSING, hint)
            hint = f"install it with cni.node.plugins in {self._choose_bin_dir()}"
            return self._make(subject, needed, f"not in {searched}", MISSING, hint)
        is_safe = not any(exposure.is_world_writable for exposure in exposures(path))
        release = read_description(path).release if lowest and is_safe else ""
        if lowest and release and _numbers(release) < _numbers(lowest):
            return self._make(
                subject, needed, f"{path} is {release}", MISSING, "install a newer release of the plugins"
            )
        return self._make(subject, needed, f"{path}{f', {release}' if release else ''}")

    def _check_dhcp(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        """Check that the DHCP daemons of the networks run."""
        daemons = (daemon for network in directory.runtime_networks for daemon in dhcp_daemon.find_daemons(network))
        for path, daemon in sorted({daemon.socket: daemon for daemon in daemons}.items()):
            subject, needed = f"daemon of the plugin {dhcp_daemon.PLUGIN}", f"listens on {path}"
            if daemon.fault:
                yield self._make(subject, needed, daemon.fault, MISSING, daemon.hint)
            else:
                yield self._make(subject, needed, needed)

    def _plugin_paths(self, name: str) -> list[str]:
        return [os.path.join(path, name) for path in self._found.searched_dirs]

    def _choose_bin_dir(self) -> str:
        """Return the directory in which to install a plugin: the one of the task, if the runtime looks there."""
        searched = self._found.searched_dirs
        return self._wanted.bin_dir if self._wanted.bin_dir in searched else searched[0]

    def _check_kernel(self) -> t.Iterator[PreflightCheck]:
        setup = self._setup
        if setup.sets_kernel:
            return
        reason = [self._runtime.title]
        problems: list[str] = []
        needs = Needs(
            dict.fromkeys(setup.modules, reason), dict.fromkeys(setup.sysctls, reason), {}, dict(setup.sysctls)
        )
        modules = plan_modules(needs, problems)
        loaded = {change.name for change in modules if change.action == "loaded"}
        for change in modules:
            is_loaded = change.action != "loaded"
            hint = "" if is_loaded else f"add {change.name} to cni_node_modules, or run modprobe {change.name}"
            found = change.action.replace("_", " ") if is_loaded else "not loaded"
            yield self._make(f"kernel module {change.name}", "loaded", found, OK if is_loaded else MISSING, hint)
        for setting in plan_settings(sorted(setup.sysctls), needs, loaded, problems):
            is_set = setting.before == setting.after
            hint = "" if is_set else f"add it to cni_node_sysctls, or run sysctl {setting.name}={setting.after}"
            found = "not there yet" if setting.before is None else setting.before
            yield self._make(f"kernel setting {setting.name}", setting.after, found, OK if is_set else MISSING, hint)
        for problem in problems:
            yield self._make("kernel", "available", problem, MISSING)

    def _check_routers(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        """Check that the node keeps the IPv6 routers that it learns."""
        needs = Needs(values=dict(self._setup.sysctls))
        for network in directory.runtime_networks:
            add_network(needs, network)
        if needs.values.get(router_advertisements.FORWARDING) != "1":
            return
        for link in router_advertisements.find_dependent_links():
            setting = router_advertisements.accept_setting(link)
            hint = f"add {setting}: {router_advertisements.KEPT} to cni_node_sysctls; {router_advertisements.describe_loss(link)}"
            needed = f"{setting} {router_advertisements.KEPT}"
            yield self._make(f"default route of {link}", needed, f"{setting} 1", WARNING, hint)

    def _check_neighbours(self, directory: ConfDir) -> t.Iterator[PreflightCheck]:
        """Check what other programs of the node do to attachments."""
        for path in (f"{self._root}{path}" for path in _PODMAN_TMPFILES):
            if self._runtime.name != "podman" and os.path.exists(path):
                if _EMPTIED.search(durable.read(path) or b""):
                    hint = "copy it to /etc/tmpfiles.d without this line, or give networks a dataDir of their own"
                    yield self._make("leases after a boot", "kept", f"{path} removes them", WARNING, hint)
                break
        if self._runtime.name == "crio" and _numbers(self._found.version)[:2] >= _COLLECTS_SINCE:
            for network in directory.runtime_networks:
                if not network.disable_gc:
                    found = "CRI-O deletes attachments that are not its own when it starts"
                    hint = f'if others use the network, set "disableGC": true in {network.source}'
                    yield self._make(f"network {network.name}", "its attachments stay", found, WARNING, hint)


def check_absent(runtime: ContainerRuntime) -> PreflightCheck:
    """Return the check of a runtime that the node does not have."""
    program = runtime.setup.version[0]
    hint = f"install {runtime.title}, or set cni_node_runtime to a runtime of this node"
    return PreflightCheck(
        runtime.name, "program", runtime.title, f"neither {program} nor its service exists", MISSING, hint
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
