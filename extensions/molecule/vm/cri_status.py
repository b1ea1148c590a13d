# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Query containerd's status as a kubelet does; fail with its answer if no network, or not the named one, is ready."""

from __future__ import annotations

import sys

import grpc

SOCKET = "unix:///run/containerd/containerd.sock"
METHOD = "/runtime.v1.RuntimeService/Status"
# A condition in the protocol buffer of the answer: field 1 is its type, field 2 is true.
READY = b"\x0a\x0cNetworkReady\x10\x01"

# The request is an empty message, which needs no definition.
# With details, which name each network.
VERBOSE = b"\x08\x01"

answer: bytes = grpc.insecure_channel(SOCKET).unary_unary(METHOD)(VERBOSE, timeout=10)
if READY not in answer or not all(f'"Name":"{name}"'.encode() in answer for name in sys.argv[1:]):
    sys.exit(f"containerd's network is not ready: {answer!r}")
