# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hold TCP connections of containers: `connections.py open` starts a process with one of each, `connections.py check` uses them.

`open` connects to the node's mapped ports, and then waits for a connection from a container behind the node's address. `check`
fails unless the containers send back what they receive, over new connections to the ports as well. It prints the ID of each
container, the index of its interface and the path of its network namespace.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import socket
import subprocess
import sys
import time

NODE, MAPPED_PORTS, OWN_PORT = "192.0.2.1", (8080, 8081, 8082), 9000
RECORDS = "/var/lib/cni/results/pods-*-eth0"
# Where the process that holds the connections is asked to use them.
CHECKS = "/run/connections"
# Seconds, for containers that are starting on an emulated processor, and for TCP's retransmissions.
PATIENCE = 30


def hold() -> None:
    with socket.create_server(("", OWN_PORT)) as server:
        connections = {f"to port {port}": connect(port) for port in MAPPED_PORTS}
        with contextlib.suppress(FileNotFoundError):
            os.unlink(CHECKS)
        checks = socket.socket(socket.AF_UNIX)
        checks.bind(CHECKS)
        checks.listen()
        if os.fork():
            return
        server.settimeout(PATIENCE)
        connections["from a container"], peer = server.accept()
    if peer[0] != NODE:
        sys.exit(f"the connection comes from {peer[0]} instead of {NODE}")
    while True:
        with checks.accept()[0] as asking:
            problems = [use(*item) for item in connections.items()]
            for port in MAPPED_PORTS:
                with connect(port) as new:
                    problems.append(use(f"to port {port}, a new one,", new))
            asking.sendall("".join(problems).encode())


def connect(port: int) -> socket.socket:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((NODE, port), timeout=PATIENCE)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def use(name: str, connection: socket.socket) -> str:
    """Send a new text and receive it again; return what is wrong, or an empty string."""
    text = os.urandom(8)
    connection.settimeout(PATIENCE)
    try:
        connection.sendall(text)
        received = connection.recv(len(text), socket.MSG_WAITALL)
    except OSError as error:
        return f"the connection {name} is lost: {error}\n"
    return "" if received == text else f"the connection {name} returns {received!r} instead of {text!r}\n"


def check() -> None:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(CHECKS)
        answer = b"".join(iter(lambda: asking.recv(4096), b"")).decode()
    if answer:
        sys.exit(answer)
    for path in sorted(glob.glob(RECORDS)):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        (netns,) = (item["sandbox"] for item in record["result"]["interfaces"] if item.get("sandbox"))
        command = ["nsenter", f"--net={netns}", "ip", "-json", "link", "show", record["ifName"]]
        (link,) = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        sys.stdout.write(f"{record['containerId']} {link['ifindex']} {netns}\n")


hold() if sys.argv[1] == "open" else check()
