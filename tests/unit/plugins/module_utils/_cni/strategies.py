# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import typing as t

from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni import documents

FORMS = ("0.1.0", "0.2.0"), ("0.3.0", "0.3.1", "0.4.0"), ("1.0.0", "1.1.0")

versions = st.sampled_from(version.KNOWN)
integers = st.integers(0, (1 << 63) - 1)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
json_values: st.SearchStrategy[t.Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
names = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]{0,20}", fullmatch=True)
ifnames = st.from_regex(r"[a-zA-Z0-9_.@\-]{1,15}", fullmatch=True).filter(lambda name: name not in (".", ".."))
plain_text = st.text(st.characters(exclude_characters=";=\0", codec="utf-8"), max_size=5)
arguments = st.dictionaries(plain_text.filter(bool), plain_text, max_size=3)
netns_paths = st.just("") | plain_text.map(lambda text: f"/{text}")


def form(own: str) -> int:
    """Return 0 for results by family, 1 for addresses with a family, and 2 for addresses without a family."""
    return next(number for number, members in enumerate(FORMS) if own in members)


def gateways(family: int) -> st.SearchStrategy[str]:
    if family == 4:
        return st.ip_addresses(v=4).map(str)
    # Those in ::ffff:0:0/96 are addresses of IPv4.
    return st.ip_addresses(v=6).map(str).filter(lambda text: not text.startswith("::ffff:"))


@st.composite
def addresses(draw: st.DrawFn, family: int) -> str:
    return f"{draw(gateways(family))}/{draw(st.integers(0, 32 if family == 4 else 128))}"


@st.composite
def with_optional_keys(draw: st.DrawFn, /, required: JsonObject, **optional: st.SearchStrategy[t.Any]) -> JsonObject:
    """Return a strategy for objects with the required keys and some of the optional ones."""
    chosen = draw(st.sets(st.sampled_from(sorted(optional))))
    return {**required, **{key: draw(optional[key]) for key in sorted(chosen)}}


@st.composite
def routes(draw: st.DrawFn, family: int, own: str) -> JsonObject:
    dst = draw(addresses(family))
    newer = {} if form(own) == 0 else {"mtu": integers, "table": integers}
    return draw(with_optional_keys({"dst": dst}, gw=gateways(family), **newer))


@st.composite
def interfaces(draw: st.DrawFn, own: str) -> JsonObject:
    newer = {"mtu": integers, "socketPath": st.text(), "pciID": st.text()} if form(own) == 2 else {}
    return draw(
        with_optional_keys({"name": draw(ifnames)}, mac=st.just("00:11:22:33:44:55"), sandbox=st.text(), **newer)
    )


@st.composite
def ips(draw: st.DrawFn, own: str) -> JsonObject:
    family = draw(st.sampled_from([4, 6]))
    numbered = {"version": str(family)} if form(own) == 1 else {}
    address = {"address": draw(addresses(family)), **numbered}
    return draw(with_optional_keys(address, gateway=gateways(family), interface=st.integers(0, 3)))


@st.composite
def families(draw: st.DrawFn, family: int, own: str) -> JsonObject:
    some_routes = st.lists(routes(family, own), min_size=1, max_size=3)
    return draw(with_optional_keys({"ip": draw(addresses(family))}, gateway=gateways(family), routes=some_routes))


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Return a strategy for results in any version; a result in an old version has an address."""
    own = draw(versions)
    dns = st.just({"nameservers": ["10.1.0.1"]})
    if form(own) == 0:
        present = draw(st.sampled_from([(4,), (6,), (4, 6)]))
        keys = {f"ip{family}": draw(families(family, own)) for family in present}
        return Result(own, draw(with_optional_keys({"cniVersion": own, **keys}, dns=dns)))
    some_routes = st.lists(st.sampled_from([4, 6]).flatmap(lambda family: routes(family, own)), min_size=1, max_size=4)
    optional = {
        "interfaces": st.lists(interfaces(own), max_size=3),
        "ips": st.lists(ips(own), max_size=4),
        "routes": some_routes,
    }
    return Result(own, draw(with_optional_keys({"cniVersion": own}, dns=dns, **optional)))


@st.composite
def attachments(draw: st.DrawFn) -> Attachment:
    named = draw(names), draw(names), draw(ifnames), draw(netns_paths)
    return Attachment(*named, draw(arguments), draw(json_objects), draw(json_objects))


texts = st.lists(st.text(max_size=8), max_size=2).map(tuple)
restorations = st.builds(
    Restoration, texts, st.floats(1, 600), texts, st.booleans(), st.sampled_from(["", "always", "never"])
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    return Record(
        draw(attachments()),
        draw(st.binary(max_size=50)),
        draw(st.none() | results()),
        version=draw(st.just("") | versions),
        netns_identity=draw(st.text(max_size=8)),
        command=draw(st.sampled_from(["", "ADD", "DEL"])),
        restoration=draw(st.none() | restorations),
        builtin=draw(texts),
    )


def places(value: object) -> list[tuple[t.Any, t.Any]]:
    """Return every container inside a JSON value with each of its keys."""
    if not isinstance(value, (dict, list)):
        return []
    own = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    return [(value, key) for key, dummy in own] + [place for dummy, inner in own for place in places(inner)]


@st.composite
def changed_documents(draw: st.DrawFn, document: JsonObject) -> bytes:
    """Return a strategy for the document with one to three values replaced or removed."""
    value = copy.deepcopy(document)
    for dummy in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(value) or [(value, "x")]))
        if draw(st.booleans()) and key in (range(len(container)) if isinstance(container, list) else container):
            del container[key]
        else:
            container[key] = draw(json_values)
    return documents.encode(value)


@st.composite
def damaged_texts(draw: st.DrawFn, document: JsonObject) -> bytes:
    """Return a strategy for the document's text, truncated or with replaced bytes."""
    content = documents.encode(document)
    start = draw(st.integers(0, len(content)))
    return (
        content[:start]
        + draw(st.binary(max_size=4))
        + (b"" if draw(st.booleans()) else content[start + draw(st.integers(0, 4)) :])
    )


def spoiled_texts(*originals: JsonObject) -> st.SearchStrategy[bytes]:
    """Return a strategy for any bytes, and for originals that are changed or damaged."""
    return st.binary(max_size=60) | st.sampled_from(originals).flatmap(
        lambda original: changed_documents(original) | damaged_texts(original)
    )
