# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find plugins in the bin dirs, and run them as executables (section 2)."""

from __future__ import annotations

import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin_output import PluginOutput

# Plugins run iptables, nft and sysctl by name. The PATH of an SSH login often lacks their directories.
_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_UTF_8_VARIABLES = ("CNI_IFNAME", "CNI_ARGS")


class Parameters(t.NamedTuple):
    """The protocol parameters of one call (section 2, "Parameters").

    Attributes:
        command: ADD, DEL, CHECK, GC, STATUS or VERSION.
        attachment: None for GC, STATUS and VERSION.
        builtin: For CHECK and DEL, the plugins that were built in at ADD, as in a record. They may understand keys that
            executables of another release refuse.
        has_failed: For DEL, whether another plugin of the network has failed. Its rules may still lead to the address of the
            attachment, which is not given back then.
        args_are_pairs: Whether CNI_ARGS could be read, which concerns only plugins that need them.
    """

    command: str
    attachment: Attachment | None = None
    builtin: tuple[str, ...] = ()
    has_failed: bool = False
    args_are_pairs: bool = True


# What `Executor.require` returns for a plugin of this process begins with this.
BUILTIN_PREFIX = "builtin:"


class NotFound(CniError):
    """A plugin is missing or not executable."""


class UnsafePlugin(CniError):
    """A plugin is not run because every user of the node could have replaced it."""


# Gets the standard error of a plugin that succeeded: the plugin's type, the parameters and the last part of the output.
Listener = t.Callable[[str, Parameters, bytes], None]


class Executor(t.Protocol):
    """Interface that finds and runs plugins, as processes or in another way."""

    def require(self, plugin_type: str) -> str:
        """Return the path of a plugin, or its type and release after `BUILTIN_PREFIX` if it runs in this process.

        Raises:
            NotFound: ``INVALID_CONFIG``.
            UnsafePlugin: ``INVALID_ENVIRONMENT``.
        """

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        """Run a plugin and return its standard output.

        Raises:
            CniError: The plugin's error, or the reason why it could not be run.
        """


class NoExecutor:
    """An executor for reading the configuration of a plugin, which runs no other one."""

    def require(self, plugin_type: str) -> str:
        raise NotFound(Code.INVALID_CONFIG, f"plugin {plugin_type} is not run here")

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        return self.require(plugin_type).encode()


def is_builtin(executor: Executor, plugin_type: str) -> bool:
    """Return whether a plugin would run in this process; errors as `Executor.require`."""
    return executor.require(plugin_type).startswith(BUILTIN_PREFIX)


def find_builtin(executor: Executor, plugin_type: str, delegated_type: str) -> t.Iterator[str]:
    """Yield a plugin, and the IPAM plugin that it runs, as ``TYPE@RELEASE`` if they are built in.

    Args:
        delegated_type: An empty string if it runs no IPAM plugin.

    Raises:
        NotFound: ``INVALID_CONFIG``: one of them is missing, or an executable would have to run a built-in plugin.
        UnsafePlugin: ``INVALID_ENVIRONMENT``.
    """
    location = executor.require(plugin_type)
    delegated = executor.require(delegated_type) if delegated_type else ""
    if delegated.startswith(BUILTIN_PREFIX) and not location.startswith(BUILTIN_PREFIX):
        raise NotFound(
            Code.INVALID_CONFIG,
            f"plugin {delegated_type!r} is not installed, and {location} cannot run the built-in one",
            "install it, or set builtin to always",
        )
    names = (location, delegated)
    yield from (name[len(BUILTIN_PREFIX) :] for name in names if name.startswith(BUILTIN_PREFIX))


