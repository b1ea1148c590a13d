# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: netns

short_description: Run tasks inside a network namespace of the node

version_added: 1.0.0

description:
  - Any module of any collection runs inside a network namespace, as with C(ip netns exec). Its connections start there, and facts
    about the network are those of the namespace.
  - The task becomes root with C(sudo), unless the user of the connection is root. It then enters the network namespace, and becomes
    O(become_user) if that is another user.
  - Files are those of the node, except that C(/sys) shows the devices of the network namespace, and that the files below
    C(/etc/netns/NAME) replace those below C(/etc) if there are any, such as C(resolv.conf). For this, the module runs in a mount
    namespace of its own, so a file system that it mounts disappears with it. C(/sys/fs/cgroup) and other file systems below C(/sys)
    are not mounted.
  - A network namespace that does not exist, or that is the node's own, fails the task. Nothing runs outside of the network
    namespace instead, even if O(become_user) is the user of the connection.
  - Only modules run inside. Action plugins and lookups run on the controller, and files are transferred as without this plugin.

requirements:
  - C(nsenter), C(unshare), C(mount) and C(umount) on the node, which util-linux has
  - C(sudo) on the node, if the user of the connection is not root

options:
  netns:
    description:
      - The name of a network namespace in C(/run/netns), or the absolute path of one, such as C(/proc/1234/ns/net).
      - It is required. Most plays set the variable for each task or host.
    type: str
    ini:
      - section: cni_netns_become_plugin
        key: netns
    vars:
      - name: ansible_cni_netns
    env:
      - name: ANSIBLE_CNI_NETNS
  become_user:
    description:
      - The user who runs the module inside. For another user than V(root), C(su) is required on the node.
    type: str
    default: root
    ini:
      - section: privilege_escalation
        key: become_user
      - section: cni_netns_become_plugin
        key: user
    vars:
      - name: ansible_become_user
    env:
      - name: ANSIBLE_BECOME_USER
    keyword:
      - name: become_user
  become_exe:
    description:
      - The C(sudo) executable.
    type: str
    default: sudo
    ini:
      - section: privilege_escalation
        key: become_exe
      - section: cni_netns_become_plugin
        key: executable
    vars:
      - name: ansible_become_exe
    env:
      - name: ANSIBLE_BECOME_EXE
    keyword:
      - name: become_exe
  become_flags:
    description:
      - Options of C(sudo).
    type: str
    default: -H -S -n
    ini:
      - section: privilege_escalation
        key: become_flags
      - section: cni_netns_become_plugin
        key: flags
    vars:
      - name: ansible_become_flags
    env:
      - name: ANSIBLE_BECOME_FLAGS
    keyword:
      - name: become_flags
  become_pass:
    description:
      - The password for C(sudo).
    type: str
    required: false
    ini:
      - section: cni_netns_become_plugin
        key: password
    vars:
      - name: ansible_become_password
      - name: ansible_become_pass
    env:
      - name: ANSIBLE_BECOME_PASS

seealso:
  - module: cni.node.netns
  - plugin: cni.node.attachments
    plugin_type: inventory

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Ask a server from inside a network namespace
  hosts: node1
  become: true
  become_method: cni.node.netns
  vars:
    ansible_cni_netns: red
  tasks:
    - name: Read the addresses and routes of the namespace
      ansible.builtin.setup:
        gather_subset: network

    - name: Wait for the server
      ansible.builtin.wait_for:
        host: 10.1.0.3
        port: 80

    - name: Get its page
      ansible.builtin.uri:
        url: http://10.1.0.3/

    - name: Get it from another network namespace
      ansible.builtin.uri:
        url: http://10.1.0.3/
      vars:
        ansible_cni_netns: blue
