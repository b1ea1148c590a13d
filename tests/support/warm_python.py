# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Executables that start at once, because a process that has imported their modules forks for each run.

Most of a short run of Ansible is start-up: a third of a second for `ansible-playbook`, and nearly as much in each task
for Python on the node. A `WarmProgram` is an executable that does what the real one does:

- `ansible-playbook`
- `node-python`, the interpreter of modules on this node

Where a run is not as the server expects, the executable runs the real program: with other settings of Ansible, with
another PYTHONPATH, in another mount namespace, or for a file that is neither a module nor a payload of Ansible.

An executable passes its arguments, environment, working directory, network namespace and streams to its server. The
forked process ends when the executable is killed, and all processes end with the tests.

`python warm_python.py COMMAND [ARG...]` runs a command that finds a warm `ansible-playbook` first in PATH.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import marshal
import os
import pathlib
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
import typing as t
import warnings

PLUGINS = "ansible_collections.cni.node.plugins"
# Settings of Ansible that differ from run to run, and that a forked process takes over.
SETTINGS_OF_A_RUN = {
    "ANSIBLE_ASYNC_DIR",
    "ANSIBLE_CALLBACKS_ENABLED",
    "ANSIBLE_HOME",
    "ANSIBLE_PIPELINING",
    "ANSIBLE_PYTHON_INTERPRETER",
    "ANSIBLE_REMOTE_TEMP",
}
PLAYBOOK = "ansible-playbook"
PYTHON = "node-python"
_MOUNTS = "/proc/self/ns/mnt"
_NETWORK = "/proc/self/ns/net"
_SERVE = "--serve"
_VERSION = ["--version"]
# Ansible's directory of payloads, and those of them that are not of a test's own module.
_PAYLOADS = "ansiballz_cache"
_OF_SAME_CONTENT = "ansible*.modules.*"
_POLL_INTERVAL = 0.005  # seconds
_STREAMS = 4  # standard input, output and error, and the network namespace

# Only what the interpreter has built in: imports would take most of its time.
_CLIENT = f"""\
#!{{python}} -IS
import _socket, marshal, os, sys
def run():
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect({{address!r}})
    except OSError:
        return
    network = os.open({_NETWORK!r}, os.O_RDONLY)
    rights = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, network))
    mask = os.umask(0)
    request = marshal.dumps((sys.argv[1:], dict(os.environ), os.getcwd(), mask))
    connection.sendmsg([len(request).to_bytes(8, sys.byteorder)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    while request:
        request = request[connection.send(request):]
    sys.exit(int(connection.recv(8) or b"125"))
if os.stat({_MOUNTS!r}).st_ino == {{mounts}} and os.environ.get("PYTHONPATH", "") in {{paths}}:
    run()
os.execv({{program!r}}, [{{program!r}}, *sys.argv[1:]])
"""

Run = t.Callable[["list[str]"], object]


