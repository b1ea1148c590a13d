# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state that plugins make is described from keys in any case, as the plugins read them."""

from __future__ import annotations

import json

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import (
    RecordedRequests,
    expected_state,
    firewall_state,
)
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.support.key_case import in_other_case
from ansible_collections.cni.node.tests.support.reference_cases import situations

RECORDS = {
    f"{situation.name} {number}": record
    for situation in situations()
    for number, record in enumerate(situation.records)
}


def with_other_case(record: Record) -> Record:
    network = json.loads(record.config)
    network["plugins"] = in_other_case(network["plugins"])
    attachment = record.attachment
    arguments = {name: in_other_case(value) for name, value in attachment.capability_args.items()}
    attachment = attachment._replace(capability_args=arguments)
    return record._replace(config=json.dumps(network).encode(), attachment=attachment)


def require_same_state(record: Record) -> None:
    other = with_other_case(record)
    assert expected_state(RecordedRequests(other), "") == expected_state(RecordedRequests(record), "")
    assert firewall_state(RecordedRequests(other)) == firewall_state(RecordedRequests(record))


def test_the_state_of_an_attachment_does_not_depend_on_the_case_of_keys() -> None:
    check_each(RECORDS, require_same_state)
