# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error

KEPT: t.Final = "kept"
DELETED: t.Final = "deleted"
REMOVED: t.Final = "removed"
FAILED: t.Final = "failed"


@dataclasses.dataclass
class Leak:
    """Something that nobody seems to own any more.

    Attributes:
        network: Empty where it does not tell.
        subject: A path, or a name.
        evidence: One sentence: how it is known, or why it is kept.
        action: ``deleted`` (by DEL), ``removed``, ``kept`` or ``failed``; in a dry run, what it would be.
    """

    kind: str
    network: str
    subject: str
    evidence: str
    action: str = KEPT
    error: CniError | None = None

    @property
    def collected(self) -> bool:
        return self.action in (DELETED, REMOVED)

    def fail(self, error: CniError) -> Leak:
        self.action, self.error = FAILED, error
        return self


@dataclasses.dataclass(frozen=True)
class Scope:
    """How far to go.

    Attributes:
        min_age: Seconds; what is younger may belong to something that is being born.
        dry_run: Collect nothing, and say what would be collected.
    """

    min_age: float
    dry_run: bool
    now: float = dataclasses.field(default_factory=time.time)

    def is_young(self, changed: float) -> bool:
        """Tell by the time of the last change, in seconds of the epoch."""
        return self.min_age > 0 and self.now - changed < self.min_age

    def young(self, changed: float) -> str:
        """Say so, or nothing."""
        return f"it is younger than {self.min_age:g} s" if self.is_young(changed) else ""

    def settle(self, leak: Leak, doubt: str, collect: t.Callable[[], object], action: str = REMOVED) -> Leak:
        """Collect what is found, unless there is a doubt: then that is what there is to say."""
        if doubt:
            leak.evidence = f"{leak.evidence}, but {doubt}"
            return leak
        leak.action = action
        try:
            if not self.dry_run:
                collect()
        except Exception as exc:
            leak.fail(as_error(exc))
        return leak


__all__ = ("DELETED", "FAILED", "KEPT", "REMOVED", "Leak", "Scope")
