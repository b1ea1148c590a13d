# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: attachments

short_description: Attachments of a fleet as hosts, whose tasks run inside their network namespaces

version_added: 1.0.0

description:
  - Adds a host for each attachment whose network namespace exists. Its tasks run on the attachment's node, in the network namespace,
    with the become plugin P(cni.node.netns#become).
  - Name a file C(cni_node.yml), or let its name end in C(.cni_node.yml), and give it after the inventory of the nodes.
  - A host is called C(NODE.CONTAINER.INTERFACE). Characters that host patterns do not allow become C(_), and long parts are cut; the
    name then ends with a digest, as do names that would not be unique.
  - The groups are C(cni_attachments), C(cni_network_NETWORK), C(cni_node_NODE), and C(cni_owner_cni_node) or C(cni_owner_other). In
    their names, all characters except letters, digits and C(_) become C(_).
  - The variable C(cni_attachment) has C(node), C(network), C(container_id), C(ifname), C(netns), C(owner), and the lists C(addresses)
    and C(ports), such as C(8080->80/tcp).
  - The connection is that of the node. Variables of the node that begin with C(ansible_) apply, if they are in the inventories before
    this one or in C(group_vars) and C(host_vars) beside these. Those of the escalation are replaced, except password, executable
    and flags.
  - What nodes say is data and never evaluated as a template.
  - The new hosts are in the group C(all). Playbooks for the nodes need a group of the nodes, or an inventory without this file.

extends_documentation_fragment:
  - constructed
  - inventory_cache

options:
  plugin:
    description:
      - The name of this plugin.
    type: str
    required: true
    choices:
      - cni.node.attachments
  report:
    description:
      - A file with the data of a report, which the playbook C(cni.node.report) writes beside its page. A relative path begins at the
        directory of the inventory file.
      - Without it, the playbook runs each time on all nodes of the inventories before this one, which takes some seconds. Options of
        the command line, such as passwords, do not reach it. With O(cache=true), its result is kept for these inventories.
    type: str

seealso:
  - plugin: cni.node.netns
    plugin_type: become
  - plugin: cni.node.fleet_report
    plugin_type: filter

author:
  - cni.node contributors (@cni-node)
"""

EXAMPLES = r"""
# attachments.cni_node.yml, for: ansible -i nodes.yml -i attachments.cni_node.yml cni_network_dbnet -m ansible.builtin.setup
plugin: cni.node.attachments

# From the data of a report, which ansible-playbook cni.node.report -i nodes.yml -e cni_node_report_path=networks.html has written.
---
plugin: cni.node.attachments
report: networks.json
groups:
  web: "'8080->80/tcp' in cni_attachment.ports"
compose:
  service_address: cni_attachment.addresses | first
keyed_groups:
  - key: cni_attachment.ifname
    prefix: interface
"""

import json
import os
import subprocess
import sys
import tempfile
import typing as t

from ansible import template
from ansible.errors import AnsibleParserError
from ansible.inventory.helpers import get_group_vars
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.vars.plugins import get_vars_from_inventory_sources

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.plugin_utils._attachment_hosts import AttachmentHost, list_hosts, list_unread

_FILE_NAMES = tuple(f"{end}cni_node.{extension}" for end in ("/", ".") for extension in ("yml", "yaml"))
_REPLACED = {
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_cni_netns",
    "ansible_group_priority",
}
# What the nodes' variables may let a report write as well.
_UNWANTED = {"cni_node_bundle_path": "", "cni_node_metrics_path": ""}
# How many lines of a failed playbook's output an error has.
_LINES = 20
_trust: t.Final[t.Any] = getattr(template, "trust_as_template", str)  # since ansible-core 2.19


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "cni.node.attachments"
    inventory: t.Any  # set by `parse`

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and os.path.abspath(path).endswith(_FILE_NAMES)

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache=cache)
        self._read_config_data(path)
        report = self._load(path, cache)
        try:
            hosts = list_hosts(report)
        except ValueError as exc:
            raise AnsibleParserError(f"{path}: {printable.line(str(exc))}") from exc
        for name in list_unread(report):
            unread = f"the attachments of {printable.line(name)} are missing, because the node could not be read"
            self.display.warning(f"{path}: {unread}")
        variables = {node: self._refer_to(node) for node in {host.facts["node"] for host in hosts}}
        for host in hosts:
            if host.name in inventory.hosts:
                self.display.warning(
                    f"{path}: {host.name} is left out, because the inventory has another host of that name"
                )
            else:
                self._add(host, variables[host.facts["node"]])

    def _load(self, path: str, cache: bool) -> t.Any:
        """Return the report: the cached one, or a new one, which is cached."""
        name, keep = self.get_option("report"), self.get_option("cache")
        key = self.get_cache_key(json.dumps([path, name, *self._list_sources()]))
        if keep and cache and key in self._cache:
            return self._cache[key]
        report = _read(os.path.join(os.path.dirname(path), os.path.expanduser(name))) if name else self._ask_nodes()
        if keep:
            self._cache[key] = report
        return report

    def _ask_nodes(self) -> t.Any:
        sources = self._list_sources()
        if not sources:
            raise AnsibleParserError("no nodes; give their inventory before this one, or the option report")
        with tempfile.TemporaryDirectory() as directory:
            page, data = (os.path.join(directory, f"report.{ending}") for ending in ("html", "json"))
            inventories = [word for source in sources for word in ("-i", source)]
            argv = [
                sys.executable,
                "-m",
                "ansible",
                "playbook",
                *inventories,
                "-e",
                json.dumps({**_UNWANTED, "cni_node_report_path": page}),
            ]
            done = subprocess.run(
                [*argv, "cni.node.report"],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            if not os.path.exists(data):
                output = "\n".join(printable.lines(done.stdout).splitlines()[-_LINES:])
                raise AnsibleParserError(f"the playbook cni.node.report made no report:\n{output}")
            return _read(data)

    def _list_sources(self) -> list[str]:
        """Return the inventories before this one; None stands for directories, whose files are in the list."""
        return [source for source in self.inventory.processed_sources if source]

    def _refer_to(self, node: str) -> dict[str, t.Any]:
        """Return the variables with which hosts of a node are reached: they refer to the variables of the node."""
        known = self.inventory.hosts.get(node)
        if known is None:
            return {"ansible_host": _as_data(node)}
        groups = [self.inventory.groups["all"], *known.get_groups()]
        beside = get_vars_from_inventory_sources(self.loader, self._list_sources(), [*groups, known], "all")
        names = {*get_group_vars(groups), *known.get_vars(), *beside} - _REPLACED
        references = {
            name: _trust(f"{{{{ hostvars[cni_attachment.node].{name} }}}}")
            for name in sorted(names)
            if name.startswith("ansible_") and name.isidentifier()
        }
        return {"ansible_host": _as_data(node), **references}

    def _add(self, host: AttachmentHost, connection: t.Mapping[str, t.Any]) -> None:
        self.inventory.add_host(host.name)
        for group in host.groups:
            self.inventory.add_child(self.inventory.add_group(group), host.name)
        variables = {
            **connection,
            "ansible_become": True,
            "ansible_become_method": _trust("cni.node.netns"),
            "ansible_cni_netns": _as_data(host.facts["netns"]),
            "cni_attachment": _as_data(host.facts),
        }
        for name, value in variables.items():
            self.inventory.set_variable(host.name, name, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host.name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host.name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host.name, strict=strict)

    def _compose(self, *arguments: t.Any, **keywords: t.Any) -> t.Any:
        """Return the value of an expression as data, because it may consist of what a node said."""
        return _as_data(super()._compose(*arguments, **keywords))


def _read(path: str) -> t.Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as exc:
        raise AnsibleParserError(f"{path}: {exc.strerror}; expected: the data of a report") from exc
    except ValueError as exc:
        raise AnsibleParserError(f"{path}: {printable.line(str(exc))}; expected: the data of a report") from exc


def _as_data(value: t.Any) -> t.Any:
    """Return a value that is never evaluated as a template. Since ansible-core 2.19, no value is unless trusted."""
    if hasattr(template, "trust_as_template"):
        return value
    from ansible.utils.unsafe_proxy import wrap_var

    return wrap_var(value)
