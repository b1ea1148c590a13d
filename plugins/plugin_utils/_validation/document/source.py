# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A network configuration to validate, and where it comes from."""

from __future__ import annotations

import dataclasses

# Bytes. The node refuses a larger file.
SIZE_LIMIT = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class NetworkManifest:
    """The manifest of a NetworkAttachmentDefinition that contains a network configuration.

    Attributes:
        label: Namespace and name, as findings name it.
        network: Its own name, which Multus gives to a network that has none.
        path: JSON pointer to the configuration in the document.
        line: The line of that key.
        written: The configuration with each of its words on the line that it has in the file.
    """

    label: str
    network: str
    path: str
    line: int | None
    written: str


@dataclasses.dataclass(frozen=True)
class Source:
    """A network configuration to validate.

    Attributes:
        file: Its name in findings.
        content: Its text.
        is_text: Whether a person has written this text, so that line numbers are useful.
        manifest: The manifest that contains it, if the file is not the configuration itself.
        is_file: Whether it is a file, such as runtimes read.
    """

    file: str
    content: bytes
    is_text: bool = True
    manifest: NetworkManifest | None = None
    is_file: bool = False

    @property
    def label(self) -> str:
        return self.manifest.label if self.manifest else ""

    @property
    def path(self) -> str:
        """The place of the whole configuration, as findings name it."""
        return self.manifest.path if self.manifest else ""

    @property
    def line(self) -> int | None:
        """The line on which the configuration begins; None without a text."""
        if self.manifest:
            return self.manifest.line
        return 1 if self.is_text else None
