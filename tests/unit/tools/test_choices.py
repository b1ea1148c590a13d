# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of container runtimes in documentation are those of their rows."""

from __future__ import annotations

import pytest

from tools import choices
from tools.paths import ROOT


@pytest.mark.parametrize(("file", "option"), choices.PLACES)
def test_committed_choices_are_what_the_command_writes(file: str, option: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"\n{option}\n" in text
    assert choices.rewrite(text, option, choices.PLACES[file, option]) == text, "run `make format`"


@pytest.mark.parametrize("written", [" [crio, ctr]", "\n      - crio\n      - ctr"])
def test_only_the_choices_of_the_option_are_replaced(written: str) -> None:
    before = "\n  state:\n    choices: [a]\n  owners:\n    type: str\n    choices:"
    after = "\n  mode:\n    choices:\n      - b\n"
    assert choices.rewrite(f"{before}{written}{after}", "  owners:", ["podman"]) == f"{before} [podman]{after}"
