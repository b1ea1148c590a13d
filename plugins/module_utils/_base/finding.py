# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Findings: faults of a network configuration or of a node, and how errors show them."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

SCHEMA = "schema"
SPECIFICATION = "specification"
CONSISTENCY = "consistency"
NODE = "node"
FLEET = "fleet"
LEVELS = (SCHEMA, SPECIFICATION, CONSISTENCY, NODE, FLEET)

ERROR = "error"
WARNING = "warning"
INFO = "info"

# Level and severity of each finding code. The codes are part of the public interface.
CODES: t.Final[t.Mapping[str, tuple[str, str]]] = {
    "unreadable": (SCHEMA, ERROR),
    "too-large": (SCHEMA, ERROR),
    "not-json": (SCHEMA, ERROR),
    "not-yaml": (SCHEMA, ERROR),
    "wrong-file-name": (SCHEMA, ERROR),
    "config-on-node": (SCHEMA, INFO),
    "skipped-documents": (SCHEMA, INFO),
    "duplicate-key": (SCHEMA, ERROR),
    "wrong-type": (SCHEMA, ERROR),
    "missing-key": (SCHEMA, ERROR),
    "unknown-value": (SCHEMA, ERROR),
    "out-of-range": (SCHEMA, ERROR),
    "malformed-value": (SCHEMA, ERROR),
    "exclusive-keys": (SCHEMA, ERROR),
    "misspelled-key": (SCHEMA, ERROR),
    "misspelled-plugin": (SCHEMA, WARNING),
    "unknown-key": (SCHEMA, WARNING),
    "key-case": (SCHEMA, WARNING),
    "null-value": (SCHEMA, WARNING),
    "unrendered-value": (SCHEMA, WARNING),
    "invalid-name": (SPECIFICATION, ERROR),
    "unsupported-version": (SPECIFICATION, ERROR),
    "missing-version": (SPECIFICATION, WARNING),
    "invalid-plugin-type": (SPECIFICATION, ERROR),
    "invalid-configuration": (SPECIFICATION, ERROR),
    "single-plugin": (SPECIFICATION, ERROR),
    "no-plugins": (SPECIFICATION, ERROR),
    "duplicate-network": (SPECIFICATION, ERROR),
    "undeclared-capability": (SPECIFICATION, ERROR),
    "reserved-key": (SPECIFICATION, WARNING),
    "no-inlined-plugins": (SPECIFICATION, WARNING),
    "host-bits-set": (CONSISTENCY, ERROR),
    "subnet-too-small": (CONSISTENCY, ERROR),
    "range-outside-subnet": (CONSISTENCY, ERROR),
    "range-backwards": (CONSISTENCY, ERROR),
    "family-mismatch": (CONSISTENCY, ERROR),
    "gateway-outside-subnet": (CONSISTENCY, ERROR),
    "gateway-handed-out": (CONSISTENCY, ERROR),
    "ranges-overlap": (CONSISTENCY, ERROR),
    "networks-overlap": (CONSISTENCY, ERROR),
    "unusable-address": (CONSISTENCY, ERROR),
    "reserved-address": (CONSISTENCY, WARNING),
    "address-twice": (CONSISTENCY, ERROR),
    "second-gateway": (CONSISTENCY, ERROR),
    "second-range-gateway": (CONSISTENCY, WARNING),
    "route-without-path": (CONSISTENCY, ERROR),
    "route-twice": (CONSISTENCY, ERROR),
    "link-scope-gateway": (CONSISTENCY, ERROR),
    "mtu-out-of-bounds": (CONSISTENCY, ERROR),
    "addresses-removed": (CONSISTENCY, ERROR),
    "meta-plugin-first": (CONSISTENCY, ERROR),
    "plugin-not-last": (CONSISTENCY, ERROR),
    "second-interface-plugin": (CONSISTENCY, ERROR),
    "portmap-without-address": (CONSISTENCY, ERROR),
    "wrong-backend": (CONSISTENCY, ERROR),
    "port-mapped-twice": (CONSISTENCY, ERROR),
    "rate-without-burst": (CONSISTENCY, ERROR),
    "rate-out-of-bounds": (CONSISTENCY, ERROR),
    "burst-below-packet": (CONSISTENCY, WARNING),
    "ipmasq-without-route": (CONSISTENCY, WARNING),
    "missing-plugin": (NODE, ERROR),
    "broken-plugin": (NODE, ERROR),
    "incompatible-plugin": (NODE, ERROR),
    "unsafe-plugin": (NODE, ERROR),
    "writable-plugin": (NODE, WARNING),
    "missing-link": (NODE, ERROR),
    "missing-device": (NODE, WARNING),
    "mtu-above-master": (NODE, ERROR),
    "address-taken": (NODE, ERROR),
    "overlaps-route": (NODE, ERROR),
    "overlaps-network": (NODE, ERROR),
    "inside-route": (NODE, WARNING),
    "idle-bridge": (NODE, ERROR),
    "bridge-address-differs": (NODE, ERROR),
    "bridge-address-replaced": (NODE, WARNING),
    "family-switched-off": (NODE, ERROR),
    "router-ignored": (NODE, WARNING),
    "dhcp-daemon-missing": (NODE, WARNING),
    "shadowed-network": (NODE, WARNING),
    "other-file-first": (NODE, WARNING),
    "broken-file": (NODE, WARNING),
    "refused-file": (NODE, WARNING),
    "leftover-file": (NODE, WARNING),
    "set-aside-file": (NODE, WARNING),
    "unread-directory": (NODE, WARNING),
    "unsearched-plugins": (NODE, WARNING),
    "node-subnets-collide": (FLEET, ERROR),
    "network-differs": (FLEET, WARNING),
    "plugin-differs": (FLEET, WARNING),
}

