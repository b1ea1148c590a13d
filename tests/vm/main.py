# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A booted Debian machine for tests: its own kernel, systemd, container runtimes. It runs inside tests/support/sandbox."""

from __future__ import annotations

import argparse
import os
import sys
import typing as t

from ansible_collections.cni.node.tests.vm import image, virtual_machine


def run(command: str) -> None:
    if command == "image":
        print(image.build())
        return
    if "CNI_SANDBOX" not in os.environ:
        raise image.ImageRefused("the machine takes a port: run it inside tests/support/sandbox")
    virtual_machine.up() if command == "up" else virtual_machine.down()


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="vm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("image", help="make the disk, which needs a Debian mirror and no sandbox; print where it is")
    commands.add_parser("up", help="boot, and come back when one can log in")
    commands.add_parser("down", help="switch off")
    try:
        run(parser.parse_args(argv).command)
    except (image.ImageRefused, TimeoutError) as error:
        print(f"vm: {error}", file=sys.stderr)
        return 125
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
