# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The work of the module `kernel`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, program, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements, traffic_control
from ansible_collections.cni.node.plugins.module_utils._module.items.conflist_items import content_of
from ansible_collections.cni.node.plugins.module_utils._module.run import phrase_action, warn
from ansible_collections.cni.node.plugins.module_utils._node.kernel.planned_changes import Plan
from ansible_collections.cni.node.plugins.module_utils._node.kernel.requirements import Needs, add_network, add_runtime
from ansible_collections.cni.node.plugins.module_utils._node.kernel.settings import KernelSettings
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def ensure(module: AnsibleModule, paths: NodePaths) -> dict[str, t.Any]:
    """Run the module `kernel` and return its result."""
    params = module.params
    needs = _collect_needs(params) if params["state"] == "present" else Needs()
    settings = KernelSettings(params["cache_dir"], paths)
    if params["state"] == "present" and not params["purge"]:
        settings.add_needs_of_attachments(needs)
    warn(module, _find_lost_routes(needs))
    plan = (settings.plan if module.check_mode else settings.ensure)(needs, persist=params["persist"])
    return _report(module, plan, needs)


def _collect_needs(params: t.Mapping[str, t.Any]) -> Needs:
    needs = Needs()
    runtime = runtimes.find(params["runtime"])
    if runtime is not None:
        add_runtime(needs, runtime)
    problems = [
        *_add_each(_add_network, needs, ((f"conflists[{n}]", item) for n, item in enumerate(params["conflists"]))),
        *_add_each(_add_module, needs, ((f"modules[{n}]", name) for n, name in enumerate(params["modules"]))),
        *_add_each(_add_setting, needs, params["sysctls"].items()),
    ]
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise CniError(problems[0].code, f"{len(problems)} invalid values", "\n".join(map(str, problems)))
    return needs


def _add_each(
    add: t.Callable[[Needs, str, t.Any], None], needs: Needs, items: t.Iterable[tuple[str, t.Any]]
) -> t.Iterator[CniError]:
    """Add items to the needs; yield an error for each invalid one."""
    for where, item in items:
        try:
            add(needs, where, item)
        except CniError as exc:
            yield exc.with_place(where)


def _add_network(needs: Needs, where: str, item: t.Mapping[str, t.Any]) -> None:
    content = content_of(item, where)
    if content is not None:
        add_network(needs, config.parse(content, where))


def _add_module(needs: Needs, where: str, name: str) -> None:
    needs.add_module(kernel_module.canonical(name), "given in modules")


def _add_setting(needs: Needs, where: str, item: object) -> None:
    needs.add_setting(sysctl.canonical(where), sysctl.normal(item), "given in sysctls")


def _find_lost_routes(needs: Needs) -> t.Iterator[str]:
    """Yield a warning for each link that loses its default route by the settings."""
    if needs.values.get(router_advertisements.FORWARDING) != "1":
        return
    for link in router_advertisements.find_dependent_links():
        setting, kept = router_advertisements.accept_setting(link), router_advertisements.KEPT
        if needs.values.get(setting) != kept:
            reasons = "; ".join(needs.settings[router_advertisements.FORWARDING])
            loss = router_advertisements.describe_loss(link)
            yield f"{loss} ({reasons}); to keep it, add {setting}: {kept} to sysctls"


def _report(module: AnsibleModule, plan: Plan, needs: Needs) -> dict[str, t.Any]:
    programs = [_describe_program(name, reasons) for name, reasons in sorted(needs.programs.items())]
    lacks_library = needs.limits_rates and not traffic_control.is_available()
    return {
        "changed": plan.changed,
        "modules": [change._asdict() for change in plan.modules],
        "sysctls": [change._asdict() for change in plan.settings],
        "commands": programs,
        "missing_libraries": [traffic_control.LIBRARY] if lacks_library else [],
        "diff": _make_diff(plan),
        "msg": _summarize(plan, module.check_mode and plan.changed),
    }


def _summarize(plan: Plan, predicted: bool) -> str:
    files = sum(change.changed for change in plan.files)
    loaded, changed = quantity(len(plan.loaded), "module"), quantity(len(plan.written), "setting")
    is_loaded, is_changed = phrase_action("loaded", predicted=predicted), phrase_action("changed", predicted=predicted)
    return f"{loaded} {is_loaded}, {changed} {is_changed}, {quantity(files, 'file')} {is_changed}"


def _make_diff(plan: Plan) -> list[dict[str, t.Any]]:
    files = [change.as_diff() for change in plan.files if change.changed]
    if not plan.loaded and not plan.written:
        return files
    before = {"modules": [], "sysctls": {change.name: change.before for change in plan.written}}
    after = {"modules": plan.loaded, "sysctls": {change.name: change.after for change in plan.written}}
    return [{"before": before, "after": after}, *files]


def _describe_program(name: str, reasons: t.Sequence[str]) -> dict[str, t.Any]:
    return {"name": name, "path": program.find(name), "reasons": reasons}
