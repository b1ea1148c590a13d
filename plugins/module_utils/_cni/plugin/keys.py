# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the keys of a plugin's configuration, whose types the specification and the plugin define."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import AnyCaseObject, JsonMapping, any_case, kind
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import IFNAME_RULE, is_ifname

T = t.TypeVar("T")

_EMPTY = AnyCaseObject()

# The integers that a runtime accepts in a result.
_INTEGERS = range(-(1 << 63), 1 << 63)
# The integers of the kernel's messages. Sizes of packets are signed there.
UINT8 = range(1 << 8)
UINT32 = range(1 << 32)
PACKET_SIZE = range(1 << 31)


def refuse(msg: str, details: str = "") -> CniError:
    """Return the error for a configuration or a state of the node that a plugin does not accept.

    Plugins have codes of their own from 100 on; the reference plugins use 999 for all such errors.
    """
    return CniError(Code.INTERNAL, msg, details)


def refuse_faults(faults: t.Sequence[str]) -> None:
    """Raise an error that names all faults that CHECK has found; do nothing without any."""
    if faults:
        raise refuse(faults[0], "\n".join(faults[1:]))


class Keys:
    """An object of a configuration. A key that is missing or null has its default.

    A key may be there in another case, as in Go: the exact one comes first.

    All methods raise `CniError` for a value of another type, with the JSON pointer of the key.
    """

    def __init__(self, values: JsonMapping, path: str | t.Callable[[], str] = "") -> None:
        """
        Args:
            path: JSON pointer of the object, or a function that returns it, as only errors name it.
        """
        self.values: AnyCaseObject = any_case(values)
        self._path = path

    @property
    def path(self) -> str:
        return self._path if isinstance(self._path, str) else self._path()

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        return self._get(key, str, default)

    def flag(self, key: str) -> bool:
        return self._get(key, bool, False)

    def optional_flag(self, key: str) -> bool | None:
        return self.flag(key) if key in self else None

    def integer(self, key: str, default: int = 0, within: range = _INTEGERS) -> int:
        """Return an integer.

        Args:
            within: The numbers that the kernel accepts; by default, all of 64 bits.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _type_error(self.pointer(key), value, 0)
        if not isinstance(value, int) or value not in _INTEGERS:
            raise refuse(f"{self.pointer(key)}: {value} is not a 64-bit integer")
        if value not in within:
            raise refuse(f"{self.pointer(key)}: {value} is out of range", f"expected: {within[0]} to {within[-1]}")
        return value

    def optional_integer(self, key: str, within: range = _INTEGERS) -> int | None:
        return self.integer(key, within=within) if key in self else None

    def section(self, key: str) -> Keys:
        """Return an object; one without keys if it is missing."""
        return Keys(self._get(key, dict, _EMPTY), functools.partial(self.pointer, key))

    def sections(self, key: str) -> list[Keys]:
        """Return the objects of a list."""
        pointer = self.pointer(key)
        values = enumerate(self._get(key, list, []))
        return [Keys(_expect(f"{pointer}/{index}", value, dict), f"{pointer}/{index}") for index, value in values]

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = enumerate(self._get(key, list, []))
        return [_expect(f"{self.pointer(key)}/{index}", value, str) for index, value in values]

    def link_name(self, key: str, default: str = "") -> str:
        """Return the name of a link; the default if it is missing or empty."""
        name = self.text(key) or default
        if name and not is_ifname(name):
            raise refuse(f"{self.pointer(key)}: {name!r} is not the name of a link", f"expected: {IFNAME_RULE}")
        return name

    def pointer(self, key: str) -> str:
        """Return the JSON pointer of a key as it is written."""
        return f"{self.path}/{self.values.find_key(key)}"

    def address(self, key: str) -> IpAddress | None:
        """Return an address, None if it is missing or empty."""
        return read_address(self.pointer(key), self.text(key)) if self.text(key) else None

    def interface(self, key: str) -> IpInterface | None:
        """Return an address with a prefix length, None if it is missing or empty."""
        return read_interface(self.pointer(key), self.text(key)) if self.text(key) else None

    def _get(self, key: str, expected: type[T], default: T) -> T:
        value = self.values.get(key)
        if isinstance(value, expected):
            return value
        return default if value is None else _expect(self.pointer(key), value, expected)


def read_address(where: str, text: str) -> IpAddress:
    """Return the address in a text.

    Args:
        where: Where the text stands, as the error names it.

    Raises:
        CniError: It is not an address.
    """
    address = parse_address(text)
    if address is None:
        raise refuse(f"{where}: {text!r} is not an address")
    return address


def read_interface(where: str, text: str) -> IpInterface:
    """Return the address with a prefix length in a text; arguments and errors as `read_address`."""
    interface = parse_interface(text)
    if interface is None:
        raise refuse(f"{where}: {text!r} is not an address with a prefix length", "expected: for example 10.0.0.1/24")
    return interface


def _expect(pointer: str, value: object, expected: type[T]) -> T:
    if not isinstance(value, expected):
        raise _type_error(pointer, value, expected())
    return value


def _type_error(pointer: str, value: object, example: object) -> CniError:
    return refuse(f"{pointer}: expected {kind(example)}, found {kind(value)}")
