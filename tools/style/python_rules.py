# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for Python files: how files and docstrings begin, how functions are called, which phrases texts avoid.

The name of a test is a sentence: it states a rule and its subject.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import typing as t

from tools.style import phrases


class Violation(t.NamedTuple):
    """A broken rule, by its line, counted from 1."""

    line: int
    rule: str
    text: str


Function = t.Union[ast.FunctionDef, ast.AsyncFunctionDef]

# Words that a docstring does not begin with, whatever it describes.
BANNED_OPENINGS = ("Tell", "Say", "Have", "What", "That", "Whoever", "Nobody")
_NO_VERBS = """
The A An Every Each All One Whether Which How Where Why When Who It Its This These Those Any Only Both By As Of For With
In On Some Another No Nothing None
"""
NO_VERBS = frozenset(_NO_VERBS.split())
_THIRD_PERSON = re.compile(r"[A-Z][a-z]+[^s\W]s")
# Participles that are not part of a term, as `recorded` and `expected` are: `_asked()` is `_ask_version()`.
_PARTICIPLES = """
advised answered asked awaited brought called claimed done failed found given gone held heard kept lacking left looked
made met named noted refused said seen settled shown spoken started taken thought told wanted weighed written
"""
PARTICIPLES = frozenset(_PARTICIPLES.split())
# Verbs and nouns that end like a participle.
_NO_PARTICIPLES = """
bring ping need feed seed speed embed exceed succeed proceed shed
finding listing mapping setting timing warning string everything nothing
"""
NO_PARTICIPLES = frozenset(_NO_PARTICIPLES.split())


# Words of the names of tests that leave the subject or the rule open, with what to write in their place.
TEST_NAMES = {
    re.compile(r"_(nobody|somebody|anybody|everybody|whoever)(?=_|$)"): "name the person or program",
    re.compile(r"_(is|are|has|have)_(none(?=_|$)|nothing$)"): "say what is missing",
    re.compile(r"(?<!_there)_(is|are)_no_(?!longer_)"): "write `is not a`",
    re.compile(r"_(is|are)_(that|those)_of_"): "write `belongs to` or `comes from`, or name the noun again",
    re.compile(r"_(put|take)_back(?=_|$)"): "write `repair` or `undo`",
}
TEST_NAME_WORDS = 3


def check(source: str, *, product: bool, participles: bool = True) -> t.Iterator[Violation]:
    """Check one file.

    Args:
        product: Whether to check string literals, the first line of the file and `__all__`, too.
        participles: Whether no name of a function may be a participle.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _check_name(node, participles)
            yield from _check_test_name(node)
            yield from _check_function_docstring(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            yield from _check_docstring(node)
    if product:
        yield from _check_introduction(tree)
        yield from _check_exports(tree)
    for line, text in (*_comments(source), *_strings(tree, product)):
        for place in phrases.find_phrases(text):
            yield Violation(line + place.line, "phrase", f"{place.phrase!r}: {phrases.PHRASES[place.phrase]}")


def _check_introduction(tree: ast.Module) -> t.Iterator[Violation]:
    """Check that a file says in one line what it is; that of a module or filter is its `short_description`."""
    if any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION" for node in tree.body):
        return
    first = (ast.get_docstring(tree) or "").partition("\n")
    if tree.body and (not first[0].endswith(".") or first[2][:1] not in ("", "\n")):
        yield Violation(1, "introduction", "begin the file with a docstring whose first line says what it is")


def _check_exports(tree: ast.Module) -> t.Iterator[Violation]:
    """Check that no names are listed for a star import, which no file has: a private name begins with an underscore."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            yield Violation(node.lineno, "exports", "remove `__all__`: begin private names with an underscore")


def _check_name(function: Function, participles: bool) -> t.Iterator[Violation]:
    name = function.name.strip("_")
    if name == "of" or (participles and name.startswith("of_") and not _is_decorated(function, "classmethod")):
        yield Violation(function.lineno, "method-name", f"`{function.name}` is not a verb: name what it does")
    if _is_decorated(function, "property", "cached_property", "setter", "fixture"):
        return
    if name.split("_")[0] in PARTICIPLES or (participles and _is_participle(name)):
        yield Violation(function.lineno, "participle-name", f"`{function.name}`: begin with a verb in the imperative")


