# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue agrees with the schemas, and no other file names plugin types."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import error
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue, quirks, saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import CATALOGUE
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import FALSE_ALARM, Delegation, PluginType
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas

PLUGINS = pathlib.Path(error.__file__).parents[2]
# Files other than the catalogue that have such words, and why.
OWN_MODULES = {
    "plugin_utils/_validation/document/preparation.py": {"bridge"},  # the link kube-bridge of kube-router
    "module_utils/_reference/addresses/dhcp_daemon.py": {"dhcp"},  # the daemon that this plugin asks
    "module_utils/_reference/addresses/lease_files.py": {"host-local"},  # where this plugin keeps its leases
    "module_utils/_reference/saved_values.py": {"tuning"},  # where this plugin keeps the values it changed
}
OTHER_MEANINGS = {
    "module_utils/_cni/attachment_values.py": {"bandwidth"},  # a capability
    "module_utils/_cni/execute.py": {"dummy"},  # parameters of VERSION
    "module_utils/_linux/kernel_module.py": {"vrf"},  # a kernel module
    "module_utils/_linux/links/link_message.py": {  # the kernel's kinds of links
        *("bridge", "ipvlan", "macvlan", "vlan", "vrf"),
    },
    "module_utils/_linux/rules/nf_tables.py": {"bridge"},  # a family of the kernel
    "module_utils/_node/conflists/address_checks.py": {"vlan"},  # a key
    "module_utils/_node/diagnosis/rule_watch.py": {"bridge"},  # a family of nftables
    "module_utils/_node/diagnosis/segment.py": {"bridge", "vlan"},  # names of programs and their words
    "module_utils/_node/diagnosis/step.py": {"bridge", "firewall", "vlan"},  # what a step looks at
    "module_utils/_node/gc/network_users.py": {"bridge"},  # a key
    "module_utils/_node/gc/shared_resources.py": {"bridge", "vlan"},  # the kernel's kind of a link; a key
    "module_utils/_node/gc/leak.py": {"bridge"},  # a kind of leak
    "module_utils/_node/kernel/requirements.py": {"bandwidth", "bridge"},  # a capability; a key and a kernel module
    "module_utils/_node/info/node_links.py": {"vlan"},  # a key of a result
    "module_utils/_node/info/public_config.py": {"bridge", "vlan"},  # keys
    "module_utils/_node/plugins/published.py": {"consul-cni", "flannel", "multus", "whereabouts"},  # names of projects
    "module_utils/_node/runtimes/rows.py": {  # what a runtime cannot do without; a kernel module
        *("bridge", "firewall", "flannel", "host-local", "loopback", "portmap", "tuning"),
    },
    "module_utils/_node/trial/network_trial.py": {"vrf"},  # the kernel's kind of a link
    "module_utils/_reference/rules/firewall_names.py": {"bridge"},  # a family of nftables
    "module_utils/_reference/plugin_type.py": {"bridge"},  # a kind of segment
    "plugin_utils/_report/report_data.py": {"vlan"},  # a key of a result
    "plugin_utils/_report/topology.py": {"vlan"},  # a key of a result
    "plugin_utils/_validation/rules/capability_args.py": {"bandwidth"},  # a capability
}


def find_type_names(source: str) -> set[str]:
    """Return the plugin types that a file names as a whole text."""
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and value in CATALOGUE}


def test_each_row_has_a_schema_and_each_schema_has_a_row() -> None:
    assert set(CATALOGUE) == schemas.plugin_types()


def test_each_row_stands_under_its_own_name() -> None:
    assert [row.name for row in CATALOGUE.values()] == list(CATALOGUE)


def test_only_the_catalogue_names_plugin_types() -> None:
    named = {
        str(path.relative_to(PLUGINS)): types
        for path in sorted(PLUGINS.rglob("*.py"))
        if (types := find_type_names(path.read_text(encoding="utf-8")))
        and path.name != "catalogue.py"
        and path.parent.name != "builtin"
        and path.parts[-3:-1] != ("_reference", "plugins")  # the plugins themselves
    }
    assert named == {**OWN_MODULES, **OTHER_MEANINGS}