class ProcessExecutor:
    """Runs plugins as the specification requires: an executable, an environment, JSON on standard input."""

    def __init__(
        self,
        plugin_dirs: t.Sequence[str],
        timeout: float,
        *,
        allow_world_writable: bool = False,
        listener: Listener | None = None,
    ) -> None:
        """
        Args:
            plugin_dirs: Absolute paths, searched in order; they become CNI_PATH.
            timeout: Seconds that one plugin may run.
            allow_world_writable: Run plugins that every user of the node can replace.
            listener: Called with the standard error of plugins that succeed.
        """
        for path in plugin_dirs:
            if not os.path.isabs(path) or ":" in path:
                raise CniError(
                    Code.INVALID_ENVIRONMENT,
                    f"plugin_dirs: {path!r} is not a plugin directory",
                    "expected: an absolute path without ':', for CNI_PATH",
                )
        process.prepare()
        self._plugin_dirs = tuple(plugin_dirs)
        self._timeout = timeout
        self._allow_world_writable = allow_world_writable
        self._listener = listener
        self._safe: set[str] = set()
        self._environment = _encode(_inherited_environment())

    def require(self, plugin_type: str) -> str:
        check_plugin_type(plugin_type, "plugin type")
        for directory in self._plugin_dirs:
            path = os.path.join(directory, plugin_type)
            mode = _mode(path)
            if stat.S_ISREG(mode):
                self._require_safe(path, mode)
                return _executable(path)
        raise NotFound(
            Code.INVALID_CONFIG,
            f"plugin {plugin_type!r} is not installed",
            f"looked in {', '.join(self._plugin_dirs) or 'no directory at all'}; install it, or add its directory to plugin_dirs",
        )

    def _require_safe(self, path: str, mode: int) -> None:
        """Check all plugin directories, each once, as plugins search all of them for delegated plugins."""
        if self._allow_world_writable or (path in self._safe and not mode & stat.S_IWOTH):
            return
        # Loaded late: most runs find every attachment unchanged and run no plugin.
        from ansible_collections.cni.node.plugins.module_utils._base.access import exposures

        unchecked = [directory for directory in self._plugin_dirs if directory not in self._safe]
        for place in (*unchecked, path):
            exposed = next((exposure for exposure in exposures(place) if exposure.is_world_writable), None)
            if exposed:
                raise UnsafePlugin(
                    Code.INVALID_ENVIRONMENT,
                    f"plugin {path} is not run: {exposed}",
                    f"it would run as root; check the file, then run chmod o-w {exposed.path}, or set "
                    "allow_world_writable_plugins to true",
                )
            self._safe.add(place)

    def execute(self, plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        path = self.require(plugin_type)
        environment = {**self._environment, **_protocol(parameters, self._plugin_dirs)}
        try:
            outcome = process.run([path], environment, request, self._timeout)
        except OSError as exc:
            raise _output_of(path, parameters, request).not_started(exc) from exc
        if outcome.stopped or outcome.status:
            raise _output_of(path, parameters, request).failure(outcome, self._timeout)
        if outcome.stderr and self._listener is not None:
            shown = _output_of(path, parameters, request).without_secrets(outcome.stderr.decode("utf-8", "replace"))
            self._listener(plugin_type, parameters, shown.encode())
        return outcome.stdout


def _output_of(path: str, parameters: Parameters, request: bytes) -> PluginOutput:
    # Loaded late: most calls succeed without output on standard error.
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin_output import PluginOutput

    args = parameters.attachment.args if parameters.attachment else {}
    return PluginOutput(path, parameters.command, args, request)


def _encode(environment: t.Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(key): os.fsencode(value) for key, value in environment.items()}


def _protocol(parameters: Parameters, plugin_dirs: t.Sequence[str]) -> dict[bytes, bytes]:
    """Encode paths in the file system encoding, and all other text in UTF-8, like the JSON of the request."""
    environment = _protocol_environment(parameters, plugin_dirs)
    text = {key.encode(): environment.pop(key).encode() for key in _UTF_8_VARIABLES if key in environment}
    return {**_encode(environment), **text}


def _inherited_environment() -> dict[str, str]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith("CNI_") or key == "CNI_NETNS_OVERRIDE"
    }
    path = dict.fromkeys([*inherited.get("PATH", "").split(os.pathsep), *_SYSTEM_PATH])
    return {**inherited, "PATH": os.pathsep.join(entry for entry in path if entry)}


def _protocol_environment(parameters: Parameters, plugin_dirs: t.Sequence[str]) -> dict[str, str]:
    environment = {"CNI_COMMAND": parameters.command, "CNI_PATH": os.pathsep.join(plugin_dirs)}
    attachment = parameters.attachment
    if attachment is not None:
        environment.update(
            CNI_CONTAINERID=attachment.container_id,
            CNI_NETNS=attachment.netns,
            CNI_IFNAME=attachment.ifname,
            CNI_ARGS=";".join(f"{key}={value}" for key, value in attachment.args.items()),
        )
    elif parameters.command == "VERSION":
        # Plugins of 0.1.0 require these even for commands that they do not know.
        environment.update(CNI_CONTAINERID="dummy", CNI_NETNS="dummy", CNI_IFNAME="dummy")
    return environment


def _mode(path: str) -> int:
    """Return a file's type and mode, or 0 if it does not exist."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _executable(path: str) -> str:
    if not os.access(path, os.X_OK):
        raise NotFound(
            Code.INVALID_CONFIG, f"plugin {path} is not executable", "expected: mode 0755, on a mount without noexec"
        )
    return path
