# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check words and names: python -m tools.style [PATH...].

Each line of the output is `path:line: rule: text`. Without a path, every file of the collection is checked.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import typing as t
from pathlib import Path

from tools import tree
from tools.paths import ROOT
from tools.style import phrases, python_rules
from tools.style.python_rules import Violation

# Files that the check leaves out, with the reason.
EXEMPT = {
    "tools/style/p*.py": "holds the words that the check looks for",
    "tests/unit/tools/test_style.py": "shows each rule failing",
    "tests/corpus/*": "network configurations as users and other projects write them",
    ".*": "settings of other programs",
    "COPYING": "the text of the licence",
    "LICENSES/*": "the text of the licence",
    "changelogs/changelog.yaml": "generated from the fragments",
    "CHANGELOG.md": "generated from the fragments",
}
# Files whose functions may still have participles as names.
PARTICIPLES = (
    "tests/bench/*",
    "tests/controller/*",
    "tests/fleet/*",
    "tests/integration/ansible/*",
    "tests/integration/engine/engine_node.py",
    "tests/support/callbacks/*",
    "tests/support/sandbox.py",
)
_TEXTS = (".yml", ".yaml", ".json", ".j2", ".html", ".go")


def check_file(path: Path, source: str) -> list[Violation]:
    """Check a file of the collection, by its path from the root."""
    if path.suffix == ".py" or source.startswith("#!/usr/bin/env python"):
        is_lenient = any(fnmatch.fnmatch(str(path), pattern) for pattern in PARTICIPLES)
        is_product = path.parts[0] in ("plugins", "tools")
        violations = python_rules.check(source, product=is_product, participles=not is_lenient)
    elif path.suffix == ".md":
        violations = _check_text(phrases.without_code(source))
    elif path.suffix in _TEXTS or path.name == "Makefile" or source.startswith("#!"):
        violations = _check_text(source)
    else:
        return []
    return sorted(violations)


def _check_text(text: str) -> t.Iterator[Violation]:
    for line, phrase in phrases.find_phrases(text):
        yield Violation(line + 1, "phrase", f"{phrase!r}: {phrases.PHRASES[phrase]}")


def select(files: t.Iterable[Path], paths: t.Sequence[Path]) -> list[Path]:
    """Return the files at or below the paths (by default all files), without exempt files."""
    chosen = [file for file in files if not paths or any(path in (file, *file.parents) for path in paths)]
    return [file for file in chosen if not any(fnmatch.fnmatch(str(file), pattern) for pattern in EXEMPT)]


def main(arguments: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.style", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and directories, from the root of the tree")
    paths = [Path(path) for path in parser.parse_args(arguments).paths if path != "."]
    missing = [str(path) for path in paths if not (ROOT / path).exists()]
    if missing:
        parser.error(f"no such file or directory below {ROOT}: {', '.join(missing)}")
    count = 0
    for file in select(tree.files(), paths):
        if not (ROOT / file).is_symlink():
            for violation in check_file(file, (ROOT / file).read_text(encoding="utf-8", errors="replace")):
                count += 1
                print(f"{file}:{violation.line}: {violation.rule}: {violation.text}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