def test_a_file_that_names_a_plugin_type_is_found() -> None:
    assert find_type_names('if plugin.type == "portmap":\n    pass') == {"portmap"}


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_a_row_agrees_with_the_role_in_the_schema(row: PluginType) -> None:
    role = schemas.role(row.name)
    assert role == "interface" or not (row.makes_interface or row.l2 or row.gateway_on_link or row.masquerades)
    assert role == "ipam" or not (row.has_ranges or row.has_addresses or row.address_capability)
    assert (role == "loopback") is row.is_loopback
    assert role == "meta" or not (row.maps_ports or row.filters or row.limits_bandwidth or row.tunes_interface)


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_a_reference_plugin_has_a_schema_that_names_a_release(row: PluginType) -> None:
    assert bool(schemas.annotation(row.name, "x-release")) is row.is_reference


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_each_flaw_is_fixed_in_a_later_release(row: PluginType) -> None:
    assert [flaw for flaw in row.flaws if flaw.since >= flaw.fixed] == []


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_keys_of_a_row_are_keys_of_the_schema(row: PluginType) -> None:
    keys = [row.l2.key, row.l2.vlan_key] if row.l2 else []
    keys += [row.delegation.key] if row.delegation else []
    keys += ["ipMasq" if row.masquerades else "", "macspoofchk" if row.checks_macs else ""]
    keys += ["ranges" if row.has_ranges else "", "addresses" if row.has_addresses else ""]
    properties = schemas.load(f"plugins/{row.name}")["properties"]
    assert {key for key in keys if key} <= set(properties)


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_each_quirk_has_a_valid_pattern_and_condition(row: PluginType) -> None:
    for quirk in (*row.quirks, *catalogue.INTERFACE_QUIRKS):
        assert re.compile(f"plugin {row.name} failed {quirk.pattern}")
        assert quirk.condition in quirks.CONDITIONS
        assert quirk.effect == FALSE_ALARM or quirk.pattern.startswith((r"\(ADD\)", r"\(DEL\)"))


@pytest.mark.parametrize("unknown", ["", "lab", None, ["bridge"], {"type": "bridge"}])
def test_an_unknown_type_has_a_row_of_defaults(unknown: object) -> None:
    assert catalogue.find_plugin_type(unknown) == PluginType()
    assert not catalogue.find_plugin_type(unknown).result_is_complete


def test_a_run_that_starts_no_plugin_does_not_load_the_catalogue() -> None:
    package = catalogue.__name__.rpartition("._reference.")[0]
    code = f"import sys, {package}._module.attachments; sys.exit({catalogue.__name__!r} in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0


DELEGATION = Delegation("delegate", default_type="bridge", default_gateway=True)
COMPLETED = {
    "without keys": ({}, {"type": "bridge", "isGateway": True}),
    "of the default type": ({"type": "bridge", "mtu": 9}, {"type": "bridge", "isGateway": True, "mtu": 9}),
    "no gateway": ({"isGateway": False}, {"type": "bridge", "isGateway": False}),
    "of another type": ({"type": "macvlan"}, {"type": "macvlan"}),
    "of no valid type": ({"type": None}, {"type": None}),
}


@pytest.mark.parametrize(("keys", "completed"), COMPLETED.values(), ids=list(COMPLETED))
def test_a_delegating_plugin_adds_keys(keys: dict[str, object], completed: dict[str, object]) -> None:
    assert DELEGATION.complete(keys) == completed


def test_types_are_found_by_their_properties() -> None:
    assert catalogue.types_where(lambda row: row.maps_ports) == ("portmap",)
    assert catalogue.types_where(lambda row: row.filters) == ("firewall",)
    assert catalogue.types_where(lambda row: row.delegation is not None) == ("flannel", "multus")


def test_the_modules_of_single_plugins_are_about_plugins_of_the_catalogue() -> None:
    assert catalogue.find_plugin_type(lease_files.TYPE).has_ranges
    assert catalogue.find_plugin_type(saved_values.PLUGIN).tunes_interface


SETS = {
    "masquerades": {"bridge", "ptp"},
    "makes_interface": {
        "bridge", "dummy", "flannel", "host-device", "ipvlan", "macvlan", "ptp", "tap", "vlan",
    },
    "result_is_complete": {
        "bridge", "dummy", "flannel", "host-device", "ipvlan", "loopback", "macvlan", "ptp", "tap", "vlan",
    },
    "gateway_on_link": {"bridge", "dummy", "host-device", "ipvlan", "macvlan", "tap", "vlan"},
    "has_host_end": {"bridge", "flannel", "ptp"},
    "is_point_to_point": {"ptp"},
    "has_master": {"ipvlan", "macvlan", "vlan"},
    "requires_master": {"vlan"},
    "moves_routes": {"sbr", "vrf"},
    "selects_networks": {"multus", "multus-shim"},
    "has_cluster_ranges": {"whereabouts"},
    "passes_gateway": {"tc-redirect-tap"},
}  # fmt: skip


def test_reference_plugins_and_some_others_pass_the_ipam_configuration_on() -> None:
    passing = {row.name for row in CATALOGUE.values() if row.passes_ipam}
    assert passing == {row.name for row in CATALOGUE.values() if row.is_reference} | {"ovs", "sriov"}


@pytest.mark.parametrize("trait", SETS)
def test_each_trait_belongs_to_the_listed_plugins(trait: str) -> None:
    assert {row.name for row in CATALOGUE.values() if getattr(row, trait)} == SETS[trait]
