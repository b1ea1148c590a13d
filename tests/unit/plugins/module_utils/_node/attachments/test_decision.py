# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A decision about one attachment follows from what is recorded, what is desired, and the policy alone."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import (
    NETWORK_CHANGED,
    CheckReport,
    Recorded,
    Step,
    decide,
    decide_again,
)
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Check,
    DesiredAttachment,
    OnDrift,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift


def content(**keys: object) -> bytes:
    document = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "bridge"}], **keys}
    return json.dumps(document).encode()


def network(**keys: object) -> config.NetworkConfiguration:
    return config.parse(content(**keys), "the file")


RESULT = Result("1.0.0", {"cniVersion": "1.0.0"})
ATTACHMENT = Attachment("net", "blue", "eth0", "/run/netns/blue", args={"K": "V"})
RECORD = Record(ATTACHMENT, content(), RESULT, version="1.0.0", netns_identity="identity")
INTENT = RECORD._replace(result=None, command="ADD")
DESIRED = DesiredAttachment(ATTACHMENT, network=network())
OTHER_ARGS = DESIRED._replace(attachment=ATTACHMENT._replace(args={"K": "W"}))
RESTORED = DESIRED._replace(restoration=Restoration(("/opt/cni/bin",), 60.0))
MISSING = DESIRED._replace(network=None, missing=CniError(Code.INVALID_CONFIG, "no network"))
PROBLEM = DESIRED._replace(network=None, problem=CniError(Code.INVALID_ENVIRONMENT, "not a network namespace"))
ABSENT = DesiredAttachment(ATTACHMENT, present=False)

DRIFT = CheckReport(error=CniError(Code.LIMITED_CONNECTIVITY, "no route"), reason="no route")
NO_EVIDENCE = CheckReport(error=CniError(Code.IO_FAILURE, "cannot read"), reason="cannot read")
OTHER_DRIFT = CheckReport(error=CniError(Code.LIMITED_CONNECTIVITY, "no address"), reason="no address")
SOUND = CheckReport(checked=True)
NEVER, DRY_RUN = Policy(check=Check.NEVER), Policy(dry_run=True)
FAIL, REPORT = Policy(on_drift=OnDrift.FAIL), Policy(on_drift=OnDrift.REPORT)


class DecisionCase(t.NamedTuple):
    """Facts, and the decision that follows.

    Attributes:
        flags: ``u`` if the decision updates the record, ``r`` if it rolls back.
    """

    recorded: Recorded
    desired: DesiredAttachment
    policy: Policy
    step: Step
    reason: str = ""
    error: str = ""
    flags: str = ""


