# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bundle hides secrets, and keeps the rest readable."""

from __future__ import annotations

import base64
import json
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, parse
from ansible_collections.cni.node.plugins.module_utils._node.bundle.secrets import Secrets

VALUE = "s3/cr@t:wörd"
ENCODED = base64.b64encode(VALUE.encode()).decode()
PEM = "-----BEGIN RSA PRIVATE KEY-----\nnode kubelet: MIIEow\nnode kubelet: IBAAKC\nnode kubelet: -----END RSA PRIVATE KEY-----"


def network(**keys: t.Any) -> NetworkConfiguration:
    plugin = {"type": "bridge", "bridge": "cni0-of-dbnet", **keys}
    content = json.dumps({"cniVersion": "1.0.0", "name": "dbnet", "plugins": [plugin]}).encode()
    return parse(content, "10-dbnet.conflist")


@pytest.mark.parametrize(
    "text",
    [
        f"password={VALUE}",
        f"password: {VALUE}",
        f"DB_PASSWORD={VALUE} and more",
        f'"apiToken": "{VALUE}"',
        f'msg="{{\\"token\\":\\"{VALUE}\\",\\"a\\":1}}"',
        f"CNI_ARGS=IgnoreUnknown=1;TOKEN={VALUE};A=1",
        f"https://me:{VALUE}@mirror.example/plugins.tgz",
        f"https://{VALUE.replace('/', '%2F').replace('@', '%40')}@mirror.example",
        "https://me:s3@t/x@y@mirror.example/image@sha256:01",
        "https://s3cr@t@mirror.example",
        "https://mirror.example/x.tgz?X-Amz-Signature=s3cr@t&b",
        f"runc --auth-token {VALUE} create",
        f"--client-secret={VALUE}",
        f'secret = "a\\"{VALUE}"',
        f"secret='{VALUE}",
        "Authorization: Bearer s3cr.t_wörd-x",
        "authorization=Basic czNjcjp0d8O2cmQ=",
        f"registry-auth.access_key: {VALUE}",
        f"password = {VALUE}",
        f"password : {VALUE}",
        f"PresharedKey\t=\t{VALUE} and more",
        f"auth-token => {VALUE}",
        f'{{"passwords": ["a", "{VALUE}"], "a": 1}}',
        f'{{"secret": {{"value": "{VALUE}"}}, "a": 1}}',
        f'"secrets": [["a"], ["b", "{VALUE}"]], "a": 1',
        f'"secret": {{"a": {{"b": 1}}, "c": ["{VALUE}"]}}',
        f"token:[{VALUE}]",
    ],
)
def test_what_follows_the_name_of_a_secret_is_hidden(text: str) -> None:
    hidden = Secrets().hide(f"before {text}\nafter")
    for part in ("s3", "@t", "wörd", "czNj"):
        assert part not in hidden
    assert "***" in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith("\nafter")


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "AKIAABCDEFGHIJKLMNOP",
        "ASIAABCDEFGHIJKLMNOP",
        "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIEow\n-----END PGP PRIVATE KEY BLOCK-----",
    ],
)
def test_keys_and_tokens_are_known_by_their_form(text: str) -> None:
    assert Secrets().hide(f"a {text} b") == "a *** b"


@pytest.mark.parametrize(
    "text",
    [
        '-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: dbnet" -j CNI-0b3c',
        "pulled docker://registry:5000/image@sha256:0123",
        "macvlan mode=passthru bypass=1 author: me",
        "net.ipv4.ip_forward = 1",
        '{"secrets": [], "tokens": {}, "mtu": 1450}',
        "10.1.0.0/16 dev cni0 proto kernel scope link src 10.1.0.1",
    ],
)
def test_ordinary_lines_stay(text: str) -> None:
    assert Secrets().hide(text) == text


@pytest.mark.parametrize("value", ['"x"', '["x"]', '{"a": "x"}', "'x'"])
def test_what_follows_a_secret_with_an_end_stays(value: str) -> None:
    for text in (f'"token": {value}, "mtu": 1450', f"token = {value} mtu", f"token={value} mtu"):
        hidden = Secrets().hide(text)
        assert "x" not in hidden
        assert "mtu" in hidden


