# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""URLs that users write: what is wrong with them, their credentials, and how messages show them."""

from __future__ import annotations

import re
import urllib.parse

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.printable import HIDDEN

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)(.*)", re.DOTALL)
_IN_TEXT = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s\"'<>]+")
# A host, or an IPv6 address in brackets, and a port.
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%25[\w.~-]+)?\]|[\w.~-]+)(?::([0-9]*))?")
_SCHEMES = ("http", "https")
_HIGHEST_PORT = 65535
# What only a misspelt URL begins with: a scheme of any kind with one slash or two, http without them, a user and a password, or
# a host whose path has a query.
_MISSPELT = (
    re.compile(r"\s*[^/\s]*:\s*//"),
    re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*\s*:\s*[/\\]"),
    re.compile(r"\s*https?\s*(?:[:;]|//)", re.IGNORECASE),
    re.compile(r"\s*[^/\s:@]+:[^/\s@]*@[^/\s@]+/"),
    re.compile(r"\s*[\w-]+(?:\.[\w-]+)+(?::[0-9]+)?/[^?]*\?[^?]*="),
)
# Spaces, control characters, and those that have to be encoded.
_FORBIDDEN = re.compile(r"[^!-~]")
_PASSWORD_ADVICE = "in a password, write / as %2F, ? as %3F and # as %23, or use url_password"


def is_url(location: str) -> bool:
    """Return whether a location has the scheme of a URL that can be downloaded."""
    return location.lower().startswith(("http://", "https://"))


def require_no_misspelt_url(location: str, where: str) -> None:
    """Refuse what is neither a path nor a URL that can be downloaded. The error does not show it: it may have a password.

    Args:
        where: The option, as the error names it.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if not is_url(location) and not any(form.match(location) for form in _MISSPELT):
        return
    problem, advice = _find_problem(location)
    if problem:
        raise CniError(Code.INVALID_CONFIG, f"{where}: the URL {problem}", advice)


def _find_problem(location: str) -> tuple[str, str]:
    """Return what is wrong with a URL, and what to do; empty strings if nothing is."""
    url = _URL.fullmatch(location)
    scheme = url[1][:-3] if url else ""
    if location != location.strip():
        return "begins or ends with a space or a line break", "remove it"
    if url is None or scheme.lower() not in _SCHEMES:
        problem = f"begins with {scheme}://" if url else "has no valid scheme"
        return problem, "expected: http:// or https:// and a host; for a file, its path alone"
    dummy, authority, rest = url.groups()
    server = authority.rpartition("@")[2]
    host, port = _HOST.fullmatch(server), server.rpartition(":")[2]
    if not server or server.startswith(":"):
        return "has no host", "expected: the name or the address of a server after //"
    before = _HOST.fullmatch(server[: -len(port) - 1])
    if host is None and before and before[2] is None:
        return "has an invalid port", f"expected: a number from 1 to {_HIGHEST_PORT}; {_PASSWORD_ADVICE}"
    if host is None:
        return "has an invalid host", "expected: a name, an IPv4 address, or an IPv6 address in brackets"
    if host[2] and not 0 < int(host[2][:6]) <= _HIGHEST_PORT:
        return "has an invalid port", f"expected: a number from 1 to {_HIGHEST_PORT}"
    forbidden = _FORBIDDEN.search(rest)
    if forbidden:
        encoded = urllib.parse.quote(forbidden[0], errors="replace")
        return (
            f"has the character {forbidden[0]!a}",
            f"expected: no spaces or control characters; write it as {encoded}",
        )
    return "", ""


def separate(location: str) -> tuple[str, tuple[str, str]]:
    """Return a URL without its credentials, and the user name and password; a path is returned unchanged."""
    url = _URL.fullmatch(location)
    if url is None:
        return location, ("", "")
    scheme, authority, rest = url.groups()
    credentials, dummy, host = authority.rpartition("@")
    username, dummy, password = credentials.partition(":")
    return scheme + host + rest, (urllib.parse.unquote(username), urllib.parse.unquote(password))


def hide(location: str) -> str:
    """Return a URL as messages show it: without credentials and the values of its query. A path is returned unchanged."""
    url = _URL.fullmatch(location)
    if url is None:
        return location
    scheme, authority, rest = url.groups()
    credentials, at, host = authority.rpartition("@")
    path, *further = re.split("([?#])", rest)
    hidden = [_hide_values(part) if part not in ("?", "#") else part for part in further]
    return "".join([scheme, HIDDEN if credentials else "", at, host, path, *hidden])


def _hide_values(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, dummy in pairs)


def hide_in_text(text: str) -> str:
    """Return a text, such as the error of another program, with each URL in it as `hide` returns it."""
    return _IN_TEXT.sub(lambda match: hide(match[0]), text)
