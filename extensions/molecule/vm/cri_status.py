# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether containerd's network is ready, as a kubelet asks it; says nothing and ends with 0 if so."""

from __future__ import annotations

import sys

import grpc

SOCKET = "unix:///run/containerd/containerd.sock"
METHOD = "/runtime.v1.RuntimeService/Status"
# A condition in the answer's protocol buffer: field 1 its type, field 2 true.
READY = b"\x0a\x0cNetworkReady\x10\x01"

# The request is an empty message, and so needs no definition of the messages.
answer: bytes = grpc.insecure_channel(SOCKET).unary_unary(METHOD)(b"", timeout=10)
if READY not in answer:
    sys.exit(f"containerd's network is not ready: {answer!r}")
