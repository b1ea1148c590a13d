# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Wait until no ADD or DEL is running, of any runtime."""

from __future__ import annotations

import fcntl
import os
import time

from ansible_collections.cni.node.plugins.module_utils._base.error import refuse_without_room
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import file_name
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import process_table

# Seconds. An operation that hangs must not keep the others from being repaired; its own container is left alone anyway.
_LONGEST_WAIT = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0


def await_operations(cache_dir: str) -> None:
    """Wait until no ADD or DEL is running, but not for ever."""
    deadline, pause = time.monotonic() + _LONGEST_WAIT, _FIRST_PAUSE
    while is_operation_running(cache_dir) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def is_operation_running(cache_dir: str) -> bool:
    """Return whether a plugin is running ADD or DEL, or a run of this collection holds a container with an intent."""
    if any(process_table.find_by_environment({"CNI_COMMAND": command}) for command in ("ADD", "DEL")):
        return True
    locks = os.path.join(cache_dir, OWN_DIRECTORY, "locks")
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    return any(_is_held(os.path.join(locks, file_name("container", each.attachment.container_id))) for each in intents)


def _is_held(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as exc:
        refuse_without_room("open the lock", path, exc)
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
