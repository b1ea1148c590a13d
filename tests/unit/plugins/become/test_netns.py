# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that enters a network namespace: values stay arguments, and no name leads to a shell."""

from __future__ import annotations

import json
import shlex
import typing as t

import pytest

pytest.importorskip("ansible.plugins.become", reason="there is no controller here: install ansible-core")

from ansible.errors import AnsibleError
from ansible.plugins.become import BecomeBase

from ansible_collections.cni.node.plugins.become.netns import BecomeModule

DEFAULTS = {
    "become_user": "root",
    "become_exe": "sudo",
    "become_flags": "-H -S -n",
    "become_pass": None,
    "netns": "red",
}


class Shell:
    executable = "/bin/sh"


class Options(BecomeBase):
    def __init__(self, **options: t.Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.options = {**DEFAULTS, **options}

    def get_option(self, option: str, hostvars: t.Any = None, playcontext: t.Any = None) -> t.Any:
        return self.options[option]


class Plugin(BecomeModule, Options):
    """The plugin with options that do not come from a task."""


def make_plugin(**options: t.Any) -> t.Any:
    return Plugin(**options)


def build(cmd: str = "true", **options: t.Any) -> list[str]:
    """Return the words of the command."""
    return shlex.split(make_plugin(**options).build_become_command(cmd, Shell()))


@pytest.mark.parametrize(
    ("name", "path", "etc"),
    [
        ("red", "/run/netns/red", "/etc/netns/red"),
        ("/run/netns/red", "/run/netns/red", "/etc/netns/red"),
        ("/var/run/netns/red", "/run/netns/red", "/etc/netns/red"),
        ("/proc/7/ns/net", "/proc/7/ns/net", ""),
        ("/run/docker/netns/default", "/run/docker/netns/default", ""),
        ("$(id);'\"", "/run/netns/$(id);'\"", "/etc/netns/$(id);'\""),
    ],
)
def test_a_name_and_a_path_lead_to_the_namespace_and_its_files_for_etc(name: str, path: str, etc: str) -> None:
    assert build(netns=name)[8:10] == [path, etc]


@pytest.mark.parametrize("name", ["", None])
def test_a_missing_name_is_refused_with_the_variable_to_set(name: str | None) -> None:
    with pytest.raises(AnsibleError, match="no network namespace; set the variable ansible_cni_netns"):
        build(netns=name)


@pytest.mark.parametrize("name", ["a/b", "..", "-x", "a b", "red\n", "/run/netns/", "/run/netns/..", "/proc/\x1b/net"])
def test_a_name_that_no_namespace_can_have_is_refused(name: str) -> None:
    with pytest.raises(AnsibleError, match="expected: "):
        build(netns=name)


@pytest.mark.parametrize("cmd", ["echo 'a b' \"$HOME\" `id`", "/usr/bin/python3 && sleep 0", "a\nb", "exit 1; $(x)"])
def test_the_command_is_one_argument_of_the_users_shell(cmd: str) -> None:
    assert build(cmd)[-3:] == ["/bin/sh", "-c", cmd]
    assert build(cmd, become_user="alice")[-7:] == ["su", "-s", "/bin/sh", "-c", cmd, "--", "alice"]


def test_an_empty_command_stays_empty() -> None:
    assert make_plugin().build_become_command("", Shell()) == ""


def test_the_refusal_is_the_beginning_of_a_modules_result() -> None:
    words = build(netns="it's")
    result = json.loads(words[10] + 'reason"}')
    assert result == {"failed": True, "msg": 'the network namespace "it\'s" cannot be entered: reason'}


def test_scripts_are_one_line_without_values() -> None:
    words = build("a\nb", netns="red")
    scripts = [words[2], words[6], words[11]]
    assert not [script for script in scripts if "\n" in script or "red" in script]


def test_success_is_shown_by_the_word_that_ansible_waits_for() -> None:
    plugin = make_plugin()
    words = shlex.split(plugin.build_become_command("true", Shell()))
    assert plugin.success.startswith("BECOME-SUCCESS-")
    assert words[12] == plugin.success


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ("-H -S -n", "-H -S"),
        ("-HSn", "-HS"),
        ("--non-interactive -E", "-E"),
        ("-C '3 4'", "-C '3 4'"),
        ("", ""),
    ],
)
def test_sudo_asks_for_a_password_if_there_is_one(flags: str, kept: str) -> None:
    plugin = make_plugin(become_flags=flags, become_pass="secret")
    command = plugin.build_become_command("true", Shell())
    assert plugin.prompt.startswith("[sudo via ansible, key=")
    assert plugin.expect_prompt()
    assert "secret" not in command
    expected = shlex.join([*shlex.split(kept), "-p", plugin.prompt, "-u", "root"])
    assert f"set -- sudo {expected} " in shlex.split(command)[2]
    assert plugin.check_password_prompt(plugin.prompt.encode())
    assert plugin.check_incorrect_password(b"Sorry, try again.")


def test_options_of_sudo_that_no_shell_could_read_are_refused_with_their_name() -> None:
    with pytest.raises(AnsibleError, match='become_flags: "-H \'x": No closing quotation; expected: options of sudo'):
        build(become_flags="-H 'x")


def test_sudo_without_a_password_never_asks() -> None:
    plugin = make_plugin(become_exe="/opt/sudo")
    assert "set -- /opt/sudo -H -S -n -u root " in plugin.build_become_command("true", Shell())
    assert not plugin.expect_prompt()


def test_ansible_never_leaves_the_plugin_out_because_of_equal_users() -> None:
    for user, remote in (("root", "root"), ("alice", "alice"), (None, "root"), ("", "root")):
        become_user = make_plugin(become_user=user).get_option("become_user")
        assert become_user != remote
    assert make_plugin().get_option("become_user") in ["root", "toor"]
