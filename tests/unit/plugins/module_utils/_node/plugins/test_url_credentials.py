# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Credentials are separated from a URL, so that results do not show them."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.plugins.url_credentials import separate
from ansible_collections.cni.node.tests.support.error_of import error_of

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


@pytest.mark.parametrize("password", ["sec/ret", "sec?ret", "sec#ret"])
def test_a_password_that_ends_the_host_is_refused_and_not_shown(password: str) -> None:
    error = error_of(separate, f"http://me:{password}@host/x")
    assert "use url_password" in str(error)
    assert password[:3] not in str(error)
