# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Try networks with a throw-away attachment."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.result import from_keys
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import icmp, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.plugins.module_utils._node.trial.readiness import query_readiness
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon

_IFNAME = "eth0"
_LOOPBACK = "lo"
_NETNS = "cni.node-verify-"
_NETNS_NAME = re.compile(rf"{re.escape(_NETNS)}[0-9a-f]{{12}}")
# Link kind of a VRF, as the kernel names it.
_VRF = "vrf"


@dataclasses.dataclass
class Trial:
    """The trial of a network with a throw-away attachment, and its result.

    Attributes:
        action: ``verified``, ``failed`` or ``skipped``.
        reason: Why the network was skipped, or that an earlier run was interrupted before DEL.
        addresses: The attachment's addresses, with prefix lengths.
        gateways: By address, whether the gateway answered.
        status: The plugins' answer to STATUS, as in `Readiness`; empty if STATUS was not run.
        seconds: Duration of ADD, CHECK and DEL together.
    """

    network: str
    action: str = "verified"
    reason: str = ""
    addresses: tuple[str, ...] = ()
    gateways: dict[str, bool] = dataclasses.field(default_factory=dict)
    status: str = ""
    error: CniError | None = None
    seconds: float = 0.0

    @property
    def netns(self) -> str:
        """The name of the network namespace. Each run uses the same, so that it finds the leaks of an interrupted run."""
        return f"{_NETNS}{hashlib.sha256(self.network.encode()).hexdigest()[:12]}"

    @property
    def key(self) -> Key:
        """The key of the attachment."""
        return self.network, self.netns, _IFNAME

    def fail(self, error: CniError) -> None:
        self.action, self.error = "failed", self.error or error