IN_PLACE = Recorded(RECORD)
COMPARED = IN_PLACE._replace(drift=AttachmentDrift())
LOST = IN_PLACE._replace(drift=AttachmentDrift(LinkDrift(("no route",), ())))
REPAIRED = COMPARED._replace(repair=Repair(RECORD, ("no route",), changes=("repaired: no route",)))
NOT_REPAIRED = LOST._replace(repair=Repair(RECORD, ("no route",), ("no route",), reason="interface eth0 is gone"))
UNWRITTEN = LOST._replace(
    repair=Repair(RECORD, ("no route",), ("no route",), rules_error=CniError(Code.IO_FAILURE, "no such target"))
)
DEFERRED = LOST._replace(repair=Repair(RECORD, reason="a plugin is running for its container", is_deferred=True))
BROKEN = Recorded(INTENT, "its record is broken")
OTHER_NETNS = Recorded(RECORD, netns_change="its network namespace is gone")
CASES = {
    "nothing recorded, absent": DecisionCase(Recorded(), ABSENT, Policy(), Step.KEEP),
    "recorded, absent": DecisionCase(IN_PLACE, ABSENT, Policy(), Step.REMOVE),
    "broken, absent": DecisionCase(BROKEN, ABSENT, Policy(), Step.REMOVE, "its record is broken"),
    "another netns, absent": DecisionCase(OTHER_NETNS, ABSENT, Policy(), Step.REMOVE),
    "nothing recorded": DecisionCase(Recorded(), DESIRED, Policy(), Step.ADD),
    "nothing recorded, never checked": DecisionCase(Recorded(), DESIRED, NEVER, Step.ADD),
    "network missing": DecisionCase(IN_PLACE, MISSING, Policy(), Step.COMPARE),
    "network missing, never checked": DecisionCase(IN_PLACE, MISSING, NEVER, Step.KEEP),
    "network missing, sound": DecisionCase(IN_PLACE._replace(check=SOUND), MISSING, Policy(), Step.KEEP),
    "network missing, drift": DecisionCase(
        IN_PLACE._replace(check=DRIFT), MISSING, Policy(), Step.FAIL, "no route", "cannot be recreated: no network"
    ),
    "network missing, drift, dry run": DecisionCase(
        IN_PLACE._replace(check=DRIFT), MISSING, DRY_RUN, Step.RECREATE, "no route"
    ),
    "network missing, other arguments": DecisionCase(
        IN_PLACE, MISSING._replace(attachment=OTHER_ARGS.attachment), Policy(), Step.FAIL, error="no network"
    ),
    "network missing, another netns": DecisionCase(OTHER_NETNS, MISSING, Policy(), Step.FAIL, error="no network"),
    "network missing, nothing recorded": DecisionCase(Recorded(), MISSING, Policy(), Step.FAIL, error="no network"),
    "network namespace missing, dry run": DecisionCase(
        OTHER_NETNS, MISSING, DRY_RUN, Step.RECREATE, "its network namespace has been replaced"
    ),
    "network missing, nothing recorded, dry run": DecisionCase(Recorded(), MISSING, DRY_RUN, Step.ADD),
    "problem": DecisionCase(IN_PLACE, PROBLEM, Policy(), Step.FAIL, error="not a network namespace"),
    "problem, dry run": DecisionCase(IN_PLACE, PROBLEM, DRY_RUN, Step.FAIL, error="not a network namespace"),
    "broken": DecisionCase(BROKEN, DESIRED, Policy(), Step.RECREATE, "its record is broken"),
    "broken, network missing": DecisionCase(BROKEN, MISSING, Policy(), Step.FAIL, "its record is broken", "no network"),
    "another netns": DecisionCase(OTHER_NETNS, DESIRED, Policy(), Step.RECREATE, "its network namespace is gone"),
    "another netns, never checked": DecisionCase(
        OTHER_NETNS, DESIRED, NEVER, Step.RECREATE, "its network namespace is gone"
    ),
    "another netns and other arguments": DecisionCase(
        OTHER_NETNS, OTHER_ARGS, Policy(), Step.RECREATE, "its network namespace is gone"
    ),
    "other arguments": DecisionCase(
        IN_PLACE, OTHER_ARGS, Policy(), Step.RECREATE, "its arguments have changed", flags="r"
    ),
    "other arguments, never checked": DecisionCase(
        IN_PLACE, OTHER_ARGS, NEVER, Step.RECREATE, "its arguments have changed", flags="r"
    ),
    "another path and other arguments": DecisionCase(
        Recorded(RECORD, "another path"), OTHER_ARGS, Policy(), Step.RECREATE, "another path", flags="r"
    ),
    "another configuration": DecisionCase(
        IN_PLACE,
        DESIRED._replace(network=network(plugins=[{"type": "ptp"}])),
        Policy(),
        Step.RECREATE,
        NETWORK_CHANGED,
        flags="r",
    ),
    "GC forbidden since": DecisionCase(
        IN_PLACE, DESIRED._replace(network=network(disableGC=True)), NEVER, Step.KEEP, flags="u"
    ),
    "in place": DecisionCase(IN_PLACE, DESIRED, Policy(), Step.COMPARE),
    "in place, drift only": DecisionCase(IN_PLACE, DESIRED, Policy(check=Check.DRIFT), Step.COMPARE),
    "in place, changed only": DecisionCase(IN_PLACE, DESIRED, Policy(check=Check.CHANGED), Step.KEEP),
    "in place, never checked": DecisionCase(IN_PLACE, DESIRED, NEVER, Step.KEEP),
    "in place, restored from now on": DecisionCase(IN_PLACE, RESTORED, NEVER, Step.KEEP, flags="u"),
    "in place, restored from now on, to check": DecisionCase(IN_PLACE, RESTORED, Policy(), Step.COMPARE, flags="u"),
    "compared": DecisionCase(COMPARED, DESIRED, Policy(), Step.CHECK),
    "lost something": DecisionCase(LOST, DESIRED, Policy(), Step.REPAIR),
    "lost something, network missing": DecisionCase(LOST, MISSING, Policy(), Step.REPAIR),
    "lost something, other arguments": DecisionCase(
        LOST, OTHER_ARGS, Policy(), Step.RECREATE, "its arguments have changed", flags="r"
    ),
    "lost something, recreate": DecisionCase(LOST, DESIRED, Policy(on_drift=OnDrift.RECREATE), Step.CHECK),
    "lost something, report": DecisionCase(LOST, DESIRED, REPORT, Step.CHECK),
    "repaired": DecisionCase(REPAIRED, DESIRED, Policy(), Step.CHECK),
    "repaired, sound": DecisionCase(REPAIRED._replace(check=SOUND), DESIRED, Policy(), Step.KEEP, "no route"),
    "repaired, other drift": DecisionCase(
        REPAIRED._replace(check=OTHER_DRIFT), DESIRED, Policy(), Step.RECREATE, "no route; no address"
    ),
    "not repaired": DecisionCase(NOT_REPAIRED, DESIRED, Policy(), Step.CHECK),
    "not repaired, drift": DecisionCase(
        NOT_REPAIRED._replace(check=DRIFT), DESIRED, Policy(), Step.RECREATE, "no route"
    ),
    "repair not comparable afterwards": DecisionCase(
        NOT_REPAIRED._replace(drift=None), DESIRED, Policy(), Step.COMPARE
    ),
    "rules not written": DecisionCase(
        UNWRITTEN._replace(check=DRIFT), DESIRED, Policy(), Step.FAIL, "no route", "its rules could not be repaired"
    ),
    "rules not written, but sound": DecisionCase(UNWRITTEN._replace(check=SOUND), DESIRED, Policy(), Step.KEEP),
    "repair deferred": DecisionCase(DEFERRED, DESIRED, Policy(), Step.FAIL, error="a plugin is running"),
    "sound": DecisionCase(IN_PLACE._replace(check=SOUND), DESIRED, Policy(), Step.KEEP),
    "sound, restored from now on": DecisionCase(
        IN_PLACE._replace(check=SOUND), RESTORED, Policy(), Step.KEEP, flags="u"
    ),
    "drift": DecisionCase(IN_PLACE._replace(check=DRIFT), DESIRED, Policy(), Step.RECREATE, "no route"),
    "drift, fail": DecisionCase(IN_PLACE._replace(check=DRIFT), DESIRED, FAIL, Step.FAIL, "no route", "no route"),
    "drift, report": DecisionCase(IN_PLACE._replace(check=DRIFT), DESIRED, REPORT, Step.KEEP, "no route", "no route"),
    "drift, report, restored from now on": DecisionCase(
        IN_PLACE._replace(check=DRIFT), RESTORED, REPORT, Step.KEEP, "no route", "no route", "u"
    ),
    "no evidence": DecisionCase(
        IN_PLACE._replace(check=NO_EVIDENCE), DESIRED, Policy(), Step.FAIL, "cannot read", "kept as it is"
    ),
    "no evidence, report": DecisionCase(
        IN_PLACE._replace(check=NO_EVIDENCE), DESIRED, REPORT, Step.KEEP, "cannot read", "cannot read"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_decision_follows_from_the_facts(case: DecisionCase) -> None:
    decision = decide(case.recorded, case.desired, case.policy)
    flags = f"{'u' if decision.updates_record else ''}{'r' if decision.rolls_back else ''}"
    assert (decision.step, decision.reason, flags) == (case.step, case.reason, case.flags)
    assert case.error in str(decision.error)
    assert (decision.error is None) == (not case.error)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_check_mode_decides_the_same(case: DecisionCase) -> None:
    """The only exception: a prerequisite that another task may create is not an error in check mode."""
    if case.desired.missing is None:
        predicted, decided = (
            decide(case.recorded, case.desired, case.policy._replace(dry_run=it)) for it in (True, False)
        )
        assert predicted._replace(error=None) == decided._replace(error=None)
        assert str(predicted.error) == str(decided.error)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_facts_that_come_one_after_the_other_lead_to_the_same_decision(case: DecisionCase) -> None:
    known = case.recorded._replace(drift=None, repair=None, check=None)
    first = decide(known, case.desired, case.policy)
    if first.step in (Step.COMPARE, Step.REPAIR, Step.CHECK) and first.record is not None:
        again = decide_again(case.recorded, first.record, case.desired, case.policy)
        at_once = decide(case.recorded, case.desired, case.policy)
        assert again._replace(error=None) == at_once._replace(error=None)
        assert str(again.error) == str(at_once.error)


def test_record_to_check_has_the_operations_that_the_network_forbids_now() -> None:
    desired = DESIRED._replace(network=network(disableCheck=True))
    decision = decide(IN_PLACE, desired, Policy())
    assert decision.record is not None
    assert decision.record.network().disable_check


def test_attachment_that_is_recreated_is_deleted_as_recorded() -> None:
    desired = DESIRED._replace(network=network(disableCheck=True))
    assert decide(IN_PLACE._replace(check=DRIFT), desired, Policy()).record is RECORD
