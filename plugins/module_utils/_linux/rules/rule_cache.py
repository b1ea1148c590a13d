# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Listings of firewall rules that a run keeps while no other program changes the rules.

A listing of all rules of a node takes the longer the more attachments there are. A run that lists them for each group of
attachments takes a time that grows with their square. So a run keeps a listing, and adds what it writes itself.

A kept listing is what a new one would show. The kernel counts the transactions of nf_tables in a network namespace,
whichever program commits them, and the cache compares the count:

- A listing is kept if the count is the same before and after it, and the program says that it has listed nf_tables: the
  kernel does not count changes of the legacy tables.
- It is used if the count is still the same. Any other program that changed a rule has raised it, and all is listed again.
- A write of this run is added if it has raised the count by one. Otherwise another program has written as well, or has
  come first, and all is listed again. A write that fails is not added.

So a program that changes rules between a listing and a write is noticed after the write at the latest, as it would be by
another listing. Processes that share a run tell each other their writes in a file, under a lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import struct
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.process import anonymous_file
from ansible_collections.cni.node.plugins.module_utils._linux.rules import nf_tables

T = t.TypeVar("T")
# By the tool that lists them, and what it lists.
Key = tuple[t.Any, ...]
Listings = dict[Key, t.Any]
# Adds to kept listings what has been written. It replaces a listing, which others may have, instead of changing it; it
# removes one of which it does not know what the write has made. It can be pickled.
Addition = t.Callable[[Listings], None]

IPTABLES = "iptables"
NFT = "nft"
# The key of the list of all tables that nft shows, as family and name.
TABLES: Key = (NFT,)


class _Journal:
    """The writes of all processes of a run, in a file that they inherit.

    The file begins with the period of time, the kernel's count after the last write, and the end of the writes. A period ends
    when another program has changed rules.
    """

    _HEAD = struct.Struct("=QQQ")

    def __init__(self, generation: int) -> None:
        self._file = anonymous_file("rules")
        self._period, self._position = 0, self._HEAD.size
        self._write_head(generation)

    @contextlib.contextmanager
    def lock(self) -> t.Iterator[None]:
        """Exclude the other processes, which may run a program meanwhile."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def catch_up(self, generation: int) -> list[Addition] | None:
        """Return the writes of other processes since the last call; None if another program has changed rules."""
        period, counted, end = self._HEAD.unpack(os.pread(self._file, self._HEAD.size, 0))
        is_known = (period, counted) == (self._period, generation)
        written = os.pread(self._file, end - self._position, self._position) if is_known else b""
        if counted != generation:
            period, end = period + 1, self._HEAD.size
        self._period, self._position = period, end
        if counted != generation:
            self._write_head(generation)
        return list(_load(written)) if is_known else None

    def append(self, addition: Addition, generation: int) -> None:
        import pickle  # 2 ms that only writes need

        content = pickle.dumps(addition)
        written = os.pwrite(self._file, content, self._position)
        if written < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._position += written
        self._write_head(generation)

    def close(self) -> None:
        os.close(self._file)

    def _write_head(self, generation: int) -> None:
        os.pwrite(self._file, self._HEAD.pack(self._period, generation, self._position), 0)


def _load(content: bytes) -> t.Iterator[Addition]:
    import pickle

    stream = io.BytesIO(content)
    while stream.tell() < len(content):
        yield pickle.load(stream)


class _RuleCache:
    """The kept listings of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listings: Listings = {}
        self._generation: int | None = None
        self._journal: _Journal | None = None

    def share(self) -> None:
        if self._journal is None:
            with contextlib.suppress(OSError):
                self._journal = _Journal(self._generation or 0)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def read(self, key: Key, list_rules: t.Callable[[], tuple[T, bool]]) -> T:
        with self._hold():
            self._catch_up()
            if key in self._listings:
                kept: T = self._listings[key]
                return kept
            listing, is_counted = list_rules()
            if is_counted and self._generation is not None and nf_tables.generation() == self._generation:
                self._listings[key] = listing
            return listing

    def write(self, change: t.Callable[[], None], addition: Addition) -> None:
        with self._hold():
            self._catch_up()
            change()
            # After a write that fails, or another number, the next `_catch_up` forgets the listings.
            if self._generation is not None and nf_tables.generation() == self._generation + 1:
                self._add(addition, self._generation + 1)

    def forget(self, tool: str) -> None:
        with self._hold():
            for key in [key for key in self._listings if key[0] == tool]:
                del self._listings[key]

    def _catch_up(self) -> None:
        generation = nf_tables.generation()
        additions: list[Addition] | None = None
        with contextlib.suppress(OSError):  # without the file, every process forgets what it has
            if generation is not None and self._journal is not None:
                additions = self._journal.catch_up(generation)
            elif generation == self._generation:
                additions = []
        if additions is None:
            self._listings.clear()
        for addition in additions or ():
            addition(self._listings)
        self._generation = generation

    def _add(self, addition: Addition, generation: int) -> None:
        with contextlib.suppress(OSError):
            if self._journal is not None:
                self._journal.append(addition, generation)
            addition(self._listings)
            self._generation = generation

    @contextlib.contextmanager
    def _hold(self) -> t.Iterator[None]:
        with self._lock, self._journal.lock() if self._journal else contextlib.nullcontext():
            yield


class _Current:
    cache: _RuleCache | None = None


def note_table(listings: Listings, family: str, name: str) -> bool:
    """Add a written table to the kept list of tables; return whether it is new to it."""
    is_new = TABLES in listings and (family, name) not in listings[TABLES]
    if is_new:
        listings[TABLES] = (*listings[TABLES], (family, name))
    return is_new


@contextlib.contextmanager
def keep() -> t.Iterator[None]:
    """Keep listings for the block, which is a whole run; outside of it, rules are listed whenever they are needed.

    A block within another one uses the same listings.
    """
    if _Current.cache is not None:
        yield
        return
    cache = _Current.cache = _RuleCache()
    try:
        yield
    finally:
        _Current.cache = None
        cache.close()


def is_kept() -> bool:
    """Return whether listings are kept."""
    return _Current.cache is not None


def share() -> None:
    """Let processes that are forked later learn of each other's writes. Call it before any thread of the run works."""
    cache = _Current.cache
    if cache:
        cache.share()


def read(key: Key, list_rules: t.Callable[[], tuple[T, bool]]) -> T:
    """Return the listing of a key: the kept one, or a new one.

    Args:
        list_rules: Returns a new listing, and whether the kernel counts its changes.
    """
    cache = _Current.cache
    return cache.read(key, list_rules) if cache else list_rules()[0]


def write(change: t.Callable[[], None], addition: Addition) -> None:
    """Change rules by exactly one transaction, and add the change to the kept listings."""
    cache = _Current.cache
    if cache:
        cache.write(change, addition)
    else:
        change()


def forget(tool: str) -> None:
    """List the rules of a tool again when they are needed next."""
    cache = _Current.cache
    if cache:
        cache.forget(tool)
