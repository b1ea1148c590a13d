# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Convert values of a task as the module converts its options."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.validation import check_type_dict, check_type_list


def plain(value: t.Any) -> t.Any:
    """Return a vaulted value as a string, which it is not before ansible-core 2.19. Return other values unchanged."""
    return str(value) if getattr(value, "__ENCRYPTED__", False) else value


def as_dict(value: t.Any) -> t.Any:
    """Convert a value as the module converts an option of type dict.

    A value that the module would refuse is returned unchanged.
    """
    return _convert(check_type_dict, value)


def as_list(value: t.Any) -> t.Any:
    """Convert a value as the module converts an option of type list; see `as_dict`."""
    return _convert(check_type_list, value)


def _convert(convert: t.Callable[[t.Any], t.Any], value: t.Any) -> t.Any:
    try:
        return convert(plain(value))
    except (TypeError, ValueError):
        return value
