# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Documentation of the options of modules that take network configurations."""

from __future__ import annotations


class ModuleDocFragment:
    # Kept in step with plugins/module_utils/_module/items/conflist_items.py.
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
          - Before ansible-core 2.19, a Jinja expression turns numbers into text, which plugins may refuse. Keep such a number in
            a variable, or use O(conflists[].template).
        type: dict
      template:
        description:
          - A Jinja template of the network configuration on the controller, looked up as M(ansible.builtin.template) does.
          - The rendered text is validated on the controller.
        type: path
      vars:
        description:
          - Variables for O(conflists[].template), in addition to those of the task.
        type: dict
        default: {}
      content:
        description:
          - The network configuration as JSON text, which is written unchanged.
        type: str
      name:
        description:
          - The network's name. A configuration with another name is an error.
          - With O(conflists[].state=absent) and without O(conflists[].filename), all files that define this network are removed,
            including those that this collection has not written.
        type: str
      priority:
        description:
          - A number from 0 to 99 with which the file's name begins. Runtimes that use only one network take the first file.
        type: int
        default: 10
      filename:
        description:
          - The file's name, if it should differ from the one made from O(conflists[].priority) and the network's name.
          - It must end with C(.conflist), or for the configuration of a single plugin with C(.conf) or C(.json).
          - With O(conflists[].state=absent), only this file is removed. It is an error if the file defines another network than
            O(conflists[].name).
        type: str
      state:
        description:
          - Whether the file should exist.
          - V(absent) needs O(conflists[].name), O(conflists[].filename), or a configuration from which to read the name.
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
      - The value RV(cni.node.conflists#module:conflists) that an earlier task with M(cni.node.conflists) returned.
      - In check mode, the files in O(conf_dir) are considered as the earlier task would leave them. Ignored outside check mode.
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
          - The file's path.
        type: path
        required: true
      action:
        description:
          - What would be done to the file.
        type: str
        required: true
        choices:
          - created
          - changed
          - removed
          - unchanged
      content:
        description:
          - The file's new text.
        type: str
"""
