# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a sandbox with containerd as a kubelet does, and remove it: `cri_sandbox.py run HOST_PORT`, `cri_sandbox.py remove ID`."""

from __future__ import annotations

import sys

import grpc

SOCKET = "unix:///run/containerd/containerd.sock"
SERVICE = "/runtime.v1.RuntimeService/"
# Seconds; an emulated processor is slow.
TIMEOUT = 60
# Numbers of fields in the protocol buffers of k8s.io/cri-api.
METADATA, LOG_DIRECTORY, PORT_MAPPINGS, LINUX = 1, 3, 5, 8
NAME, UID, NAMESPACE = 1, 2, 3
CONTAINER_PORT, HOST_PORT = 2, 3


def varint(number: int) -> bytes:
    rest = number >> 7
    return bytes([number & 127 | 128]) + varint(rest) if rest else bytes([number])


def message(fields: dict[int, bytes | int]) -> bytes:
    """Encode a message whose fields are numbers, texts and other messages."""
    encoded = b""
    for key, value in fields.items():
        if isinstance(value, int):
            encoded += varint(key << 3) + varint(value)
        else:
            encoded += varint(key << 3 | 2) + varint(len(value)) + value
    return encoded


def call(method: str, request: bytes) -> bytes:
    answer: bytes = grpc.insecure_channel(SOCKET).unary_unary(SERVICE + method)(request, timeout=TIMEOUT)
    return answer


def run(host_port: int) -> str:
    """Run a sandbox whose port 80 is mapped, and return its ID."""
    config = {
        METADATA: message({NAME: b"pod", UID: b"pod", NAMESPACE: b"default"}),
        LOG_DIRECTORY: b"/run/pod",
        PORT_MAPPINGS: message({CONTAINER_PORT: 80, HOST_PORT: host_port}),
        LINUX: b"",
    }
    # The answer is a message with one short text.
    return call("RunPodSandbox", message({1: message(config)}))[2:].decode()


def remove(sandbox: str) -> None:
    for method in ("StopPodSandbox", "RemovePodSandbox"):
        call(method, message({1: sandbox.encode()}))


if sys.argv[1] == "run":
    sys.stdout.write(run(int(sys.argv[2])))
else:
    remove(sys.argv[2])