"""

import json
import posixpath
import re
import shlex
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.become import BecomeBase
from ansible.plugins.become.sudo import BecomeModule as Sudo

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._linux import netns

# All scripts are one line, because the node's user may have a shell that cannot quote line breaks. Values are arguments.
# Calls its arguments as root.
_AS_ROOT = '[ "$(id -u)" = 0 ] || set -- {sudo} "$@"; exec "$@"'
# Prints the beginning of a module's result, $3, and the reason without characters that JSON would have to escape.
_REFUSE = r"""printf '%s%s"}\n' "$3" "$(printf %s "$cni_node_reason" | LC_ALL=C tr -cd ' #-[]-~')"; exit 1"""
# Prints $5, which shows success, and enters the network namespace at $1, where the script $4 gets all arguments. What it has opened
# is what it examines and enters, because others may replace the path meanwhile.
_ENTER = (
    'echo "$5"; '
    'if [ -e "$1" ] && ! [ -f "$1" ]; then cni_node_reason="it is not a network namespace"; '
    'elif ! cni_node_reason=$(LC_ALL=C nsenter --net="$1" true 2>&1); then :; '
    'elif exec 9<"$1"; [ /proc/self/fd/9 -ef /proc/self/ns/net ] || [ /proc/self/fd/9 -ef /proc/1/ns/net ]; then '
    'cni_node_reason="it is that of the node"; '
    'else exec nsenter --net=/proc/self/fd/9 unshare --mount --propagation slave /bin/sh -c "$4" sh "$@"; fi; '
    f"{_REFUSE}"
)
# Mounts /sys, and the files of the directory $2 over those of /etc. Then calls the command, which is in the other arguments.
_PREPARE = (
    "exec 9<&-; umount -l /sys 2>/dev/null; "
    "cni_node_reason=$(LC_ALL=C mount -t sysfs sysfs /sys 2>&1 || LC_ALL=C mount -t sysfs -o ro sysfs /sys 2>&1)"
    f" || {{ {_REFUSE}; }}; "
    'if [ "$2" ]; then for cni_node_file in "$2"/* "$2"/.[!.]*; do if [ -e "$cni_node_file" ]; then '
    'mount --bind "$cni_node_file" "/etc/${cni_node_file##*/}"; fi; done; fi; '
    'shift 5; exec "$@"'
)
# A directory of systems where /var/run is a link.
_OTHER_NETNS_DIR = "/var/run/netns"


class _User(str):
    """A user's name, because of which Ansible never leaves the plugin out.

    Ansible would run the module outside of the network namespace if the user of the connection and that of the task were equal.
    """

    def __ne__(self, other: object) -> bool:
        return True


class BecomeModule(Sudo):
    """sudo, with its prompts and errors, followed by the network namespace."""

    def get_option(self, option: str, hostvars: t.Any = None, playcontext: t.Any = None) -> t.Any:
        value = super().get_option(option, hostvars=hostvars, playcontext=playcontext)
        return _User(value or "root") if option == "become_user" else value

    def build_become_command(self, cmd: str, shell: t.Any) -> str:
        # This chooses the word that shows success.
        BecomeBase.build_become_command(self, cmd, shell)
        if not cmd:
            return cmd
        name = self.get_option("netns") or ""
        path, etc = _find_namespace(name)
        refusal = json.dumps({"failed": True, "msg": f"the network namespace {name!r} cannot be entered: "})[:-2]
        arguments = [path, etc, refusal, _PREPARE, self.success, *self._build_command(cmd, shell)]
        as_root = _AS_ROOT.format(sudo=self._build_sudo())
        return shlex.join(["/bin/sh", "-c", as_root, "sh", "/bin/sh", "-c", _ENTER, "sh", *arguments])

    def _build_command(self, cmd: str, shell: t.Any) -> list[str]:
        """Return the words that run the command as the user."""
        executable = getattr(shell, "executable", None) or "/bin/sh"
        user = str(self.get_option("become_user"))
        if user == "root":
            return [executable, "-c", cmd]
        return ["su", "-s", executable, "-c", cmd, "--", user]

    def _build_sudo(self) -> str:
        given = self.get_option("become_flags") or ""
        try:
            flags = shlex.split(given)
        except ValueError as exc:
            raise AnsibleError(f"cni.node.netns: become_flags: {given!r}: {exc}; expected: options of sudo") from exc
        if self.get_option("become_pass"):
            self.prompt = f"[sudo via ansible, key={self._id}] password:"
            flags = [*_remove_non_interactive(flags), "-p", self.prompt]
        return f"{self.get_option('become_exe') or 'sudo'} {shlex.join([*flags, '-u', 'root'])}"


def _remove_non_interactive(flags: t.Iterable[str]) -> t.Iterator[str]:
    """Yield options of sudo without those that keep it from asking for a password."""
    for flag in flags:
        shown = flag if flag.startswith("--") else re.sub(r"^(-\w*)n(\w*)$", r"\1\2", flag)
        if shown not in ("-", "--non-interactive"):
            yield shown


def _find_namespace(name: str) -> tuple[str, str]:
    """Return the path of a network namespace, and the directory of its files for /etc, or an empty string.

    Raises:
        AnsibleError: It is neither a name nor an absolute path.
    """
    if not name:
        raise AnsibleError(
            "cni.node.netns: no network namespace; set the variable ansible_cni_netns to its name or absolute path"
        )
    path = name
    if name.startswith("/"):
        if not name.isprintable():
            raise AnsibleError(f"cni.node.netns: {name!r} is not a path; expected: printable characters")
        directory, name = posixpath.split(path)
        if directory not in (NODE_PATHS.netns_dir, _OTHER_NETNS_DIR):
            return path, ""
    try:
        in_directory = netns.path_of(NODE_PATHS.netns_dir, name)
    except CniError as exc:
        raise AnsibleError(f"cni.node.netns: {exc}, or an absolute path") from exc
    return in_directory, f"{NODE_PATHS.netns_etc}/{name}"