def test_values_of_keys_that_are_left_out_are_hidden_everywhere() -> None:
    secrets = Secrets()
    secrets.add_network(network(customThing={"deep": [VALUE]}, logLevel="information", mtu=1450))
    for text in (VALUE, json.dumps(VALUE), json.dumps(json.dumps(VALUE)), "s3%2Fcr%40t%3Aw%C3%B6rd", ENCODED):
        shown = secrets.hide(f"plugin said {text} about cni0-of-dbnet and dbnet: information")
        assert "***" in shown
        assert shown.endswith(" about cni0-of-dbnet and dbnet: information")
        assert "s3" not in shown
        assert ENCODED[:6] not in shown


def test_a_word_is_hidden_only_behind_the_name_of_a_secret() -> None:
    secrets = Secrets()
    secrets.add_network(network(datastore="kubernetes", password="letmein"))
    assert secrets.hide("kubernetes letmein") == "kubernetes ***"


def test_arguments_of_attachments_are_hidden_but_not_their_names_and_ports() -> None:
    secrets = Secrets()
    secrets.add_attachment(
        Attachment(
            "dbnet",
            "container-1",
            "eth0",
            "/run/netns/red",
            {"IgnoreUnknown": "1", "TOKEN": "topsecret", "K8S_POD_NAME": "pod-of-red"},
            {"portMappings": [{"hostPort": 8080, "hostIP": "10.9.9.9"}]},
            {"key": VALUE, "ips": ["10.1.0.7"]},
        )
    )
    text = "container-1 eth0 /run/netns/red pod-of-red 10.9.9.9 10.1.0.7"
    assert secrets.hide(f"{text} topsecret {VALUE}") == f"{text} *** ***"


def test_json_stays_json() -> None:
    secrets = Secrets()
    secrets.add_network(network(customThing=VALUE))
    value = {"password": "x", "list": [f"token: {VALUE} and more", 1, None], "secret": None, "text": f"a {VALUE}"}
    assert json.loads(secrets.dump(value)) == {
        "password": "***",
        "list": ["token: ***", 1, None],
        "secret": None,
        "text": "a ***",
    }


@pytest.mark.parametrize(
    "text",
    [
        "token" * 20_000,
        "://a:" * 20_000,
        "--" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 4000,
        'token="' * 15_000,
        "eyJ-" * 30_000,
        "token" + " " * 100_000,
        "token[" * 20_000,
        "token:[" * 20_000,
        "token:[[" * 20_000,
        "token:{" + "a{b" * 20_000,
        "token:{" + "{b}" * 50_000,
        "token = " * 20_000,
    ],
)
def test_text_that_is_made_to_take_long_does_not(text: str) -> None:
    started = time.monotonic()
    Secrets().hide(text)
    assert time.monotonic() - started < 10


def test_many_secrets_do_not_take_long() -> None:
    secrets = Secrets()
    for number in range(3000):
        annotations = {f"key-{key}": f"https://registry.example/{number}/{key}" for key in range(5)}
        arguments = {"io.kubernetes.cri.pod-annotations": annotations}
        secrets.add_attachment(Attachment("dbnet", f"container-{number}", "eth0", "/run/netns/red", {}, arguments, {}))
    line = (
        '-A CNI-FORWARD -s 10.1.0.2/32 -m comment --comment "name: dbnet https://registry.example/{0}/{1}" -j ACCEPT\n'
    )
    text = "".join(line.format(number, number % 7) for number in range(15_000))
    started = time.monotonic()
    hidden = secrets.hide(text)
    assert time.monotonic() - started < 10
    assert hidden.count("dbnet ***") == sum(number % 7 < 5 for number in range(3000))


def test_values_that_overlap_are_hidden_completely() -> None:
    secrets = Secrets()
    secrets.add_network(network(first="abc:defghi", second="ghi:jklmnop", third="mnop:qr", fourth="c:defg"))
    assert secrets.hide("<abc:defghi:jklmnop:qr> <abc:defghi> <ghi:jklmnop> <c:defg>") == "<***> <***> <***> <***>"
