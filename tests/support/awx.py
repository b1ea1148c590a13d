# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules of AWX for playbooks, surveys and schedules, and the form in which it passes answers to a job."""

from __future__ import annotations

import os
import pathlib
import re
import typing as t

import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

_LISTS_A_PLAYBOOK = re.compile(r"^\s*-?\s*(hosts|((ansible\.builtin\.)?(include|import_playbook))):", re.MULTILINE)
_TYPES_OF_ANSWERS: dict[str, type] = {
    "text": str,
    "textarea": str,
    "password": str,
    "integer": int,
    "multiplechoice": str,
    "multiselect": list,
}
_SCHEDULE = re.compile(r"DTSTART:\d{8}T\d{6}Z RRULE:(?P<rule>\S+)")


class _Loader(yaml.SafeLoader):
    """Reads text that Ansible does not template as text."""


class _Unsafe(str):
    """Text that Ansible does not template."""


class _Dumper(yaml.SafeDumper):
    pass


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(t.cast(yaml.ScalarNode, node)))
_Dumper.add_representer(_Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def load(path: pathlib.Path) -> t.Any:
    """Return the content of a YAML file, with `!unsafe` text as text."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)


def offered_playbooks(project: pathlib.Path) -> list[str]:
    """Return the files that a job template of the project offers as playbooks, relative to the project."""
    offered = []
    for directory, _names, files in os.walk(project):
        parts = pathlib.Path(directory).relative_to(project).parts
        if {"roles", "tasks", "group_vars", "host_vars"} & set(parts) or any(part.startswith(".") for part in parts):
            continue
        paths = [pathlib.Path(directory, name) for name in files if name.endswith((".yml", ".yaml"))]
        offered += [path for path in paths if _LISTS_A_PLAYBOOK.search(path.read_text(encoding="utf-8"))]
    return sorted(str(path.relative_to(project)) for path in offered)


def survey_problems(survey: JsonObject) -> list[str]:
    """Return the reasons for which AWX refuses a survey."""
    problems = [f"{key} is not text" for key in ("name", "description") if not isinstance(survey.get(key), str)]
    questions: list[JsonObject] = survey.get("spec") or []
    variables = [question.get("variable") for question in questions]
    if not questions:
        problems.append("there are no questions")
    problems += [f"{name}: asked more than once" for name in set(variables) if variables.count(name) > 1]
    return problems + [f"{question.get('variable')}: {text}" for question in questions for text in _problems(question)]


def _problems(question: JsonObject) -> t.Iterator[str]:
    for key, kind in (("type", str), ("question_name", str), ("variable", str), ("required", bool)):
        if not isinstance(question.get(key), kind):
            yield f"{key} is not {kind.__name__}"
    if question.get("type") not in _TYPES_OF_ANSWERS:
        yield "unknown type"
        return
    if not all(isinstance(question.get(key, 0), int) for key in ("min", "max")):
        yield "min or max is not a number"
    if question["type"].startswith("multi") and not (question.get("choices") and isinstance(question["choices"], list)):
        yield "there is no list of choices"
    if "default" not in question:
        yield "there is no default, and the page of the survey requires one"
    elif question["default"] != "" and (problem := answer_problem(question, question["default"])):
        yield f"default: {problem}"


def answer_problem(question: JsonObject, answer: t.Any) -> str:
    """Return the reason for which AWX refuses an answer, or an empty string."""
    if type(answer).__name__ != _TYPES_OF_ANSWERS[question["type"]].__name__:
        return f"{answer!r} has another type than {question['type']}"
    if "choices" in question:
        chosen = answer if isinstance(answer, list) else [answer]
        return "".join(f"{choice!r} is not a choice" for choice in chosen if choice not in question["choices"])
    size = answer if isinstance(answer, int) else len(answer)
    if not question.get("min", 0) <= size <= question.get("max", size):
        return f"{answer!r} is too small or too large"
    return ""


def complete_answers(survey: JsonObject, answers: t.Mapping[str, t.Any]) -> JsonObject:
    """Return the variables that a job gets from its survey: the answers, and valid defaults for other questions.

    Raises:
        ValueError: AWX refuses an answer.
    """
    questions: list[JsonObject] = survey["spec"]
    defaults = {
        question["variable"]: question["default"]
        for question in questions
        if not answer_problem(question, question["default"])
    }
    for question in questions:
        if question["variable"] in answers and (problem := answer_problem(question, answers[question["variable"]])):
            raise ValueError(f"{question['variable']}: {problem}")
    return {**defaults, **answers}


def schedule_problems(rule: str) -> list[str]:
    """Return the reasons for which AWX refuses the rule of a schedule."""
    match = _SCHEDULE.fullmatch(rule)
    if match is None:
        return ["expected DTSTART in UTC and one RRULE"]
    parts = dict(part.split("=", 1) for part in match["rule"].split(";"))
    problems = [f"{key} is missing" for key in ("FREQ", "INTERVAL") if key not in parts]
    return problems + ["SECONDLY is not supported"] * (parts.get("FREQ") == "SECONDLY")


def extra_variables(answers: t.Mapping[str, t.Any]) -> str:
    """Return the file of extra variables of a job: all text of a survey is marked as unsafe."""
    return yaml.dump({name: _mark(answer) for name, answer in answers.items()}, Dumper=_Dumper)


def _mark(answer: t.Any) -> t.Any:
    if isinstance(answer, list):
        return [_mark(part) for part in answer]
    return _Unsafe(answer) if isinstance(answer, str) else answer
