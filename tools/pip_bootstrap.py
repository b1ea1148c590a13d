# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Let ansible-test make its environments without downloading a pip installer.

ansible-test gives every sanity test a virtual environment without pip and then runs a get-pip script. It downloads
that script from one fixed host without a time limit, but many machines reach a package index only. ansible-test looks
in ~/.ansible/test/cache before it downloads, so this module puts a script of the same name there. The script installs
pip with the interpreter's own ensurepip, then the versions that ansible-test asks for from the configured index.
"""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

from tools.paths import output

# ansible_test knows the version of pip for each Python; it is not repeated here.
_ASK = """
from ansible_test._internal.host_configs import NativePythonConfig
from ansible_test._internal.python_requirements import get_venv_packages
import sys
version = "%d.%d" % sys.version_info[:2]
print(get_venv_packages(NativePythonConfig(version=version, path=sys.executable))["pip"])
"""

# Called as get-pip is: PACKAGE==VERSION ... --no-setuptools --no-wheel --disable-pip-version-check
_SCRIPT = """\
from __future__ import annotations

import subprocess
import sys


def main() -> None:
    packages = [word for word in sys.argv[1:] if not word.startswith("-")]
    # A process of its own, because ensurepip switches off pip's configuration in the process it runs in.
    ensurepip = [sys.executable, "-m", "ensurepip", "--default-pip"]
    subprocess.run(ensurepip, stdout=subprocess.DEVNULL, check=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    sys.exit(subprocess.call([*pip, *packages]))


if __name__ == "__main__":
    main()
"""


def prepare(home: Path, python: Path) -> None:
    """Prepare the home directory for an ansible-test that this interpreter runs."""
    version = output([python, "-c", _ASK]).strip()
    script = home / ".ansible" / "test" / "cache" / f"get_pip_{version.replace('.', '_')}.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_SCRIPT, encoding="utf-8")
    _carry_pip_settings(home, python)


def _carry_pip_settings(home: Path, python: Path) -> None:
    # ansible-test starts pip with an almost empty environment and another home directory, so that a mirror or a
    # certificate configured in either would be lost.
    config = configparser.RawConfigParser()
    config["global"] = {"quiet": "1"}
    for line in output([python, "-m", "pip", "config", "list"]).splitlines():
        key, _equals, value = line.partition("=")
        section, _dot, option = key.partition(".")
        section = "global" if section == ":env:" else section
        if not config.has_section(section):
            config.add_section(section)
        config.set(section, option, ast.literal_eval(value))
    target = home / ".config" / "pip" / "pip.conf"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch(mode=0o600)
    with target.open("w", encoding="utf-8") as stream:
        config.write(stream)