_VALUE_LIMIT = 200


class Finding(t.NamedTuple):
    """A problem, or a possible problem, of a network configuration.

    Attributes:
        code: The kind of problem, a key of `CODES`, which has its level and severity.
        file: The file or other source of the configuration.
        path: JSON pointer to the value; an empty string for the whole document.
        message: One sentence that names the value.
        hint: What was expected, or what to do.
        plugin: Index and type of the plugin concerned.
        line: Line number in the text, counted from 1; None without a text.
        is_tolerated: In check mode, an earlier task may create the missing item; an error becomes a warning.
        is_unchanged: The node has this network already, and only the node has changed; an error becomes a warning.
        is_accepted: Built-in plugins accept it, and they may be those that run; an error becomes a warning.
        is_conditional: Another program may accept or complete it, or it has no effect; an error becomes a warning.
        manifest: Namespace and name of the Kubernetes manifest in the file, whose network configuration ``path`` points into.
    """

    code: str
    file: str
    path: str
    message: str
    hint: str = ""
    value: t.Any = None
    plugin: tuple[int, str] | None = None
    line: int | None = None
    is_tolerated: bool = False
    is_unchanged: bool = False
    is_accepted: bool = False
    is_conditional: bool = False
    manifest: str = ""
    nodes: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        return CODES[self.code][0]

    @property
    def severity(self) -> str:
        is_warning = self.is_tolerated or self.is_unchanged or self.is_accepted or self.is_conditional
        return WARNING if is_warning else CODES[self.code][1]

    def as_dict(self) -> JsonObject:
        """Return the finding as modules and filters return it, escaped, with long values cut."""
        escaped: JsonObject = printable.escape_all(self._as_raw_dict())
        return escaped

    def _as_raw_dict(self) -> JsonObject:
        return {
            "level": self.level,
            "severity": self.severity,
            "code": self.code,
            "file": printable.line(self.file),
            "line": self.line,
            "plugin": {"index": self.plugin[0], "type": self.plugin[1]} if self.plugin else None,
            "path": self.path,
            "value": _shorten(self.value),
            "message": self.message,
            "hint": self.hint,
            **({"manifest": self.manifest} if self.manifest else {}),
            **({"nodes": self.nodes} if self.nodes else {}),
        }

    def __str__(self) -> str:
        file = printable.line(self.file)
        place = f"{file}, line {self.line}" if self.line else file
        where = ": ".join(filter(None, (place, printable.line(self.manifest), self.path)))
        return printable.lines(f"{where}: {self.message}{f'; {self.hint}' if self.hint else ''} ({self.code})")


def errors(findings: t.Iterable[Finding], *, strict: bool = False) -> list[Finding]:
    """Return the findings that stop a run: errors, and with ``strict`` warnings too."""
    return [
        finding
        for finding in findings
        if finding.severity == ERROR or (strict and finding.severity == WARNING and not finding.is_tolerated)
    ]


def refusal(findings: t.Sequence[Finding]) -> CniError:
    """Return one error for all findings of network configurations."""
    code = (
        Code.INCOMPATIBLE_VERSION
        if {finding.code for finding in findings} == {"incompatible-plugin"}
        else Code.INVALID_CONFIG
    )
    if len(findings) == 1:
        return CniError(code, str(findings[0]))
    return CniError(code, f"{len(findings)} errors in network configurations", "\n".join(map(str, findings)))


def _shorten(value: t.Any) -> t.Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= _VALUE_LIMIT else f"{text[:_VALUE_LIMIT]}..."
