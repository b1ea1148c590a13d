# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTTP servers on the loopback interface."""

from __future__ import annotations

import contextlib
import http.server
import threading
import typing as t


@contextlib.contextmanager
def serve(handler: type[http.server.BaseHTTPRequestHandler]) -> t.Iterator[str]:
    """Answer requests with a handler until the end of the block; yield the server's address, without a slash at its end."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
