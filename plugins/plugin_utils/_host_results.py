# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts that filters get, and their variables."""

from __future__ import annotations

import collections.abc
import typing as t

from ansible.errors import AnsibleFilterError


def require_hosts(name: str, hostvars: object, hosts: object) -> tuple[t.Mapping[t.Any, t.Any], list[str]]:
    """Return the variables of all hosts, and the hosts to combine.

    Args:
        name: The filter.

    Raises:
        AnsibleFilterError: One of them has another type.
    """
    if not isinstance(hostvars, collections.abc.Mapping):
        raise AnsibleFilterError(f"{name}: expected a dictionary of host names to variables, such as hostvars")
    return hostvars, require_names(name, "hosts", hosts)


def require_names(name: str, option: str, value: object) -> list[str]:
    """Return the names that are given for an option of a filter.

    Raises:
        AnsibleFilterError: The value is not a list of names.
    """
    is_list = isinstance(value, collections.abc.Iterable) and not isinstance(
        value, (str, bytes, collections.abc.Mapping)
    )
    names = list(t.cast("t.Iterable[object]", value)) if is_list else [None]
    if not all(isinstance(each, str) for each in names):
        raise AnsibleFilterError(f"{name}: {option}: {value!r}; expected: a list of names")
    return list(map(str, names))
