# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the plugins' documentation as HTML into dist/docs: python -m tools.docs."""

from __future__ import annotations

import shutil
import sys

from tools.envs import NAME, NAMESPACE
from tools.paths import CACHE, ROOT, Words, run, tool

RST = CACHE / "docs"
HTML = ROOT / "dist" / "docs"


def main() -> int:
    shutil.rmtree(RST, ignore_errors=True)
    shutil.rmtree(HTML, ignore_errors=True)
    RST.mkdir(parents=True)
    plugins: Words = ["collection", "--use-current", "--squash-hierarchy", "--dest-dir", RST, f"{NAMESPACE}.{NAME}"]
    if run([tool("antsibull-docs"), *plugins]) != 0:
        return 1
    # There is no conf.py: the only settings are Ansible's extension and the name of the project.
    settings = ["-D", "extensions=sphinx_antsibull_ext", "-D", f"project={NAMESPACE}.{NAME}"]
    # References into Ansible's own documentation cannot be resolved without network; lint checks all others.
    settings += ["-D", "suppress_warnings=ref.ref"]
    return run([tool("sphinx-build"), "--quiet", "-C", *settings, "-b", "html", RST, HTML])


if __name__ == "__main__":
    sys.exit(main())
