# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A library is complete before it has its name, safe where it is used, and stays as long as something uses it."""

from __future__ import annotations

import errno
import fcntl
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.current_library import find_current, require_library
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.library import users
from ansible_collections.cni.node.plugins.module_utils._node.library.install import install, remove
from ansible_collections.cni.node.plugins.module_utils._node.library.packing import digest_of, unpack
from ansible_collections.cni.node.plugins.plugin_utils._library import pack
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.error_of import error_of

HOLD = """\
import sys
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
print(Library(*sys.argv[1:]).hold())
"""
TAG = sys.implementation.cache_tag
FILES = {"__main__.py": b"import part\nprint(part.__file__, part.__cached__)\n", "part.py": b"", "a/__init__.py": b""}


class Node:
    """A node with an archive of a library."""

    def __init__(self, path: pathlib.Path) -> None:
        self.top = path / "lib"
        self._path = path

    def library(self, *more: str) -> Library:
        return Library(str(self.top), digest_of(self._files(more)))

    def install(self, *more: str) -> Library:
        library = self.library(*more)
        install(library, self._files(more))
        return library

    def user(self, name: str, library: Library) -> pathlib.Path:
        path = self._path / name
        path.write_text(f"ExecStart=python3 -I {library.path}\n", encoding="utf-8")
        return path

    @staticmethod
    def _files(more: tuple[str, ...]) -> dict[str, bytes]:
        return {**FILES, **dict.fromkeys(more, b"")}


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    tmp_path.chmod(0o755)
    return Node(tmp_path)


def lock_in_another_process(library: Library, kind: str = "LOCK_SH") -> subprocess.Popen[bytes]:
    lock = f"fcntl.flock(os.open({f'{library.path}/.lock'!r}, 0), fcntl.{kind})"
    program = f"import fcntl, os, sys\n{lock}\nprint(1, flush=True)\nsys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    return process


def test_the_digest_depends_on_names_and_contents_alone() -> None:
    assert digest_of(dict(reversed(FILES.items()))) == digest_of(FILES)
    assert len({digest_of(files) for files in (FILES, {**FILES, "b": b""}, {**FILES, "part.py": b"1"})}) == 3
    assert unpack(pack(FILES), digest_of(FILES)) == FILES


@pytest.mark.parametrize("content", [b"", b"PK", pack({"part.py": b"other"}), pack(FILES)[:-30], pack(FILES)[30:]])
def test_an_archive_that_is_damaged_or_of_another_digest_is_refused(content: bytes) -> None:
    assert error_of(unpack, content, digest_of(FILES)).code == Code.DECODE_FAILURE


def test_a_library_has_compiled_code_and_modes_that_do_not_depend_on_the_umask(node: Node) -> None:
    before = os.umask(0o077)
    try:
        library = node.install()
    finally:
        os.umask(before)
    assert library.hold()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in node.top.rglob("*") if not path.is_dir()}
    directories = {stat.S_IMODE(path.stat().st_mode) for path in (node.top, *node.top.rglob("*")) if path.is_dir()}
    assert (modes, directories) == ({0o644, 0o600}, {0o755})
    (private,) = [path.name for path in node.top.rglob("*") if stat.S_IMODE(path.stat().st_mode) == 0o600]
    assert private == ".lock"
    done = subprocess.run([sys.executable, "-I", library.path], check=True, capture_output=True, text=True)
    source, compiled = done.stdout.split()
    assert source == f"{library.path}/part.py"
    assert os.path.exists(compiled)


def test_the_second_of_two_runs_that_install_the_same_library_changes_nothing(node: Node) -> None:
    library = node.install()
    inode = os.stat(library.path).st_ino
    node.install()
    assert os.stat(library.path).st_ino == inode
    assert os.listdir(node.top) == [library.digest]