class Verification:
    """Attaches a throw-away network namespace to each network, and removes it again.

    Attributes:
        warnings: What could not be removed of an interrupted run, one line each.
    """

    def __init__(self, runtime: Runtime, conf_dir: ConfDir, gateway_timeout: float) -> None:
        """
        Args:
            gateway_timeout: Seconds to wait for a gateway's answer; 0 sends no request.
        """
        self._runtime = runtime
        self._conf_dir = conf_dir
        self._gateway_timeout = gateway_timeout
        self._netns = NetnsDirectory(runtime.paths)
        self._reconciler = Reconciler(runtime, conf_dir, Policy())
        self.warnings: list[str] = []

    def plan(self, names: t.Sequence[str]) -> list[Trial]:
        """Return a trial for each name; without names, for every network. Some may be failed or skipped already."""
        trials = [Trial(name) for name in dict.fromkeys(names) or sorted(self._conf_dir.networks)]
        for trial in trials:
            try:
                network = self._conf_dir.get(trial.network)
            except CniError as exc:
                trial.fail(exc)
                continue
            borrowers = [
                plugin.type for plugin in network.plugins if catalogue.find_plugin_type(plugin.type).borrows_device
            ]
            if borrowers and not names:
                trial.action, trial.reason = "skipped", f"{borrowers[0]} would take a device away from the node"
        return trials

    def networks(self, trials: t.Iterable[Trial]) -> list[NetworkConfiguration]:
        """Return the configurations of the networks that the conf dir has."""
        names = (trial.network for trial in trials)
        return [self._conf_dir.networks[name] for name in names if name in self._conf_dir.networks]

    def predict(self, trials: t.Sequence[Trial]) -> None:
        """Mark each trial as skipped; the reason is the error that a run would have now, if any.

        An unsafe plugin fails the trial. Other errors do not, because an earlier task may still prevent them.
        """
        for trial in trials:
            try:
                network = self._conf_dir.get(trial.network)
                self._runtime.require_plugins(network)
                dhcp_daemon.require_daemons(network)
                reason = trial.reason or "check mode"
            except UnsafePlugin as exc:
                trial.fail(exc)
                continue
            except CniError as exc:
                reason = str(exc)
            trial.action, trial.reason, trial.error = "skipped", reason, None

    def carry_out(self, trials: t.Sequence[Trial]) -> None:
        """Create the attachments, ping their gateways, and remove everything again, also after failures.

        The caller holds a lock, because the network namespaces have the same names in each run.
        """
        self._remove_forgotten({trial.netns for trial in trials})
        pending = self._query_status(self._remove_earlier(self._require_daemons(_select_pending(trials))))
        trial_netns.ensure(self._runtime.paths, [trial.netns for trial in pending], present=True, dry_run=False)
        for trial, result in zip(pending, self._reconcile(pending, present=True)):
            if result.error is None:
                try:
                    self._examine(trial, result)
                except Exception as exc:  # the attachment is removed after any error
                    trial.fail(as_error(exc))
        removals = zip(pending, self._reconcile(pending, present=False))
        removed = [trial.netns for trial, result in removals if result.error is None]
        trial_netns.ensure(self._runtime.paths, removed, present=False, dry_run=False)

    def _remove_forgotten(self, tried: t.Container[str]) -> None:
        """Remove what an interrupted run has left of networks that are not tried now, such as removed ones.

        A namespace whose attachment this run does not know keeps it: another cache dir may have the record.
        """
        names = [name for name in self._netns.names() if _NETNS_NAME.fullmatch(name) and name not in tried]
        stores = (self._runtime.records, self._runtime.intents) if names else ()
        records = (record for store in stores for record in store.read_containing(_NETNS)[0])
        attachments = {record.attachment.key: record.attachment for record in records}
        forgotten = [DesiredAttachment(each, False) for each in attachments.values() if each.container_id in names]
        failed = [result for result in reconcile_all(self._reconciler, forgotten, default_workers()) if result.error]
        self.warnings += [f"an earlier run was interrupted: {result.attachment}: {result.error}" for result in failed]
        kept = {result.attachment.container_id for result in failed}
        known = {each.attachment.container_id for each in forgotten}
        for name in names:
            if name not in known and any(link.name != _LOOPBACK for link in self._list_links(name)):
                kept.add(name)
                self.warnings.append(f"{name} is attached, and no readable record says to which network; it is kept")
        removed = [name for name in names if name not in kept]
        trial_netns.ensure(self._runtime.paths, removed, present=False, dry_run=False)

    def _list_links(self, name: str) -> tuple[Link, ...]:
        return rtnetlink.snapshot(self._netns.path_of(name), routes=False).links

    def _require_daemons(self, pending: t.Sequence[Trial]) -> list[Trial]:
        """Return the trials of networks whose daemons run. dhcp needs its daemon for DEL, too."""
        for trial in pending:
            try:
                dhcp_daemon.require_daemons(self._conf_dir.get(trial.network))
            except CniError as exc:
                trial.fail(exc)
        return _select_pending(pending)

    def _remove_earlier(self, pending: t.Sequence[Trial]) -> list[Trial]:
        """Remove attachments of a run that was interrupted, and return the trials that can go on."""
        for trial, result in zip(pending, self._reconcile(pending, present=False)):
            if result.touched:
                trial.reason = trial.reason or "an earlier run was interrupted before DEL"
        return _select_pending(pending)

    def _query_status(self, pending: t.Sequence[Trial]) -> list[Trial]:
        """Run STATUS, and return the trials of networks whose plugins report no error."""
        for trial, answer in zip(pending, query_readiness(self._runtime, self.networks(pending))):
            trial.status = answer.status
            if answer.error is not None:
                trial.fail(answer.error)
        return _select_pending(pending)

    def _attachment(self, trial: Trial) -> Attachment:
        return Attachment(*trial.key, self._netns.path_of(trial.netns))

    def _reconcile(self, trials: t.Sequence[Trial], *, present: bool) -> list[AttachmentResult]:
        desired = [DesiredAttachment(self._attachment(trial), present) for trial in trials]
        results = reconcile_all(self._reconciler, desired, default_workers())
        for trial, result in zip(trials, results):
            trial.seconds += result.seconds
            trial.reason = trial.reason or result.reason
            if result.error is not None:
                trial.fail(result.error)
        return results

    def _examine(self, trial: Trial, result: AttachmentResult) -> None:
        keys = from_keys(result.result or {}, "", trial.network).to("1.0.0").keys
        ips = [ip for ip in keys.get("ips") or () if ip.get("address")]
        trial.addresses = tuple(ip["address"] for ip in ips)
        if self._gateway_timeout:
            sources: dict[str, str] = {}
            for ip in ips:
                if ip.get("gateway"):
                    sources.setdefault(ip["gateway"], ip["address"].partition("/")[0])
            trial.gateways = {gateway: self._ping_from(trial, gateway, source) for gateway, source in sources.items()}
        silent = [gateway for gateway, answered in trial.gateways.items() if not answered]
        if silent:
            trial.fail(_no_answer_error(trial, silent, self._gateway_timeout))

    def _ping_from(self, trial: Trial, gateway: str, source: str) -> bool:
        path = self._netns.path_of(trial.netns)
        with io_errors("enter the network namespace", path):
            return netns.run_inside(path, functools.partial(_ping, gateway, source, self._gateway_timeout))


def _ping(gateway: str, source: str, timeout: float) -> bool:
    """Return whether a gateway answers in this thread's network namespace, by the routes that sbr or vrf have added."""
    return icmp.ping(gateway, icmp.Sender(_IFNAME, source, _find_vrf(_IFNAME)), timeout)


def _find_vrf(ifname: str) -> str:
    """Return the name of an interface's VRF, or an empty string."""
    link = rtnetlink.link(ifname)
    master = rtnetlink.link_by_index(link.master) if link else None
    return master.name if master and master.kind == _VRF else ""


def _select_pending(trials: t.Iterable[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.action == "verified"]


def _no_answer_error(trial: Trial, gateways: t.Sequence[str], timeout: float) -> CniError:
    return CniError(
        Code.LIMITED_CONNECTIVITY,
        f"network {trial.network}: no answer from gateway {', '.join(gateways)} within {timeout:g} s",
        f"an ICMP echo request was sent from {', '.join(trial.addresses)}; check that the node or its network has the "
        "gateway's address and that no firewall drops the request, or set gateway_timeout to 0 if there is no gateway",
    )
