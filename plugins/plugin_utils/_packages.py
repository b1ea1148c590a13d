# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Install the packages of programs and libraries that a module has found missing on the node."""

from __future__ import annotations

import contextlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.run import as_failure, phrase_action
from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain
from ansible_collections.cni.node.plugins.plugin_utils._role_action import RoleAction

# For `packages`: install programs only.
_PROGRAMS = "programs"
_USUAL = {
    "ip": "iproute2",
    "ip6tables": "iptables",
    "iptables": "iptables",
    "nft": "nftables",
    "pyroute2": "python3-pyroute2",
}
# By the name that Ansible gives the family of an operating system.
_DIFFERENT: t.Final[t.Mapping[str, t.Mapping[str, str]]] = {
    "Alpine": {"pyroute2": "py3-pyroute2"},
    "RedHat": {"ip": "iproute", "ip6tables": "iptables-nft", "iptables": "iptables-nft"},
}
_FAMILY_WITH_LISTS = "Debian"
_LOSS = "rate limits can be neither written nor repaired"


class PackagesAction(RoleAction):
    """An action whose option `packages` has what a node lacks installed."""

    def require_packages(self) -> None:
        """Require a valid value of the option.

        Raises:
            AnsibleActionFail: It is none.
        """
        value = self._packages()
        if not isinstance(value, (bool, list)) and value != _PROGRAMS:
            expected = f"expected: true, false, {_PROGRAMS}, or a list of names of packages"
            raise AnsibleActionFail(f"packages: {value!r}; {expected}", result=dict(self.NOTHING))

    def complete(
        self, result: JsonObject, programs: t.Sequence[str], libraries: t.Sequence[str], task_vars: JsonObject
    ) -> JsonObject:
        """Install the packages of missing programs and libraries, or predict it in check mode, and return the result.

        Libraries are left out if the option names the packages, and the node does without those that cannot be installed.
        """
        wanted = self._packages()
        if not wanted or not (programs or libraries):
            return _with_missing(result, programs)
        family = self._find_family(task_vars)
        names = {**_USUAL, **_DIFFERENT.get(family, {})}
        named = wanted if isinstance(wanted, list) else [names.get(name, name) for name in programs]
        packages = list(dict.fromkeys(map(str, named))) if programs else []
        try:
            # Only the run itself updates the lists of packages, so that check mode cannot ask.
            is_changed = bool(packages) and (self._task.check_mode or self._install(packages, family, task_vars))
        except AnsibleActionFail as exc:
            problem = f"packages {', '.join(packages)}, for {', '.join(programs)}, could not be installed"
            return {**result, "failed": True, **as_failure(CniError(Code.NOT_AVAILABLE, problem, str(exc)))}
        if not is_changed:
            result, packages = _with_missing(result, programs), []
        if libraries and wanted is True:
            of_libraries = [names.get(name, name) for name in libraries]
            try:
                # An interpreter other than the system's own does not find the library of an installed package.
                if self._install(of_libraries, family, task_vars):
                    packages = [*packages, *of_libraries]
            except AnsibleActionFail as exc:
                loss = f"{_LOSS}, because {', '.join(of_libraries)} could not be installed: {exc}"
                result = {**result, "warnings": [*result.get("warnings", ()), loss]}
        if packages and not self._task.check_mode:
            self.forget_answers(task_vars)
        return with_packages(result, packages, predicted=self._task.check_mode)

    def _packages(self) -> t.Any:
        """Return the option's value; text of a survey is read as what it stands for."""
        value = plain(self._task.args.get("packages"))
        words = value.split() if isinstance(value, str) else value
        only = words[0] if isinstance(words, list) and len(words) == 1 else words
        if str(only).lower() == _PROGRAMS:
            return _PROGRAMS
        with contextlib.suppress(TypeError):
            return boolean(only, strict=True)
        return False if words is None else words

    def _install(self, packages: list[str], family: str, task_vars: JsonObject) -> bool:
        """Install packages and return whether that has changed the node, or would in check mode.

        Raises:
            AnsibleActionFail: They cannot be installed.
        """
        result = self._run_package(packages, task_vars)
        manager = task_vars.get("ansible_package_use", "apt")
        if result.get("failed") and (family, manager) == (_FAMILY_WITH_LISTS, "apt") and not self._task.check_mode:
            lists = {"update_cache": True, "cache_valid_time": 86400}
            updated = self._execute_module(module_name="ansible.builtin.apt", module_args=lists, task_vars=task_vars)
            result = updated if updated.get("failed") else self._run_package(packages, task_vars)
        if result.get("failed"):
            raise AnsibleActionFail(str(result.get("msg") or "unknown error"))
        return bool(result.get("changed"))

    def _run_package(self, packages: list[str], task_vars: JsonObject) -> JsonObject:
        task = self._task.copy()
        task.action, task.args = "ansible.builtin.package", {"name": packages, "state": "present"}
        package: t.Any = self._shared_loader_obj.action_loader.get(
            task.action,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        try:
            return dict(package.run(task_vars=task_vars))
        except AnsibleActionFail as exc:
            return {"failed": True, "msg": str(exc)}

    def _find_family(self, task_vars: JsonObject) -> str:
        """Return the family of the node's operating system, as Ansible names it."""
        known = (task_vars.get("ansible_facts") or {}).get("os_family")
        if known and not self._task.delegate_to:
            return str(known)
        subset = {"gather_subset": ["!all", "!min", "os_family"]}
        facts = self._execute_module(module_name="ansible.builtin.setup", module_args=subset, task_vars=task_vars)
        return str(facts.get("ansible_facts", {}).get("ansible_os_family", ""))


def with_packages(result: JsonObject, installed: list[str], *, predicted: bool) -> JsonObject:
    """Return a result that names the packages that were installed, or would be in check mode."""
    if not installed:
        return result
    diffs = result["diff"] if isinstance(result["diff"], list) else [result["diff"]]
    return {
        **result,
        "changed": True,
        "packages": installed,
        "diff": [*diffs, {"before": {"packages": []}, "after": {"packages": installed}}],
        "msg": f"{result['msg']}; {phrase_action('installed', predicted=predicted)}: {', '.join(installed)}",
    }


def _with_missing(result: JsonObject, programs: t.Sequence[str]) -> JsonObject:
    return {**result, "msg": f"{result['msg']}; not installed: {', '.join(programs)}"} if programs else result