def _check_test_name(function: Function) -> t.Iterator[Violation]:
    if not function.name.startswith("test_"):
        return
    if len(function.name.split("_")) <= TEST_NAME_WORDS:
        yield Violation(function.lineno, "test-name", f"`{function.name}`: state the rule and its subject")
    for pattern, remedy in TEST_NAMES.items():
        match = pattern.search(function.name)
        if match:
            yield Violation(function.lineno, "test-name", f"`{function.name}`, {match[0].strip('_')!r}: {remedy}")


def _is_participle(name: str) -> bool:
    return re.fullmatch(r"[a-z]{2,}(ed|ing)", name) is not None and name not in NO_PARTICIPLES


def _check_docstring(node: Function | ast.ClassDef | ast.Module) -> t.Iterator[Violation]:
    opening = _opening(node)
    if opening in BANNED_OPENINGS:
        yield Violation(_docstring_line(node), "docstring-opening", f"a docstring does not begin with {opening!r}")


def _check_function_docstring(function: Function) -> t.Iterator[Violation]:
    docstring, opening = ast.get_docstring(function), _opening(function)
    if not docstring or opening in BANNED_OPENINGS:
        return
    line = _docstring_line(function)
    if _returns_bool(function):
        if "return whether " not in " ".join(docstring.split("\n\n")[0].split()).lower():
            yield Violation(line, "bool-docstring", "the docstring of a bool function says `Return whether ...`")
    elif not _is_noun(function) and _is_no_order(opening):
        yield Violation(line, "imperative", f"{opening!r}: begin with a verb in the imperative")


def _is_noun(function: Function) -> bool:
    """Return whether the docstring of a function may describe it: tests, fixtures and properties are not orders."""
    return function.name.startswith("test_") or _is_decorated(function, "property", "cached_property", "fixture")


def _opening(node: Function | ast.ClassDef | ast.Module) -> str:
    words = (ast.get_docstring(node) or "").split()
    return words[0].rstrip(",.;") if words else ""


def _docstring_line(node: Function | ast.ClassDef | ast.Module) -> int:
    return node.body[0].lineno


def _returns_bool(function: Function) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "bool"


def _is_no_order(word: str) -> bool:
    return word in NO_VERBS or _THIRD_PERSON.fullmatch(word) is not None


def _is_decorated(function: Function, *names: str) -> bool:
    decorators = (ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in function.decorator_list)
    return any(decorator in names for decorator in decorators)


def _comments(source: str) -> t.Iterator[tuple[int, str]]:
    """Yield each block of comments on lines that follow each other, with its first line."""
    first = 0
    block: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if first + len(block) != token.start[0]:
            yield first, "\n".join(block)
            first, block = token.start[0], []
        block.append(token.string.lstrip("# "))
    yield first, "\n".join(block)


def _strings(tree: ast.Module, product: bool) -> t.Iterator[tuple[int, str]]:
    """Yield docstrings, and the other literals of the product with more than one word."""
    nodes = list(ast.walk(tree))
    docstrings = {id(node) for node in map(_docstring_node, nodes) if node}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and product:
            yield node.lineno, "".join(map(_literal, node.values))
        elif isinstance(node, ast.Constant) and id(node) not in parts and (product or id(node) in docstrings):
            yield node.lineno, _literal(node)


def _docstring_node(node: ast.AST) -> ast.Constant | None:
    body = getattr(node, "body", None)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)) or not body:
        return None
    value = body[0].value if isinstance(body[0], ast.Expr) else None
    return value if isinstance(value, ast.Constant) else None


def _literal(part: ast.expr) -> str:
    """Return the text of a literal, or {} for a value or a single word, which may be a name such as the user `nobody`."""
    text = part.value if isinstance(part, ast.Constant) else "{}"
    return text if isinstance(text, str) and " " in text else "{}"
