# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""URLs are refused if they are misspelt, and shown without credentials and values of a query."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.url import (
    hide,
    hide_in_text,
    require_no_misspelt_url,
    separate,
)

SEPARATED = {
    "http://me:secret@host/x": ("http://host/x", "me", "secret"),
    "HTTPS://me:se%2Fcr%3Aet@host:8443/": ("HTTPS://host:8443/", "me", "se/cr:et"),
    "http://me:a@b@host/x": ("http://host/x", "me", "a@b"),
    "http://me:a:b@[::1]:80/x?y#z": ("http://[::1]:80/x?y#z", "me", "a:b"),
    "http://token@host/x": ("http://host/x", "token", ""),
    "http://:secret@host": ("http://host", "", "secret"),
    "ftp://me:secret@host/x": ("ftp://host/x", "me", "secret"),
    "http://host/d@e": ("http://host/d@e", "", ""),
    "http://host:80/@scope/x.tgz": ("http://host:80/@scope/x.tgz", "", ""),
    "http://[::1]/@scope": ("http://[::1]/@scope", "", ""),
    "/srv/x@y.tgz": ("/srv/x@y.tgz", "", ""),
    "plugins:1@2.tgz": ("plugins:1@2.tgz", "", ""),
}


@pytest.mark.parametrize(("url", "parts"), SEPARATED.items(), ids=SEPARATED)
def test_credentials_are_separated_from_a_url(url: str, parts: tuple[str, str, str]) -> None:
    location, credentials = separate(url)
    assert (location, *credentials) == parts


SHOWN = {
    "https://me:secret@host/x": "https://***@host/x",
    "https://token@host/x": "https://***@host/x",
    "https://host/x?token=abc&n=1": "https://host/x?token=***&n=***",
    "https://host/x?abc#d=e?f": "https://host/x?***#d=***?***",
    "https://host/x?token=a=b;c": "https://host/x?token=***",
    "https://host:80/@scope/x.tgz": "https://host:80/@scope/x.tgz",
    "/srv/what?a=b": "/srv/what?a=b",
}


@pytest.mark.parametrize(("url", "shown"), SHOWN.items(), ids=SHOWN)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert hide(url) == shown
    assert hide(shown) == shown
    assert hide_in_text(f"moved to '{url}' now") == f"moved to '{shown}' now"


MISSPELT = {
    "http:/host/x": "the URL has no valid scheme; expected: http:// or https:// and a host; for a file, its path alone",
    "http:host/x": "no valid scheme",
    "http//host/x": "no valid scheme",
    "https;//host/x": "no valid scheme",
    "https:\\\\host\\x": "no valid scheme",
    "https //host/x": "no valid scheme",
    "://host/x": "no valid scheme",
    "me:sec@host/x": "no valid scheme",
    "host.example:80/x.tgz?sig=sec": "no valid scheme",
    "htps://host/x": "begins with htps://; expected: http:// or https://",
    "ftp://me:sec@host/x": "begins with ftp://",
    "file:///srv/x.tgz": "begins with file://",
    " https://host/x": "begins or ends with a space",
    "https://host/x\n": "begins or ends with a space",
    "https:///x": "has no host",
    "https://": "has no host",
    "https://:80/x": "has no host",
    "https://me:sec@/x": "has no host",
    "https://ho st/x": "has an invalid host",
    "https://[::1/x": "has an invalid host",
    "https://fe80::1/x": "has an invalid host",
    "https://host:x/y": "has an invalid port",
    "https://host:99999/y": "has an invalid port",
    "https://host:0/y": "has an invalid port",
    f"https://host:{'9' * 5000}/y": "has an invalid port",
    "https://[::1]:x/y": "has an invalid port",
    "http://me:sec/ret@host/x": "use url_password",
    "http://me:sec?ret@host/x": "use url_password",
    "http://me:sec#ret@host/x": "use url_password",
    "https://host/a b": "has the character ' '; expected: no spaces or control characters; write it as %20",
    "https://host/a\tb": "has the character '\\t'",
    "https://host/x?sig=sec ret": "has the character ' '",
    "https://host/\u00e9": "write it as %C3%A9",
}


@pytest.mark.parametrize(("url", "problem"), MISSPELT.items(), ids=[ascii(url)[:40] for url in MISSPELT])
def test_a_misspelt_url_is_refused_without_being_shown(url: str, problem: str) -> None:
    with pytest.raises(CniError) as caught:
        require_no_misspelt_url(url, "set tap: source")
    message = str(caught.value)
    assert message.startswith("set tap: source: the URL ")
    assert problem in message
    assert not any(part in message for part in ("sec", "ret@", "host/"))


@pytest.mark.parametrize(
    "location",
    [
        "",
        "builtin",
        "x.tgz",
        "files/x.tgz",
        "/srv/a b.tgz",
        "//srv/x.tgz",
        "http/x.tgz",
        "plugins:1@2.tgz",
        "~/x.tgz",
        "v1.2/x?.tgz",
        "HTTPS://host",
        "https://host:/x",
        "https://[fe80::1%25eth0]:80/x?y=z#w",
        "https://me:p\u00e4ss wort@h\u00f6st.example/x",
        "https://mirror/",
    ],
    ids=ascii,
)
def test_paths_and_valid_urls_are_accepted(location: str) -> None:
    require_no_misspelt_url(location, "source")
