# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names, ids and other parameters, checked before they reach a path or an environment (sections 1 and 2)."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_ALPHANUMERIC = "a letter or digit, then letters, digits, '_', '.' or '-'"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*", re.ASCII)
_IFNAME_BYTES = 15
# A record's file is named <network>-<container id>-<interface>. The engine appends ":<length>.<length>" if two attachments
# have the same file name. A file name has up to 255 bytes, and the ids of container runtimes have 64.
NETWORK_NAME_LIMIT_OF_RUNTIMES = 255 - len("-") - 64 - len("-") - _IFNAME_BYTES
NETWORK_NAME_LIMIT = NETWORK_NAME_LIMIT_OF_RUNTIMES - len(":167.64")
# The kernel takes a name with % for a template of names.
_IFNAME_FORBIDDEN = re.compile(r"[/:%\s\x00-\x1f\x7f]")
# Names of directories in /proc/sys/net/ipv4/conf that are not those of links.
_IFNAME_RESERVED = (".", "..", "all", "default")
IFNAME_RULE = (
    f"1 to {_IFNAME_BYTES} bytes, without '/', ':', '%', white space or control characters; "
    "not '.', '..', 'all' or 'default'"
)
# The kernel's limit for one variable is 128 KiB, its name and the final NUL included.
_ARGS_BYTES = 128 * 1024 - len("CNI_ARGS=")
_ARGS_FORBIDDEN = re.compile(r"[;=\x00]")


def check_network_name(name: object, where: str = "network") -> str:
    """Return a network name if it is valid (section 1, "Configuration format").

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    return _check(_NAME, name, Code.INVALID_CONFIG, where, "a network name", _ALPHANUMERIC)


def check_container_id(container_id: object) -> str:
    """Return a container id if it is valid (section 2, "Parameters").

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    return _check(_NAME, container_id, Code.INVALID_ENVIRONMENT, "CNI_CONTAINERID", "a container id", _ALPHANUMERIC)


def is_name(text: str) -> bool:
    """Return whether a text is a valid network name or container id."""
    return bool(_NAME.fullmatch(text))


def check_ifname(ifname: object) -> str:
    """Return an interface name if the kernel accepts it.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if not isinstance(ifname, str) or not is_ifname(ifname):
        raise _invalid(Code.INVALID_ENVIRONMENT, "CNI_IFNAME", ifname, "an interface name", IFNAME_RULE)
    return ifname


def is_ifname(text: str) -> bool:
    """Return whether the kernel accepts a text as an interface name."""
    valid = text not in _IFNAME_RESERVED and not _IFNAME_FORBIDDEN.search(text)
    return valid and 0 < _bytes_of(text) <= _IFNAME_BYTES


def check_netns(netns: object) -> str:
    """Return the path of a network namespace if it is valid. The path may be empty for DEL.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if not isinstance(netns, str) or "\0" in netns or (netns and (netns[0] != "/" or not _bytes_of(netns))):
        raise _invalid(Code.INVALID_ENVIRONMENT, "CNI_NETNS", netns, "a network namespace", "an absolute path")
    return netns


def check_plugin_type(plugin_type: object, where: str) -> str:
    """Return a plugin's ``type`` if it is a plain file name, so that it cannot leave the plugin directory.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    if (
        not isinstance(plugin_type, str)
        or plugin_type in ("", ".", "..")
        or re.search(r"[/\\\x00-\x1f\x7f]", plugin_type)
        or not plugin_type.isprintable()
    ):
        rule = "the name of the plugin's executable, without '/', '\\' or control characters"
        raise _invalid(Code.INVALID_CONFIG, where, plugin_type, "a plugin type", rule)
    return plugin_type


def check_args(args: t.Mapping[str, str]) -> None:
    """Refuse CNI_ARGS with separators, which the variable cannot escape, and CNI_ARGS that are too long.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    for key, value in args.items():
        is_valid_key = bool(key) and _is_plain(key)
        if not is_valid_key or not _is_plain(value):
            raise CniError(
                Code.INVALID_ENVIRONMENT,
                # The value may be a secret.
                f"CNI_ARGS: {key!r} is not a valid key"
                if not is_valid_key
                else f"CNI_ARGS: the value of {key!r} is not valid",
                "expected: strings without ';' and '=', the key not empty",
            )
    length = sum(_bytes_of(key) + _bytes_of(value) + len("=;") for key, value in args.items())
    if length > _ARGS_BYTES:
        what = f"CNI_ARGS: the arguments have {length} bytes, too many for an environment variable"
        raise CniError(Code.INVALID_ENVIRONMENT, what, f"expected: at most {_ARGS_BYTES} bytes")


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and not _ARGS_FORBIDDEN.search(text) and bool(_bytes_of(text) or not text)


def _bytes_of(text: object) -> int:
    """Return the length of a text in UTF-8; 0 if it has unpaired surrogates."""
    try:
        return len(str(text).encode("utf-8"))
    except UnicodeEncodeError:
        return 0


def _check(pattern: re.Pattern[str], value: object, code: Code, where: str, what: str, rule: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _invalid(code, where, value, what, rule)
    return value


def _invalid(code: Code, where: str, value: object, what: str, rule: str) -> CniError:
    shown = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return CniError(code, f"{where}: {shown} is not {what}", f"expected: {rule}")