class WarmProgram:
    """An executable and its server, which ends with `close`.

    Attributes:
        path: Path of the executable.
        real: Path of the program that it stands for.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        name: str,
        environment: t.Mapping[str, str],
        is_late: bool = False,
        python: str = sys.executable,
        library: pathlib.Path | None = None,
    ) -> None:
        """
        Args:
            directory: A directory for the executable.
            name: The program: `PLAYBOOK` or `PYTHON`.
            environment: The environment in which runs start.
            is_late: Whether the server imports nothing until the first run, and takes the environment from it.
            library: The library that the server imports modules from, at its path on the node.
            python: The interpreter. Another one than that of this process finds no packages of this process's but Ansible.
        """
        self.path = directory / name
        self.real = python if name == PYTHON else str(pathlib.Path(python).with_name(name))
        address = f"{self.path}.socket"
        search_path = os.pathsep.join(filter(None, sys.path))
        if python != sys.executable:
            search_path = str(_link_ansible(directory / "packages"))
        given_path = search_path
        if library:
            search_path = f"{library}{os.pathsep}{search_path}"
        text = _CLIENT.format(
            python=python,
            program=self.real,
            address=address,
            mounts=os.stat(_MOUNTS).st_ino,
            paths=("", os.environ.get("PYTHONPATH", ""), given_path, search_path),
        )
        self.path.write_text(text, encoding="utf-8")
        self.path.chmod(0o755)
        self._server = subprocess.Popen(
            # Not as a module of the collection, which only Ansible's own loader may import there.
            [python, __file__, _SERVE, name, address, self.real, *(["late"] if is_late else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={**environment, "PYTHONPATH": search_path},
        )

    def wait(self) -> None:
        """Wait until runs start at once; before that, the executable runs the real program."""
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"ready\n", f"the server of {self.path.name} has ended"

    def close(self) -> None:
        self._server.communicate()


def _link_ansible(directory: pathlib.Path) -> pathlib.Path:
    """Make a directory in which Python finds Ansible and its collections."""
    directory.mkdir()
    for name in ("ansible", "ansible_collections"):
        spec = importlib.util.find_spec(name)
        (place,) = (spec.submodule_search_locations if spec else None) or [""]
        (directory / name).symlink_to(place)
    return directory


class _Request(t.NamedTuple):
    argv: list[str]
    environment: dict[str, str]
    directory: str
    mask: int
    streams: list[int]


def _serve(name: str, address: str, program: str, is_late: bool) -> None:
    """Fork a process for each connection, until standard input ends."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    warm = {PLAYBOOK: _warm_playbooks, PYTHON: _warm_modules}[name]
    scratch = pathlib.Path(address).parent
    run = None if is_late else warm(program, scratch)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            if 0 in select.select([0, listener.fileno()], [], [])[0]:
                return
            connection = listener.accept()[0]
            # Later requests are received by the fork: an executable that is killed meanwhile ends nothing else.
            first = _receive(connection) if run is None else None
            # Molecule asks for the version first, and with other settings than those of its runs.
            if first and first.argv != _VERSION:
                os.environ.update(first.environment)
                run = warm(program, scratch)
            # Collecting garbage writes to all objects: each run would get its own copy of them.
            gc.freeze()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                request = first or _receive(connection)
                _keep(connection, request, run or (lambda argv: os.execv(program, [program, *argv])))
            for descriptor in first.streams if first else ():
                os.close(descriptor)
            connection.close()


def _receive(connection: socket.socket) -> _Request:
    """Return what the executable has sent; its streams are followed by its network namespace."""
    size, streams, dummy, dummy2 = socket.recv_fds(connection, 8, _STREAMS)
    with connection.makefile("rb") as stream:
        argv, environment, directory, mask = marshal.loads(stream.read(int.from_bytes(size, sys.byteorder)))
    return _Request(argv, environment, directory, mask, list(streams))


