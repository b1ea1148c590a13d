# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Separate a URL from its credentials."""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_URL: t.Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)(.*)", re.DOTALL)
_HOST: t.Final = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?")


class Credentials(t.NamedTuple):
    """A user name and a password for a server."""

    username: str = ""
    password: str = ""


def separate(location: str) -> tuple[str, Credentials]:
    """Return a URL without its credentials, and the credentials; a path is returned unchanged.

    Raises:
        CniError: ``INVALID_CONFIG`` if a password ends the host. The error does not show the URL.
    """
    url = _URL.fullmatch(location)
    if url is None:
        return location, Credentials()
    scheme, authority, rest = url.groups()
    credentials, dummy, host = authority.rpartition("@")
    if "@" in rest and not _HOST.fullmatch(host):
        raise CniError(
            Code.INVALID_CONFIG,
            "source: the URL has an invalid port",
            "in a password, write / as %2F, ? as %3F and # as %23, or use url_password",
        )
    username, dummy, password = credentials.partition(":")
    return scheme + host + rest, Credentials(*map(urllib.parse.unquote, (username, password)))


__all__ = ("Credentials", "separate")
