# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import functools
import hashlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error, io_error
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.result import from_keys
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._linux import icmp, netns, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.trial import netns as trial_netns
from ansible_collections.cni.node.plugins.module_utils._node.trial.readiness import readiness
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

_IFNAME: t.Final = "eth0"
# The kernel's kind of a VRF's link.
_VRF: t.Final = "vrf"


@dataclasses.dataclass
class Trial:
    """How an attachment that was made to be thrown away went.

    Attributes:
        action: ``verified``, ``failed`` or ``skipped``.
        reason: Why it was skipped, or what an earlier run had left behind.
        addresses: What the attachment got, with the length of the prefix.
        gateways: Of each gateway, whether it answered.
        status: What its plugins answered to STATUS, as in `Readiness`; empty where they were not asked.
        seconds: For ADD, CHECK and DEL.
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
        """A name that tells the network, so that a run that was killed is cleaned up after by the next."""
        return f"cni.node-verify-{hashlib.sha256(self.network.encode()).hexdigest()[:12]}"

    @property
    def key(self) -> Key:
        """The key of the attachment."""
        return self.network, self.netns, _IFNAME

    def fail(self, error: CniError) -> None:
        self.action, self.error = "failed", self.error or error


class Verification:
    """Attaches a throw-away network namespace to each network, and takes it away again."""

    def __init__(self, runtime: Runtime, conf_dir: ConfDir, gateway_timeout: float) -> None:
        """
        Args:
            gateway_timeout: Seconds to wait for a gateway's answer; 0 asks none.
        """
        self._runtime = runtime
        self._conf_dir = conf_dir
        self._gateway_timeout = gateway_timeout
        self._netns = NetnsDirectory(runtime.paths)
        self._reconciler = Reconciler(runtime, conf_dir, Policy())

    def plan(self, names: t.Sequence[str]) -> list[Trial]:
        """Return a trial for each name, or for every network; some must not or cannot be tried."""
        trials = [Trial(name) for name in dict.fromkeys(names) or sorted(self._conf_dir.networks)]
        for trial in trials:
            try:
                network = self._conf_dir.get(trial.network)
            except CniError as exc:
                trial.fail(exc)
                continue
            borrowing = [plugin.type for plugin in network.plugins if catalogue.row(plugin.type).borrows_device]
            if borrowing and not names:
                trial.action, trial.reason = "skipped", f"{borrowing[0]} would take a device away from the node"
        return trials

    def networks(self, trials: t.Iterable[Trial]) -> list[NetworkConfiguration]:
        """Return the configurations of those networks that are there."""
        names = (trial.network for trial in trials)
        return [self._conf_dir.networks[name] for name in names if name in self._conf_dir.networks]

    def rehearse(self, trials: t.Sequence[Trial]) -> None:
        """Try none of them, and say what would fail unless another task is about to make it."""
        for trial in trials:
            try:
                self._runtime.require_plugins(self._conf_dir.get(trial.network))
                reason = trial.reason or "check mode"
            except UnsafePlugin as exc:
                trial.fail(exc)
                continue
            except CniError as exc:
                reason = str(exc)
            trial.action, trial.reason, trial.error = "skipped", reason, None

    def carry_out(self, trials: t.Sequence[Trial]) -> None:
        """Make the attachments, ask the gateways, and remove all of it, whatever has failed.

        Nobody else may do so at the same time: the namespaces are the same.
        """
        due = self._ready(self._detached(_due(trials)))
        trial_netns.ensure(self._runtime.paths, [trial.netns for trial in due], present=True, dry_run=False)
        for trial, outcome in zip(due, self._converge(due, present=True)):
            if outcome.error is None:
                try:
                    self._look_at(trial, outcome)
                except Exception as exc:  # whatever it is, the attachment is removed
                    trial.fail(as_error(exc))
        removed = [
            trial.netns for trial, outcome in zip(due, self._converge(due, present=False)) if outcome.error is None
        ]
        trial_netns.ensure(self._runtime.paths, removed, present=False, dry_run=False)

    def _detached(self, due: t.Sequence[Trial]) -> list[Trial]:
        """Detach what an earlier run has left, which would be taken for this one's; return what can be tried then."""
        for trial, outcome in zip(due, self._converge(due, present=False)):
            if outcome.touched:
                trial.reason = trial.reason or "an earlier run was interrupted before DEL"
        return _due(due)

    def _ready(self, due: t.Sequence[Trial]) -> list[Trial]:
        """Ask the plugins by STATUS; return the trials of networks whose plugins do not say that they are not ready."""
        for trial, answer in zip(due, readiness(self._runtime, self.networks(due))):
            trial.status = answer.status
            if answer.error is not None:
                trial.fail(answer.error)
        return _due(due)

    def _attachment(self, trial: Trial) -> Attachment:
        return Attachment(*trial.key, self._netns.path_of(trial.netns))

    def _converge(self, due: t.Sequence[Trial], *, present: bool) -> list[AttachmentResult]:
        wanted = [DesiredAttachment(self._attachment(trial), present) for trial in due]
        outcomes = reconcile_all(self._reconciler, wanted, default_workers())
        for trial, outcome in zip(due, outcomes):
            trial.seconds += outcome.seconds
            trial.reason = trial.reason or outcome.reason
            if outcome.error is not None:
                trial.fail(outcome.error)
        return outcomes

    def _look_at(self, trial: Trial, outcome: AttachmentResult) -> None:
        keys = from_keys(outcome.result or {}, "", trial.network).to("1.0.0").keys
        ips = [ip for ip in keys.get("ips") or () if ip.get("address")]
        trial.addresses = tuple(ip["address"] for ip in ips)
        if self._gateway_timeout:
            sources: dict[str, str] = {}
            for ip in ips:
                if ip.get("gateway"):
                    sources.setdefault(ip["gateway"], ip["address"].partition("/")[0])
            trial.gateways = {gateway: self._answers(trial, gateway, source) for gateway, source in sources.items()}
        silent = [gateway for gateway, answered in trial.gateways.items() if not answered]
        if silent:
            trial.fail(_silent(trial, silent, self._gateway_timeout))

    def _answers(self, trial: Trial, gateway: str, source: str) -> bool:
        path = self._netns.path_of(trial.netns)
        ask = functools.partial(_asked, gateway, source, self._gateway_timeout)
        try:
            return netns.run_inside(path, ask)
        except OSError as exc:
            raise io_error("enter the network namespace", path, exc) from exc


def _asked(gateway: str, source: str, timeout: float) -> bool:
    """Return whether a gateway answers in this thread's network namespace, by the routes that sbr or vrf have made."""
    return icmp.ping(gateway, icmp.Sender(_IFNAME, source, _vrf_of(_IFNAME)), timeout)


def _vrf_of(ifname: str) -> str:
    link = rtnetlink.link(ifname)
    master = rtnetlink.link_by_index(link.master) if link else None
    return master.name if master and master.kind == _VRF else ""


def _due(trials: t.Iterable[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.action == "verified"]


def _silent(trial: Trial, gateways: t.Sequence[str], timeout: float) -> CniError:
    return CniError(
        Code.LIMITED_CONNECTIVITY,
        f"network {trial.network}: no answer from gateway {', '.join(gateways)} within {timeout:g} s",
        f"asked by ICMP echo from {', '.join(trial.addresses)}; is the address on the node or its network, does a "
        "firewall drop it, or is there no gateway on purpose? then set gateway_timeout to 0",
    )


__all__ = ("Trial", "Verification")
