# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A leak as results describe it, and the limits of what a run may remove."""

from __future__ import annotations

import dataclasses
import enum
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key

KEPT = "kept"
DELETED = "deleted"
REMOVED = "removed"
FAILED = "failed"


class Kind(str, enum.Enum):
    """A kind of leak. ``NETWORK`` stands for checks that did not finish."""

    RECORD = "record"
    INTENT = "intent"
    LEASE = "lease"
    EMPTY_LEASE = "empty lease"
    LEASE_DIRECTORY = "lease directory"
    CHAIN = "chain"
    RULE = "rule"
    LINK = "link"
    SAVED_VALUES = "saved values"
    BRIDGE = "bridge"
    SHARED_CHAIN = "shared chain"
    SHARED_TABLE = "shared table"
    TEMPORARY_FILE = "temporary file"
    LOCK = "lock"
    DIRECTORY = "directory"
    NETWORK = "network"

    def __str__(self) -> str:
        return str(self.value)


@dataclasses.dataclass
class Leak:
    """A resource that seems to have no owner.

    Attributes:
        network: Empty where it is unknown.
        subject: The path or the name of the resource.
        evidence: One sentence: why it is a leak, and why it is kept.
        action: ``deleted`` (by DEL), ``removed``, ``kept`` or ``failed``; in a dry run, what it would be.
        proofs: The facts that make it a leak, each a clause; empty where the evidence is one fact.
        traces: The names that rules and links which containers share have of it: its port, chain, address or comment.
        saved: The file in which the record and the leases of another runtime's attachment are kept, or an empty string.
    """

    kind: Kind
    network: str
    subject: str
    evidence: str
    action: str = KEPT
    error: CniError | None = None
    proofs: tuple[str, ...] = ()
    traces: frozenset[str] = frozenset()
    saved: str = ""

    @property
    def collected(self) -> bool:
        return self.action in (DELETED, REMOVED)

    def fail(self, error: CniError) -> Leak:
        self.action, self.error = FAILED, error
        return self


class GcPolicy:
    """Limits of what a run may remove."""

    def __init__(
        self,
        min_age: float,
        dry_run: bool,
        owners: t.Iterable[str] = (),
        release: t.Iterable[Key] = (),
        confirm: bool = False,
    ) -> None:
        """
        Args:
            min_age: Seconds; younger items may belong to an ADD still in progress.
            dry_run: Collect nothing; report what would be collected.
            owners: Names of the other runtimes whose lost attachments are collected as well.
            release: Attachments of other runtimes to delete without a proof that they are lost.
            confirm: Whether they may be deleted.
        """
        self.min_age = min_age
        self.dry_run = dry_run
        self.owners = frozenset(owners)
        self.release = frozenset(release)
        self.confirm = confirm
        self.release_names = tuple(sorted(map("/".join, self.release)))
        self.now = time.time()

    def is_young(self, changed: float) -> bool:
        """Return whether the last change, in seconds of the epoch, is too recent."""
        return self.min_age > 0 and self.now - changed < self.min_age

    def reason_for_age(self, changed: float) -> str:
        """Return a reason to keep a resource that is too young, or whose age is unknown, or an empty string."""
        if not self.is_young(changed):
            return ""
        if changed - self.now > self.min_age:
            return "its time is in the future, so that its age is unknown; with min_age 0, it is not kept for that"
        return f"it is younger than {self.min_age:g} s"

    def collect_unless(self, reason: str, leak: Leak, collect: t.Callable[[], object], action: str = REMOVED) -> Leak:
        """Collect a leak, or add the reason to keep it to its evidence."""
        if reason:
            leak.evidence = f"{leak.evidence}, but {reason}"
            return leak
        leak.action = action
        try:
            if not self.dry_run:
                collect()
        except Exception as exc:
            leak.fail(as_error(exc))
        return leak
