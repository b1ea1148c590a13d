# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel's files in a directory of the test, and a modprobe that works on them."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import kernel_module, program, sysctl

# Loading a module creates the settings below `brings/MODULE`.
MODPROBE = """\
#!/bin/sh
root={root}
echo "$@" >> "$root/modprobe.log"
mode=$1
shift
for name; do
    file=$(cat "$root/available/$name" 2>/dev/null) || {{
        echo "modprobe: FATAL: Module $name not found in directory $root/lib/modules" >&2
        exit 1
    }}
    if [ "$mode" = -D ]; then
        echo "$file"
        continue
    fi
    name=$(basename "${{file#insmod }}" .ko)
    mkdir -p "$root/sys/module/$name"
    echo live > "$root/sys/module/$name/initstate"
    if [ -d "$root/brings/$name" ]; then cp -r "$root/brings/$name/." "$root/proc/sys"; fi
done
"""


class ToyKernel:
    """A kernel without modules and settings that loads the modules that a test adds."""

    def __init__(self, root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = root
        self._release = os.uname().release
        for module, name, value in (
            (kernel_module, "_ROOT", root),
            (sysctl, "_ROOT", root / "proc/sys"),
            (program, "_SYSTEM_PATH", root / "sbin"),
        ):
            monkeypatch.setattr(module, name, str(value))
        self.write("sbin/modprobe", MODPROBE.format(root=root)).chmod(0o755)
        self.write("proc/modules", "")
        self.write("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n")
        self.write(f"lib/modules/{self._release}/modules.builtin", "")
        self.forget()

    @staticmethod
    def forget() -> None:
        """Forget the answers of the kernel that modules cache."""
        kernel_module._built_in_modules.cache_clear()
        kernel_module._configuration.cache_clear()

    def path(self, name: str) -> pathlib.Path:
        return self._root / name

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def has_on_disk(self, name: str, step: str = "") -> None:
        """Add a loadable module; `step` is the output of `modprobe -D`, by default an insmod command."""
        self.write(f"available/{name}", (step or f"insmod /lib/modules/{name}.ko") + "\n")

    def brings(self, module: str, setting: str, value: str) -> None:
        self.write(f"brings/{module}/{setting}", value + "\n")

    def has_built_in(self, *names: str) -> None:
        lines = "".join(f"kernel/net/{name}.ko\n" for name in names)
        self.write(f"lib/modules/{self._release}/modules.builtin", lines)
        self.forget()

    def has_settings(self, **values: str) -> None:
        """Add settings below net, with two underscores for each dot."""
        for key, value in values.items():
            self.write(f"proc/sys/net/{key.replace('__', '/')}", value + "\n")

    def has_no_list(self) -> None:
        """Remove the lists of built-in modules and of modules on disk."""
        self.path(f"lib/modules/{self._release}/modules.builtin").unlink()
        self.path(f"lib/modules/{self._release}").rmdir()
        self.forget()

    def setting(self, name: str) -> str:
        return self.path(f"proc/sys/{name}").read_text(encoding="utf-8").strip()

    def calls(self) -> list[str]:
        """Return the calls of modprobe."""
        log = self.path("modprobe.log")
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def loaded_modules(self) -> list[str]:
        directory = self.path("sys/module")
        return sorted(path.name for path in directory.iterdir()) if directory.exists() else []
