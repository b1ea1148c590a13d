#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plugins

short_description: Install, upgrade, roll back and remove CNI plugins

version_added: 1.0.0

description:
  - Installs the plugins of a release, such as the reference plugins, into the directory in which container runtimes look
    for them.
  - The archive's digest is checked before anything is unpacked. Each plugin takes the place of the old one at once, by
    renaming a complete file. No plugin is missing or incomplete at any moment, and one that is running goes on running.
  - Plugins that were altered, removed, or given another owner or mode since are put right.
  - Files that this module has not installed are left alone, whoever they belong to.
  - A release is kept until it is O(keep) releases old, so that O(state=rolled_back) needs no source.
  - A plugin is not removed while an attachment or a network needs it and no other directory of O(plugin_dirs) has it. The task
    fails then before anything is changed, and names what needs it. O(remove_needed) removes it nevertheless.
  - Attachments are those recorded below O(cache_dir) and by other runtimes, including those that were begun and not finished.
    Networks are those in O(conf_dir) and O(conflists). Both need delegated plugins too.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._conflist_items.planned
  - cni.node._paths.conf_dir

attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    support: full
    details:
      - An archive that O(source) names as a URL is downloaded to a temporary directory, to see what is in it. A O(source) on the
        controller is sent there only where its plugins are asked whether they are of O(version).
      - A file with O(remote_src=true) that an earlier task would have put there is not known yet. A warning says so.
      - Networks and attachments that earlier tasks would remove are known from O(planned_conflists) and O(planned_attachments).
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  version:
    description:
      - The version of the release, with or without a C(v) before it.
      - Without O(source), that version of the reference plugins is downloaded from where they are published.
        Its digest is known to this collection for V(1.9.1), V(1.8.0), V(1.7.1), V(1.6.2), V(1.6.0), V(1.5.1), V(1.5.0),
        V(1.4.0), V(1.3.0), V(1.2.0) and V(1.1.1), each for C(amd64), C(arm), C(arm64) and C(ppc64le).
        For all others O(checksum) has to be given.
      - With O(source), it is what the release is called. The default is the version in the archive's name, if it is named
        as those of the reference plugins are.
      - A version of three numbers is that of a release of the reference plugins. Where no known digest proves it, the plugins are run
        without a command before they are installed, also in check mode, and say what they are. A version that they or a known
        digest contradict is refused. A build of your own is called otherwise, such as V(1.9.1-mine).
      - V(1.0.0), V(1.6.1) and V(1.7.0) are broken, V(0.9.0) has no archives. They are refused. V(1.4.1) was built again
        under the same name, which is worth a warning.
    type: str
  source:
    description:
      - An archive on the controller, looked up as M(ansible.builtin.copy) does, with O(remote_src=true) one on the node,
        or the URL of one, which the node downloads through the proxies of its environment.
      - A tar archive, compressed with gzip or xz or not at all, with the plugins at its root. Only regular files are taken.
      - A URL that ends with C(/) is a mirror of the reference plugins. The name of the archive for O(version) and the
        node's architecture is added.
      - Credentials in a URL are taken for O(url_username) and O(url_password), and are not shown. A C(/) in them is written
        C(%2F) there.
      - A directory on the controller or the node, whose executable files are taken.
    type: str
  remote_src:
    description:
      - Whether O(source) is on the node.
    type: bool
    default: false
  url_username:
    description:
      - The name with which the server of a URL is asked, where it wants one.
    type: str
  url_password:
    description:
      - The password for O(url_username). Neither this module nor the node's journal shows it.
    type: str
  checksum:
    description:
      - The archive's digest, C(sha256:) or C(sha512:) and hexadecimal digits.
      - The default for an archive that is named as those of the reference plugins are is the digest known to this
        collection, wherever the archive comes from.
      - A URL needs one. For a directory, it is an error.
    type: str
  only:
    description:
      - The plugins to install. When empty, all of the release.
    type: list
    elements: str
  bin_dir:
    description:
      - Directory of the plugins.
    type: path
    default: /opt/cni/bin
  cache_dir:
    description:
      - Directory below which releases are kept, in C(cni.node/plugins). Each takes the room of its plugins, the installed
        one included.
      - The records of attachments are there too.
    type: path
    default: /var/lib/cni
  state:
    description:
      - With V(present), the plugins of the release are there, and no others that this module has installed.
      - V(rolled_back) returns to the release before the last one that was installed. Asked for again, it changes nothing.
        O(version) and O(source) cannot be given then.
      - V(absent) removes the plugins and everything kept. Files that were set aside come back.
      - A plugin in whose place somebody else has put another file is not removed. A warning says so. What was set aside for
        it is kept, also with V(absent), and comes back with the next run once that file is gone.
    type: str
    choices:
      - present
      - absent
      - rolled_back
    default: present
  keep:
    description:
      - How many releases are kept beside the installed one.
    type: int
    default: 1
  force:
    description:
      - What becomes of a file that has the name of a plugin and that this module has not installed.
      - With V(false), one with the very content, owner and mode of the plugin is taken over, and any other is an error.
        Nothing is changed then.
      - With V(true), it is set aside, and comes back when the plugin is removed.
      - Only one file is set aside for a plugin. Another one that has taken its place is an error.
    type: bool
    default: false
  conflists:
    description:
      - Network configurations that the node is about to get, so that no plugin is removed that they need. They are not written.
      - With O(state=absent), this is not looked at.
  plugin_dirs:
    description:
      - Directories in which runtimes of this node look for plugins. A plugin that one of them has, other than O(bin_dir), can be
        removed from O(bin_dir) whatever needs it.
    type: list
    elements: path
    default:
      - /opt/cni/bin
      - /usr/lib/cni
      - /usr/libexec/cni
  remove_needed:
    description:
      - Whether plugins are removed that attachments or networks need. A warning says what needs them.
      - Without its plugins, an attachment can be neither checked nor deleted, and a network attaches nothing.
    type: bool
    default: false
  planned_attachments:
    description:
      - What a task with M(cni.node.attachments) before this one has returned as RV(cni.node.attachments#module:attachments).
      - In check mode, an attachment that it would remove needs no plugin. Otherwise this is not looked at.
    type: list
    elements: dict
    default: []
  timeout:
    description:
      - Seconds that a download may take between two pieces of it.
      - Seconds to wait for another run that works on the same directory.
    type: float
    default: 60
  download_timeout:
    description:
      - Seconds that a download may take as a whole, from looking up the server's name to the last byte.
    type: float
    default: 600
  _controller:
    description:
      - What the action plugin knows of a O(source) on the controller. Only the action plugin sets it.
    type: dict

seealso:
  - module: cni.node.conflists
  - module: cni.node.node_info
  - name: The reference plugins
    description: Their releases.
    link: https://github.com/containernetworking/plugins/releases

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Install the reference plugins from where they are published
  cni.node.plugins:
    version: 1.9.1

- name: Install some of them from an archive beside the playbook
  cni.node.plugins:
    source: cni-plugins-linux-amd64-v1.9.1.tgz
    only:
      - bridge
      - host-local
      - loopback
      - portmap

- name: Install them from a mirror, whatever the node's architecture
  cni.node.plugins:
    version: 1.9.1
    source: https://mirror.example.com/cni/

- name: Install them from a mirror that wants to know who asks
  cni.node.plugins:
    version: 1.9.1
    source: https://mirror.example.com/cni/
    url_username: ansible
    url_password: "{{ mirror_password }}"

- name: Install those of the distribution where runtimes look for them
  cni.node.plugins:
    version: 1.1.1-debian
    source: /usr/lib/cni
    remote_src: true

- name: Return to the release before
  cni.node.plugins:
    state: rolled_back

- name: Remove them
  cni.node.plugins:
    state: absent
"""

RETURN = r"""
version:
  description:
    - The version that is installed, or nothing. A release that nobody has given a version has the beginning of its digest.
  returned: success
  type: str
  sample: 1.9.1
previous:
  description:
    - The version that was installed before this run, or nothing.
  returned: success
  type: str
  sample: 1.8.0
kept:
  description:
    - The versions kept beside, the one to which O(state=rolled_back) returns first.
  returned: success
  type: list
  elements: str
  sample:
    - 1.8.0
plugins:
  description:
    - What became of each plugin.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The plugin.
      type: str
      returned: always
      sample: bridge
    action:
      description:
        - What was done, or would be in check mode.
        - V(adopted) is a file that was there already, V(restored) one that was set aside and came back.
      type: str
      returned: always
      choices:
        - installed
        - updated
        - repaired
        - adopted
        - removed
        - restored
        - unchanged
    sha256:
      description: Digest of the file, where there is to be one.
      type: str
      returned: when there is to be a file
error:
  description:
    - C(code), C(msg) and C(details) of what went wrong, as the specification has them.
  returned: failure
  type: dict
  sample:
    code: 50
    msg: "there is nothing to roll back to: no version before 1.9.1 is kept"
    details: "install the version you want with state: present"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.conflist_items import CONFLISTS, PLANNED
from ansible_collections.cni.node.plugins.module_utils._module.plugins import ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "version": {"type": "str"},
            "source": {"type": "str"},
            "remote_src": {"type": "bool", "default": False},
            "url_username": {"type": "str"},
            "url_password": {"type": "str", "no_log": True},
            "checksum": {"type": "str"},
            "only": {"type": "list", "elements": "str"},
            "bin_dir": {"type": "path", "default": "/opt/cni/bin"},
            **arguments.CACHE_DIR,
            "state": {"type": "str", "choices": ["present", "absent", "rolled_back"], "default": "present"},
            "keep": {"type": "int", "default": 1},
            "force": {"type": "bool", "default": False},
            **arguments.TIMEOUT,
            "download_timeout": {"type": "float", "default": 600.0},
            **CONFLISTS,
            **arguments.CONF_DIR,
            "plugin_dirs": arguments.PLUGIN_DIRS["plugin_dirs"],
            "remove_needed": {"type": "bool", "default": False},
            **PLANNED,
            "planned_attachments": {"type": "list", "elements": "dict", "default": []},
            "_controller": {"type": "dict"},
        },
        required_if=[("state", "present", ("version", "source"), True)],
        supports_check_mode=True,
    )
    run(module, ensure)


if __name__ == "__main__":
    main()
