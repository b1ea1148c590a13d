# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The input of filters that combine variables of several hosts."""

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
    if isinstance(hosts, (str, bytes, collections.abc.Mapping)) or not isinstance(hosts, collections.abc.Iterable):
        raise AnsibleFilterError(f"{name}: hosts: expected a list of host names")
    return hostvars, list(map(str, hosts))
