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
  - Installs the plugins of a release, such as the reference plugins, into the directory where container runtimes look for
    them.
  - A directory can have plugins of several projects. Each is a set with a name and a release of its own, which is installed,
    upgraded, rolled back and removed without the others. O(version) and O(source) describe the set V(reference), and O(sets)
    the others.
  - Checks the digest of an archive before it unpacks anything. Each plugin is replaced by renaming a complete file, so no
    plugin is ever missing or incomplete, and a running plugin keeps running.
  - Repairs plugins that were changed or removed, or whose owner or mode differ.
  - Never touches files that it has not installed, unless O(force) is set. Refuses two sets that have a plugin of the same name.
  - Keeps the last O(keep) releases of each set, so that O(state=rolled_back) needs no source.
  - Refuses to remove a plugin that an attachment or a network needs, unless another directory of O(plugin_dirs) has it. The
    task then fails before anything is changed, and names what needs the plugin. O(remove_needed) overrides this.
  - Attachments are those recorded below O(cache_dir) and by other runtimes, unfinished ones included. Networks are those in
    O(conf_dir) and O(conflists). Plugins that they delegate to are needed as well.

extends_documentation_fragment:
  - cni.node._attributes
  - cni.node._conflist_items
  - cni.node._conflist_items.planned
  - cni.node._paths.conf_dir
  - cni.node._following

attributes:
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    support: full
    details:
      - If O(source) is a URL, the archive is downloaded to a temporary directory to read its content. A O(source) on the
        controller is sent to the node only if its plugins must be run to verify O(version).
      - With O(remote_src=true), a file that an earlier task would create does not exist yet. This is a warning.
      - Networks and attachments that earlier tasks would remove can be passed as O(planned_conflists) and O(planned_attachments).
  diff_mode:
    support: full
  idempotent:
    support: full

