# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Return the arguments, to measure a task that does nothing."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    module = AnsibleModule({"items": {"type": "list", "elements": "dict", "required": True}}, supports_check_mode=True)
    module.exit_json(changed=False, items=module.params["items"])


if __name__ == "__main__":
    main()
