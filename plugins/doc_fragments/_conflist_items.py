# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    # Kept in step with plugins/module_utils/_module/conflist_items.py.
    DOCUMENTATION = r"""
options:
  conflists:
    description:
      - The network configurations.
    type: list
    elements: dict
    default: []
    suboptions:
      config:
        description:
          - The network configuration as data.
          - Before ansible-core 2.19, a number that comes out of a Jinja expression arrives as text, which plugins may
            refuse. Keep such a number in a variable, or use O(conflists[].template).
        type: dict
      template:
        description:
          - A Jinja template of the network configuration on the controller, looked up as M(ansible.builtin.template) does.
          - The rendered text is validated on the controller.
        type: path
      vars:
        description:
          - Variables for O(conflists[].template) beside those of the task.
        type: dict
        default: {}
      content:
        description:
          - The network configuration as JSON text, written as it is.
        type: str
      name:
        description:
          - The network's name. A configuration with another name is an error.
          - With O(conflists[].state=absent) and without O(conflists[].filename), every file that defines this network is
            removed, whoever wrote it.
        type: str
      priority:
        description:
          - Begins the file's name, with two digits. Runtimes that use one network take the first file.
        type: int
        default: 10
      filename:
        description:
          - The file's name in place of the one made from O(conflists[].priority) and the network's name.
          - It ends with C(.conflist), or with C(.conf) or C(.json) for the configuration of a single plugin.
          - With O(conflists[].state=absent), this file alone is removed. If it is known to be of another network than
            O(conflists[].name), that is an error.
        type: str
      state:
        description:
          - Whether there is to be such a file.
          - V(absent) needs O(conflists[].name) or O(conflists[].filename), or takes the name from O(conflists[].config),
            O(conflists[].content) or O(conflists[].template).
        type: str
        choices:
          - present
          - absent
        default: present
"""

    PLANNED = r"""
options:
  planned_conflists:
    description:
      - What a task with M(cni.node.conflists) before this one has returned as RV(cni.node.conflists#module:conflists).
      - In check mode, the files in O(conf_dir) are taken as that task would leave them. Otherwise this is not looked at.
    type: list
    elements: dict
    default: []
    suboptions:
      network:
        description:
          - The network's name.
        type: str
      path:
        description:
          - The file.
        type: path
        required: true
      action:
        description:
          - What would be done to it.
        type: str
        required: true
        choices:
          - created
          - changed
          - removed
          - unchanged
      content:
        description:
          - Its text afterwards.
        type: str
"""