options:
  version:
    description:
      - The version of the release, with or without a leading C(v).
      - Without O(source), that version of the reference plugins is downloaded from the project's releases on GitHub.
        This collection knows the digests of V(1.9.1), V(1.8.0), V(1.7.1), V(1.6.2), V(1.6.0), V(1.5.1), V(1.5.0),
        V(1.4.0), V(1.3.0), V(1.2.0) and V(1.1.1), each for C(amd64), C(arm), C(arm64) and C(ppc64le).
        All other versions need O(checksum).
      - With O(source), this is the name of the release. It defaults to the version in the archive's name, if the archive is
        named like those of the reference plugins.
      - A version of three numbers claims a release of the reference plugins. If no known digest proves the claim, the plugins are
        run once before they are installed, in check mode as well, to read their version. A version that they or a known
        digest contradict is refused. Give your own builds other versions, such as V(1.9.1-mine).
      - V(1.0.0), V(1.6.1) and V(1.7.0) are refused because they are broken, and V(0.9.0) because it has no archives. V(1.4.1)
        causes a warning, because its archives were rebuilt under the same name.
    type: str
  source:
    description:
      - An archive or a directory with the plugins, a single executable, or the URL of an archive or of an executable, or
        V(builtin).
      - V(builtin) makes executables of the plugins that are built into this collection, for runtimes such as containerd and Podman
        on a node that has no others. They run with the Python of the module, or if that is a virtual environment, with the Python
        that made it, or with C(/usr/bin/python3), from the library of M(cni.node.library). No user other than root may be able to
        replace either. They take some tens of milliseconds longer to start than the reference plugins. An update of Python or of
        this collection changes them, and the next run installs them again. A directory of that name is C(./builtin).
      - Files and directories are on the controller, where they are looked up as M(ansible.builtin.copy) does, or with
        O(remote_src=true) on the node. URLs are downloaded by the node, through the proxies of its environment.
      - An archive is a zip file, or a tar file, optionally compressed with gzip or xz. Its plugins are the executable regular
        files at its root, or in one directory below it.
      - An architecture at the end of the name of an executable is left out, so that C(flannel-amd64) is installed as C(flannel).
      - A single executable is installed under the only name in O(only), or else under the name of its file.
      - Of a directory, all executable regular files are installed, under their names.
      - Files named LICENSE, README or NOTICE, with any ending, are not installed.
      - A URL that ends with C(/) is a mirror of the reference plugins. The archive's name for O(version) and the node's
        architecture is appended.
      - Credentials in a URL are used as O(url_username) and O(url_password), and are never shown. Write a C(/) in them as
        C(%2F). Nor are the values of a query, such as the signature of a link that expires, and a user name without a
        password, which may be a token. Messages and results have C(***) instead.
      - A misspelt URL, such as one with an unknown scheme, a space or an invalid port, is refused before anything is done.
    type: str
  remote_src:
    description:
      - Whether O(source) is on the node.
    type: bool
    default: false
  url_username:
    description:
      - User name for the server of a URL.
    type: str
  url_password:
    description:
      - Password for O(url_username). It is shown neither in results nor in the node's journal.
    type: str
  checksum:
    description:
      - The archive's digest, as C(sha256:) or C(sha512:) followed by hexadecimal digits.
      - For an archive that is named like those of the reference plugins, it defaults to the digest that this collection knows,
        wherever the archive comes from.
      - Required for other URLs, and not allowed for directories.
    type: str
  only:
    description:
      - The plugins to install. By default, all plugins of the release.
    type: list
    elements: str
  sets:
    description:
      - More sets of plugins in O(bin_dir). Sets that are not listed stay as they are.
      - Without O(version) and O(source), only these sets are installed, rolled back or removed.
    type: list
    elements: dict
    suboptions:
      name:
        description:
          - The set's name, such as V(flannel). V(reference) is the set that O(version) and O(source) describe.
        type: str
        required: true
      state:
        description:
          - As O(state), for this set. By default, the value of O(state).
        type: str
        choices:
          - present
          - absent
          - rolled_back
      version:
        description:
          - The version of the release, with or without a leading C(v).
          - Without O(sets[].source), that version is downloaded from the releases of the project that has the name of the set.
            Known projects are V(consul-cni), V(flannel), V(multus) and V(whereabouts).
          - This collection knows the digests of V(consul-cni) V(1.9.5), V(1.9.0) and V(1.6.0) for C(amd64) and V(1.7.2) for
            C(arm64), and of V(flannel) V(1.9.1-flannel3) for C(arm64) and V(1.0.0) for C(amd64), C(arm), C(arm64) and
            C(ppc64le). All other versions and architectures need O(sets[].checksum).
        type: str
      source:
        description:
          - As O(source), without V(builtin), which has the reference plugins. A mirror, whose URL ends with C(/), has the files of
            the project that has the name of the set.
        type: str
      remote_src:
        description:
          - Whether O(sets[].source) is on the node.
        type: bool
        default: false
      url_username:
        description:
          - User name for the server of a URL.
        type: str
      url_password:
        description:
          - Password for O(sets[].url_username).
        type: str
      checksum:
        description:
          - The digest of the archive or of the executable, as C(sha256:) or C(sha512:) followed by hexadecimal digits.
          - Required for URLs whose digest this collection does not know, and not allowed for directories.
        type: str
      only:
        description:
          - The plugins to install. By default, all plugins of the release.
          - For a single executable, the plugin's name.
        type: list
        elements: str
  bin_dir:
    description:
      - The directory to install into (the bin dir).
    type: path
    default: /opt/cni/bin
  cache_dir:
    description:
      - Directory below which releases are kept, in C(cni.node/plugins). Each kept release needs disk space for its plugins,
        and so does the installed one.
      - The records of attachments are read from here as well.
    type: path
    default: /var/lib/cni
  state:
    description:
      - V(present) installs the plugins of the release, and removes other plugins of the same set.
      - V(rolled_back) returns to the release before the one installed last. A second run changes nothing.
        V(rolled_back) cannot be combined with O(version) or O(source). Without O(sets), the set V(reference) is rolled back.
      - V(absent) removes the plugins and all kept releases, and restores the files that were set aside. Without O(sets), all
        sets are removed.
      - A plugin that has been replaced by another file is not removed, and a warning says so. The original file that was
        set aside is kept, even with V(absent). A later run restores it when the replacement is gone.
    type: str
    choices:
      - present
      - absent
      - rolled_back
    default: present
  keep:
    description:
      - Number of releases of each set to keep besides the installed one.
    type: int
    default: 1
  force:
    description:
      - How to treat a file that has the name of a plugin but was not installed by this module.
      - With V(false), a file with the plugin's content, owner and mode is adopted. Any other file is an error, and nothing
        is changed.
      - With V(true), the file is set aside, and restored when the plugin is removed.
      - Only one file can be set aside for a plugin. A second one is an error.
      - A file of a distribution's package, such as C(containernetworking-plugins) or C(kubernetes-cni), is neither adopted nor
        replaced with V(false), even if the package has replaced a plugin that this module had installed. The error names the
        package. With V(true), a warning names it, because its updates replace the plugin.
    type: bool
    default: false
  conflists:
    description:
      - Network configurations that a later task will write. The plugins that they need are not removed. This module does not
        write them.
      - Ignored with O(state=absent).
  plugin_dirs:
    description:
      - Directories where the node's runtimes look for plugins. A plugin that one of the others has as well can be removed from
        O(bin_dir) although it is needed.
    type: list
    elements: path
    default:
      - /opt/cni/bin
      - /usr/lib/cni
      - /usr/libexec/cni
  remove_needed:
    description:
      - Remove plugins even if attachments or networks need them. A warning names what needs them.
      - Without its plugins an attachment can be neither checked nor deleted, and a network cannot be attached to.
    type: bool
    default: false
  planned_attachments:
    description:
      - The value RV(cni.node.attachments#module:attachments) that an earlier task with M(cni.node.attachments) returned.
      - In check mode, attachments that the earlier task would remove need no plugins. Ignored outside check mode.
    type: list
    elements: dict
    default: []
  timeout:
    description:
      - Seconds that a download may pause before it is given up.
      - Seconds to wait for another run on the same directory.
    type: float
    default: 60
  download_timeout:
    description:
      - Seconds for a whole download, from name resolution to the last byte.
    type: float
    default: 600
  _controller:
    description:
      - Internal. Describes a O(source) on the controller; set by the action plugin only.
    type: dict
  _urls:
    description:
      - Internal. The URLs that are not shown in O(source) as they are; set by the action plugin only.
    type: dict

seealso:
  - module: cni.node.conflists
  - module: cni.node.node_info
  - name: The reference plugins
    description: Releases on GitHub.
    link: https://github.com/containernetworking/plugins/releases

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Install the reference plugins from GitHub
  cni.node.plugins:
    version: 1.9.1

- name: Install some plugins from an archive beside the playbook
  cni.node.plugins:
    source: cni-plugins-linux-amd64-v1.9.1.tgz
    only:
      - bridge
      - host-local
      - loopback
      - portmap

- name: Install the reference plugins for the node's architecture from a mirror
  cni.node.plugins:
    version: 1.9.1
    source: https://mirror.example.com/cni/

- name: Install the reference plugins from a mirror that requires a password
  cni.node.plugins:
    version: 1.9.1
    source: https://mirror.example.com/cni/
    url_username: ansible
    url_password: "{{ mirror_password }}"

- name: Install the distribution's plugins where runtimes look for them
  cni.node.plugins:
    version: 1.1.1-debian
    source: /usr/lib/cni
    remote_src: true

- name: Install the reference plugins and two sets of plugins of other projects
  cni.node.plugins:
    version: 1.9.1
    sets:
      - name: consul-cni
        version: 1.9.5
      - name: tap
        version: site-1
        source: tc-redirect-tap-amd64
        only:
          - tc-redirect-tap

- name: Roll back to the previous release
  cni.node.plugins:
    state: rolled_back

- name: Roll back one set
  cni.node.plugins:
    state: rolled_back
    sets:
      - name: consul-cni

- name: Remove one set, and keep the others
  cni.node.plugins:
    sets:
      - name: consul-cni
        state: absent

- name: Remove the plugins and all kept releases
  cni.node.plugins:
    state: absent
"""

RETURN = r"""
version:
  description:
    - The installed version of the set V(reference), or V(none). For a release without a version, the beginning of its digest.
  returned: when the task concerns the set
  type: str
  sample: 1.9.1
previous:
  description:
    - The version of the set V(reference) that was installed before this run, or V(none).
  returned: when the task concerns the set
  type: str
  sample: 1.8.0
kept:
  description:
    - The other versions of the set V(reference) that are kept.
  returned: when the task concerns the set
  type: list
  elements: str
  sample:
    - 1.8.0
earlier:
  description:
    - The version of the set V(reference) to which O(state=rolled_back) would return. V(none) after a rollback, and if no earlier
      version is kept.
  returned: when the task concerns the set
  type: str
  sample: 1.8.0
sets:
  description:
    - The sets that the task concerns.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The set's name.
      type: str
      returned: always
      sample: reference
    version:
      description: The installed version, or V(none).
      type: str
      returned: always
      sample: 1.9.1
    previous:
      description: The version that was installed before this run, or V(none).
      type: str
      returned: always
    kept:
      description: The other versions that are kept.
      type: list
      elements: str
      returned: always
    earlier:
      description: The version to which O(state=rolled_back) would return, or V(none).
      type: str
      returned: always
plugins:
  description:
    - The plugins, and what was done to each.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The plugin's name.
      type: str
      returned: always
      sample: bridge
    set:
      description: The name of the set that the plugin belongs to.
      type: str
      returned: always
      sample: reference
    action:
      description:
        - What was done, or would be done in check mode.
        - V(adopted) means that an identical file was already there. V(restored) means that a file set aside earlier is back.
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
      description: SHA-256 of the installed file.
      type: str
      returned: when the plugin exists afterwards
error:
  description:
    - The error as C(code), C(msg) and C(details), with the error codes of the CNI specification.
  returned: failure
  type: dict
  sample:
    code: 50
    msg: "there is nothing to roll back to: no version before 1.9.1 is kept"
    details: "install the version you want with state: present"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import CONFLISTS, PLANNED
from ansible_collections.cni.node.plugins.module_utils._module.plugins import ensure
from ansible_collections.cni.node.plugins.module_utils._module.run import run
from ansible_collections.cni.node.plugins.module_utils._module.sources.plugin_sources import SETS

SPEC: t.Final[dict[str, t.Any]] = {
    "argument_spec": {
        **SETS,
        "bin_dir": {"type": "path", "default": "/opt/cni/bin"},
        **arguments.CACHE_DIR,
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
        **arguments.CONTROLLER,
        **arguments.URLS,
        **arguments.FOLLOWING,
    },
    "required_if": [("state", "present", ("version", "source", "sets"), True)],
    "supports_check_mode": True,
}


def main(paths: NodePaths = NODE_PATHS) -> t.NoReturn:
    run(AnsibleModule(**SPEC), ensure, paths)


if __name__ == "__main__":
    main()