def test_a_killed_run_leaves_no_library_and_the_next_run_removes_its_remains(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*dummy: object, **dummies: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("py_compile.compile", kill)
        patch.setattr("shutil.rmtree", lambda *dummy, **dummies: None)
        with pytest.raises(Killed):
            node.install()
    assert not node.library().hold()
    (remains,) = os.listdir(node.top)
    library = node.install()
    assert remains.startswith(".new-")
    assert os.listdir(node.top) == [library.digest]


@pytest.mark.parametrize("exposed", ["lib", ""])
def test_a_library_that_others_can_change_is_refused(node: Node, tmp_path: pathlib.Path, exposed: str) -> None:
    library = node.install()
    (tmp_path / exposed).chmod(0o777)
    refusal = error_of(library.hold)
    assert refusal.code == Code.INVALID_ENVIRONMENT
    assert "every user can write it" in refusal.details
    assert error_of(node.install, "other.py").code == Code.INVALID_ENVIRONMENT


def test_nothing_is_made_below_a_directory_that_others_can_change(node: Node, tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o777)
    assert error_of(node.install).code == Code.INVALID_ENVIRONMENT
    assert list(tmp_path.iterdir()) == []


def test_a_library_whose_removal_was_killed_is_installed_again(node: Node) -> None:
    library = node.install()
    (pathlib.Path(library.path) / "__main__.py").unlink()
    assert not library.is_complete
    assert not library.hold()
    process = lock_in_another_process(library, "LOCK_EX")
    assert error_of(node.install).code == Code.TRY_AGAIN
    assert os.listdir(node.top) == [library.digest]
    process.communicate()
    assert node.install().hold()


def sources(node: Node) -> dict[pathlib.Path, bytes]:
    """Return the sources; bytecode may differ between two compilations."""
    return {path: path.read_bytes() for path in node.top.rglob("*") if path.suffix == ".py" and path.is_file()}


def become_directory(path: pathlib.Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def become_file(path: pathlib.Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"x")


DAMAGES: dict[str, tuple[str, t.Callable[[pathlib.Path], object]]] = {
    "an empty program": ("__main__.py", lambda path: path.write_bytes(b"")),
    "a truncated file": ("part.py", lambda path: path.write_bytes(b"x")),
    "a missing file": ("a/__init__.py", pathlib.Path.unlink),
    "truncated bytecode": (f"__pycache__/part.{TAG}.pyc", lambda path: path.write_bytes(path.read_bytes()[:-1])),
    "a missing directory": ("a", shutil.rmtree),
    "a file instead of a directory": ("a", become_file),
    "a directory instead of a file": ("part.py", become_directory),
    "no sizes": (".lock", lambda path: path.write_bytes(b"")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_library_is_found_and_mended_while_a_process_uses_it(node: Node, name: str) -> None:
    library = node.install()
    assert library.find_damage() == ""
    before = sources(node)
    lock = os.stat(f"{library.path}/.lock").st_ino
    process = lock_in_another_process(library)
    where, damage = DAMAGES[name]
    damage(pathlib.Path(library.path, where))
    assert library.find_damage().startswith(f"{library.path}/{where}")
    node.install()
    assert library.find_damage() == ""
    assert sources(node) == before
    assert os.stat(f"{library.path}/.lock").st_ino == lock
    process.communicate()


def test_a_damage_that_keeps_the_size_is_mended_by_an_installation(node: Node) -> None:
    library = node.install()
    main = pathlib.Path(library.path, "__main__.py")
    main.write_bytes(b"\0" * len(FILES["__main__.py"]))
    assert library.find_damage() == ""
    node.install()
    assert main.read_bytes() == FILES["__main__.py"]


def test_a_copy_without_the_lock_is_replaced(node: Node) -> None:
    library = node.install()
    (pathlib.Path(library.path) / ".lock").unlink()
    assert not library.hold()
    assert node.install().hold()


def test_a_library_stays_while_a_process_uses_it(node: Node) -> None:
    library = node.install()
    process = lock_in_another_process(library)
    assert not remove(library.path)
    assert library.hold()
    process.communicate()
    other = Library(library.top, library.digest)
    # This process has just locked it, too.
    assert not remove(other.path)


def test_a_lock_that_every_user_can_take_delays_no_task(node: Node) -> None:
    library = node.install()
    directory = os.open(library.path, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    try:
        in_time = subprocess.run(
            [sys.executable, "-c", HOLD, library.top, library.digest], check=True, timeout=20, capture_output=True
        )
    finally:
        os.close(directory)
    assert in_time.stdout == b"True\n"


def test_a_user_who_cannot_lock_the_library_uses_it_without(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    library = node.install()
    opened = os.open

    def refuse(path: str, *arguments: int) -> int:
        if path == f"{library.path}/.lock":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    assert library.hold()
    (pathlib.Path(library.path) / "__main__.py").unlink()
    assert not library.hold()


@pytest.mark.parametrize("killed_at", ["unlink", "rmdir"])
def test_a_killed_removal_is_completed_by_the_next_run(
    node: Node, monkeypatch: pytest.MonkeyPatch, killed_at: str
) -> None:
    class Killed(BaseException):
        pass

    library = node.install()
    done = getattr(os, killed_at)

    def kill(path: str, **keywords: int) -> None:
        if os.path.basename(path) in ("part.py", library.digest):
            raise Killed
        done(path, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(os, killed_at, kill)
        with pytest.raises(Killed):
            remove(library.path)
    assert not library.hold()
    remove(library.path)
    assert os.listdir(node.top) == []


def test_the_libraries_of_other_releases_are_removed_when_nothing_uses_them(node: Node) -> None:
    old = node.install()
    unit = node.user("unit", old)
    users.register(old, [str(unit)])
    new = node.install("new.py")
    assert users.remove_unused(new.top, keep=new.digest) == sorted([old.path, new.path])
    node.user("unit", new)
    users.register(new, [str(unit)])
    assert users.list_libraries(new.top) == [new.path]


def test_a_single_library_is_kept_without_a_look_at_its_users(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    library = node.install()
    with monkeypatch.context() as patch:
        patch.setattr(users, "remove_unused", lambda *dummy, **dummies: pytest.fail("the users were read"))
        users.register(library, ["/etc/hosts"])
    assert users.list_libraries(library.top) == [library.path]


def test_an_executable_in_a_directory_keeps_its_library(node: Node, tmp_path: pathlib.Path) -> None:
    library = node.install()
    (tmp_path / "bin" / "kept").mkdir(parents=True)
    node.user("bin/kept/bridge", library)
    users.register(library, [str(tmp_path / "bin")])
    assert users.remove_unused(library.top, dry_run=True) == users.remove_unused(library.top) == [library.path]
    (tmp_path / "bin" / "kept" / "bridge").unlink()
    assert users.remove_unused(library.top, dry_run=True) == []
    assert os.path.exists(library.path)
    assert users.remove_unused(library.top) == []
    assert not node.top.exists()


@pytest.mark.parametrize(("call", "name"), [("scandir", "bin"), ("stat", "bin/bridge")])
def test_executables_that_cannot_be_read_for_now_keep_their_library(
    node: Node, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    library = node.install()
    (tmp_path / "bin").mkdir()
    node.user("bin/bridge", library)
    users.register(library, [str(tmp_path / "bin")])
    operation, refused = getattr(os, call), str(tmp_path / name)

    def refuse(path: str, *arguments: t.Any, **options: t.Any) -> t.Any:
        if path == refused:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        return operation(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        error = error_of(users.remove_unused, library.top)
    assert (error.code, refused in error.msg) == (Code.IO_FAILURE, True)
    assert users.remove_unused(library.top) == [library.path]


def test_pipes_and_sockets_in_a_directory_of_executables_are_not_read(node: Node, tmp_path: pathlib.Path) -> None:
    library = node.install()
    (tmp_path / "bin").mkdir()
    node.user("bin/bridge", library)
    os.mkfifo(tmp_path / "bin" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "bin" / "socket"))
        users.register(library, [str(tmp_path / "bin")])
        assert users.remove_unused(library.top) == [library.path]


def test_a_unit_with_many_directories_keeps_its_library(node: Node, tmp_path: pathlib.Path) -> None:
    library = node.install()
    unit = node.user("unit", library)
    unit.write_text("# " + "/a/long/path" * 1000 + "\n" + unit.read_text(encoding="utf-8"), encoding="utf-8")
    users.register(library, [str(unit)])
    assert users.remove_unused(library.top) == [library.path]


def test_without_a_library_there_is_nothing_to_remove(node: Node) -> None:
    assert users.remove_unused(str(node.top)) == []


def test_a_file_that_refers_to_the_library_requires_the_library(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_current() is None
    with pytest.raises(CniError, match="any directory that this task knows"):
        require_library("persist", dry_run=True)
    library = node.library()
    monkeypatch.setenv(*libraries.request(library).popitem())
    assert find_current() == library
    assert require_library("persist", dry_run=True) == library
    with pytest.raises(
        CniError, match=f"persist requires the library of the collection, which is not in {library.path}"
    ):
        require_library("persist", dry_run=False)
    node.install()
    assert require_library("persist", dry_run=False) == library
