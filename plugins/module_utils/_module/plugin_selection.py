# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Get the releases that a task of the module `plugins` requests."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._module.plugin_sets import SetOptions
from ansible_collections.cni.node.plugins.module_utils._module.plugin_sources import (
    SourceMissing,
    SourceNeeded,
    Sources,
)
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import (
    is_unproven_claim,
    require_version_of_digest,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE, PluginSet
from ansible_collections.cni.node.plugins.module_utils._node.plugins.selection import ReleaseSelection
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import PluginStore

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


@dataclasses.dataclass
class SelectedReleases:
    """The releases that a task requests.

    Attributes:
        sets: By name, the new state of each set.
        needed: By name of a set: what the controller must send for it, ``content`` or ``listing``.
        missing: In check mode, predictions for sets whose source an earlier task may create.
    """

    sets: dict[str, PluginSet] = dataclasses.field(default_factory=dict)
    needed: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: list[InstallResult] = dataclasses.field(default_factory=list)


def select_releases(
    module: AnsibleModule, requested: t.Sequence[SetOptions], store: PluginStore, directory: BinDirectory
) -> SelectedReleases:
    """Get the releases that a task requests into the store.

    Raises:
        CniError: A release cannot be had. The message names its set, except the set of the reference plugins.
    """
    selected = SelectedReleases()
    # What the controller has comes first, so that nothing is downloaded twice.
    for options in sorted(requested, key=lambda options: not options.is_on_controller):
        if selected.needed and not options.is_on_controller:
            break
        try:
            _add(selected, module, options, store, directory)
        except CniError as exc:
            raise exc if options.name == REFERENCE else exc.within(f"set {options.name}") from exc
    order = [options.name for options in requested if options.name in selected.sets]
    selected.sets = {name: selected.sets[name] for name in order}
    return selected


def _add(
    selected: SelectedReleases,
    module: AnsibleModule,
    options: SetOptions,
    store: PluginStore,
    directory: BinDirectory,
) -> None:
    keep, dry_run = module.params["keep"], module.check_mode
    selection = ReleaseSelection(options.name, store, directory, keep=keep, dry_run=dry_run)
    if options.state == "absent":
        selected.sets[options.name] = PluginSet()
    elif options.state == "rolled_back":
        selected.sets[options.name] = selection.roll_back()
    else:
        _add_present(selected, module, options, store, selection)


def _add_present(
    selected: SelectedReleases,
    module: AnsibleModule,
    options: SetOptions,
    store: PluginStore,
    selection: ReleaseSelection,
) -> None:
    sources = Sources(module, options, store.digests)
    name, version, only = options.name, sources.request.version, options.only or None
    warn(module, filter(None, [sources.request.warning]))
    if name == REFERENCE:
        require_version_of_digest(version, sources.digest)
    try:
        selected.sets[name] = selection.present(sources.digest, version, only, sources.fetch)
    except SourceMissing:
        warn(module, [f"{sources.request.location} is not on the node yet, so its plugins cannot be listed"])
        selected.missing.append(_predict_missing(name, version, store))
    except SourceNeeded:
        is_unproven = name == REFERENCE and is_unproven_claim(version, [sources.digest])
        selected.needed[name] = "content" if not module.check_mode or is_unproven else "listing"


def _predict_missing(name: str, version: str, store: PluginStore) -> InstallResult:
    current = store.manifest.find_set(name).current
    return InstallResult(
        name=name,
        changes=[],
        not_removed=[],
        set_aside={},
        version=version or None,
        previous=current.label if current else None,
        kept=[],
        changed=True,
    )


__all__ = ("SelectedReleases", "select_releases")