def _keep(connection: socket.socket, request: _Request, run: Run) -> t.NoReturn:
    """Fork the run, and wait for its end; if the executable ends first, kill the run."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        _become(request, run)
    for descriptor in request.streams:
        os.close(descriptor)
    ended = os.pidfd_open(pid)
    if ended not in select.select([ended, connection.fileno()], [], [])[0]:
        # The run may not have its session yet.
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(b"%d" % (status if status >= 0 else 128 - status))
    os._exit(0)


def _become(request: _Request, run: Run) -> t.NoReturn:
    """Take over what the executable has, and run; the process ends with the status of the run."""
    status: t.Any = 1
    try:
        for number in range(3):
            os.dup2(request.streams[number], number)
        if ctypes.CDLL(None, use_errno=True).setns(request.streams[3], 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        for descriptor in request.streams:
            os.close(descriptor)
        os.umask(request.mask)
        os.chdir(request.directory)
        os.environ.clear()
        os.environ.update(request.environment)
        # What the server has to do at its end is not this process's.
        atexit._clear()
        run(request.argv)
        status = 0
    except SystemExit as exc:
        status = exc.code
    except BaseException:
        traceback.print_exc()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status if isinstance(status, int) else status is not None)


def _warm_playbooks(program: str, scratch: pathlib.Path) -> Run:
    """Load `ansible-playbook` and the plugins that runs use; return what runs it.

    Args:
        scratch: A directory for what runs keep for later ones.
    """
    from ansible import constants
    from ansible.cli.playbook import PlaybookCLI
    from ansible.plugins import loader

    # Each run does this again, and Ansible warns the second time.
    loader.init_plugin_loader()
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    # The first plugin also reads the table of all plugins that have moved: a fifth of a short run. Those of the kind
    # `vars` are left out: Ansible enables them when it first asks for one.
    for plugins in (
        loader.cache_loader,
        loader.callback_loader,
        loader.connection_loader,
        loader.filter_loader,
        loader.inventory_loader,
        loader.lookup_loader,
        loader.shell_loader,
        loader.strategy_loader,
        loader.test_loader,
    ):
        list(plugins.all(class_only=True))
    # Ansible compiles the files of a collection in each run.
    for package in ("action", "filter", "plugin_utils"):
        _import_below(f"{PLUGINS}.{package}")
    _import_below("ansible.plugins.action")
    importlib.import_module("jsonschema")
    own = _settings(os.environ)
    payloads = scratch / _PAYLOADS
    payloads.mkdir()
    definitions = constants.config.get_configuration_definitions()

    def run(argv: list[str]) -> object:
        different = {name for name, dummy in own ^ _settings(os.environ)}
        if (argv != _VERSION and not different <= SETTINGS_OF_A_RUN) or os.path.exists("ansible.cfg"):
            os.execv(program, [program, *argv])
        for name, definition in definitions.items():
            if name == "DEFAULT_LOCAL_TMP" or different & {entry["name"] for entry in definition.get("env", ())}:
                value = constants.config.get_config_value(name, variables=vars(constants))
                setattr(constants, name, value)
        # A run that looks for results every millisecond takes a tenth of a processor for that.
        vars(constants)["DEFAULT_INTERNAL_POLL_INTERVAL"] = _POLL_INTERVAL
        sys.argv = ["ansible-playbook", *argv]
        with _keep_payloads(pathlib.Path(vars(constants)["DEFAULT_LOCAL_TMP"], _PAYLOADS), payloads):
            return PlaybookCLI.cli_executor(sys.argv)

    return run


@contextlib.contextmanager
def _keep_payloads(own: pathlib.Path, kept: pathlib.Path) -> t.Iterator[None]:
    """Let a run use the payloads of earlier runs: to find what a module imports takes half of the time of a short run.

    Args:
        own: The directory of the run's payloads, which Ansible removes with the run.
    """
    own.mkdir()
    for path in kept.iterdir():
        (own / path.name).symlink_to(path)
    try:
        yield
    finally:
        for path in own.glob(_OF_SAME_CONTENT):
            if not path.is_symlink() and path.suffix != ".lock" and not path.name.endswith("-part"):
                copy = kept.with_name(f"{path.name}.{os.getpid()}")
                shutil.copyfile(path, copy)
                copy.rename(kept / path.name)


def _settings(environment: t.Mapping[str, str]) -> set[tuple[str, str]]:
    return {(name, value) for name, value in environment.items() if name.startswith("ANSIBLE_")}


def _warm_modules(program: str, dummy: pathlib.Path) -> Run:
    """Import the modules of the collection and what they use; return what runs a payload."""
    for package in (f"{PLUGINS}.module_utils", f"{PLUGINS}.modules"):
        _import_below(package)
    # A task may remove the library on the node.
    for name, loaded in sys.modules.items():
        if name.startswith(PLUGINS) and hasattr(loaded, "__path__"):
            loaded.__path__ = [*loaded.__path__, *map(os.path.realpath, loaded.__path__)]
    # A module itself is executed anew.
    for name in [name for name in sys.modules if name.startswith(f"{PLUGINS}.modules.")]:
        del sys.modules[name]

    def run(argv: list[str]) -> object:
        if argv[:1] == ["-m"] and argv[1].startswith(PLUGINS):
            sys.argv = argv[1:]
            return runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        if argv and not os.path.basename(argv[0]).startswith("AnsiballZ_"):
            os.execv(program, [program, *argv])
        sys.argv = argv or [""]
        if argv:
            return runpy.run_path(argv[0], run_name="__main__")
        # With pipelining, the payload comes through standard input.
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec"), vars(main))
        return None

    return run


def _import_below(name: str) -> None:
    """Import the modules of a package and of those in it, as far as they can be imported here."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)


def _run_with_warm_playbooks(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as directory:
        program = WarmProgram(pathlib.Path(directory), PLAYBOOK, os.environ, is_late=True)
        program.wait()
        path = f"{directory}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        status = subprocess.run(command, check=False, env={**os.environ, "PATH": path}).returncode
        program.close()
    return status


if __name__ == "__main__":
    if sys.argv[1] == _SERVE:
        _name, _address, _program, *_late = sys.argv[2:]
        _serve(_name, _address, _program, bool(_late))
    else:
        sys.exit(_run_with_warm_playbooks(sys.argv[1:]))
