#!/usr/bin/python
# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This file has only the documentation: the action plugin of the same name does everything on the controller.
from __future__ import annotations

DOCUMENTATION = r"""
module: show

short_description: Show text, whatever the output leaves out

version_added: 1.0.0

description:
  - Shows text on the controller like M(ansible.builtin.debug), also if the callback plugin prints no successful tasks
    (C(display_ok_hosts=false)). The playbooks show their tables with it.
  - Contacts no node.

attributes:
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the controller.
    support: full
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - This action does not modify state.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: N/A
    details:
      - This action does not modify state.
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
      - This assumes that the system controlled/queried by the module has not changed in a relevant way.
    support: full

options:
  msg:
    description:
      - The text. Each element of a list is a line.
    type: raw
    required: true

seealso:
  - module: ansible.builtin.debug

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
- name: Gather what the node has
  cni.node.node_info:
  register: info

- name: Show it as a table
  cni.node.show:
    msg: "{{ {inventory_hostname: info} | cni.node.node_table }}"
"""

RETURN = r"""{}"""
