# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of the collection in tests."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError


def error_of(operation: t.Callable[..., object], *arguments: object, **keywords: object) -> CniError:
    """Return the CniError that an operation raises; fail if it raises none or another kind."""
    with pytest.raises(CniError) as caught:
        operation(*arguments, **keywords)
    return caught.value
