"""Errors of a run file: pydantic's findings in terms of the run file, with the line of each key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tclose_spark.runfile.combinations import REFUSED
from tclose_spark.runfile.text import first_few, meant

# Steps into a type, no keys.
INSIDE_TYPES = (
    "literal[",
    "tuple[",
    "function-",
    "constrained-",
    "lax-or-strict[",
    "tagged[",
)
MOST_SHOWN = 80  # characters of a value

EXPECTED = {
    "string_type": "a text (numbers, dates, true and false are texts in quotes only)",
    "string_too_short": "a text that is not empty",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of less than 4,300 digits",
    "bool_type": "true or false",
    "dict_type": "a section, with a line `key: value` for each of its keys",
    "model_type": "a section, with a line `key: value` for each of its keys",
    "model_attributes_type": "a section, with a line `key: value` for each of its keys",
    "tuple_type": "a list, such as [a, b]",
}
QUOTED = {"int_type": r"[+-]?\d+", "bool_type": "true|false"}
"""Texts that would be right without quotes, by the kind of problem."""


def explain_problems(
    error: ValidationError,
    known_keys: Collection[str],
    method: str | None = None,
    section: str = "",
) -> str:
    """A line per problem: the key, what was found as YAML writes it, what was expected. method: the
    method that the run file names. section: what keys begin with.
    """
    expectations: dict[str, dict[str, None]] = {}
    for problem in error.errors():
        below, begin, expected = _problem(problem, known_keys, method)
        key = ".".join(filter(None, (section, below)))
        expectations.setdefault(f"{key}: {begin}" if key else begin, {})[expected] = None
    return "\n".join(begin + ", or ".join(expected) for begin, expected in expectations.items())


def _problem(
    problem: ErrorDetails,
    known_keys: Collection[str],
    method: str | None,
) -> tuple[str, str, str]:
    """(key, what was found, what was expected) of one of pydantic's problems."""
    kind = problem["type"]
    context = problem.get("ctx", {})
    loc = [str(step) for step in problem["loc"]]
    # The place of an unknown key, which may look like a type.
    unknown = len(loc) - (kind == "extra_forbidden")
    steps = [step for step in loc[:unknown] if not step.startswith(INSIDE_TYPES)] + loc[unknown:]
    key = ".".join(steps)
    begin = f"found {written(problem['input'])}; expected "
    if steps[-1:] == ["[key]"]:
        return (
            ".".join(steps[:-2]),
            begin.replace("found", "found the key", 1),
            EXPECTED.get(kind, problem["msg"]),
        )
    if kind == "extra_forbidden":
        return key, _unknown(steps, method if steps[0] == "method" else None, known_keys), ""
    if kind == "missing":
        return key, "missing; this key is required", ""
    if kind == "union_tag_invalid":
        return (
            f"{key}.name",
            f"found {context['tag']!r}; {_expected(context['tag'], context['expected_tags'])}",
            "",
        )
    if kind == "invalid_key":
        found = written(problem["input"])
        return (
            key,
            f"found the key {found}; expected a text (write 0.2 with a point: a comma ends a "
            "value)",
            "",
        )
    if kind == REFUSED:
        keys = first_few([".".join([*steps, name]) for name in context["keys"]])
        return (
            (keys, context["text"], "")
            if keys
            else (key, begin.removesuffix("expected ") + context["text"], "")
        )
    if kind == "value_error":
        text = str(context["error"])
        return (
            key,
            text
            if isinstance(problem["input"], dict | BaseModel) and not text.startswith("expected")
            else begin[: -len("expected ")] + text,
            "",
        )
    if kind == "literal_error":
        question = _question(problem["input"], context["expected"])
        return key, begin, context["expected"] + (f"; {question}" if question else "")
    if kind == "greater_than_equal":
        return key, begin, f"{context['ge']:,} or more"
    if kind == "too_short":
        return (
            key,
            begin,
            f"at least {'one' if context['min_length'] == 1 else context['min_length']}",
        )
    if kind == "less_than_equal":
        return key, begin, f"{context['le']:,} or less"
    expected = EXPECTED.get(kind) or problem["msg"].removeprefix("Input should be ")
    if (
        kind in QUOTED
        and isinstance(problem["input"], str)
        and re.fullmatch(QUOTED[kind], problem["input"])
    ):
        return key, begin, f"{problem['input']} without quotes"
    return key, begin, expected


def _expected(found: Any, expected: str) -> str:
    """What was expected, and which of it may be what was meant. expected: names in quotes."""
    question = _question(found, expected)
    return f"expected {expected}{f'; {question}' if question else ''}"


def _question(found: Any, expected: str) -> str:
    return meant(str(found), re.findall("'([^']*)'", expected))


def _unknown(steps: list[str], method: str | None, known_keys: Collection[str]) -> str:
    similar = difflib.get_close_matches(steps[-1], sorted(known_keys), n=1)
    if similar and similar != steps[-1:]:
        return f"unknown key; did you mean {similar[0]!r}?"
    if method:
        return f"unknown key; it is no setting of {method}, see docs/methods/index.md"
    return (
        f"unknown key; {'it belongs elsewhere, ' if similar else ''}see docs/reference/run_file.md"
    )


def written(value: Any) -> str:
    """A value as YAML writes it in a line: true, null, 2.5, [1, 2]; texts in quotes. Long values
    are cut.
    """
    text = (
        repr(value)
        if isinstance(value, str)
        else yaml.dump(_plain(value), Dumper=_Dumper, default_flow_style=True, width=10**6)
    )
    text = text.removesuffix("\n").removesuffix("\n...")
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}.."


class _Dumper(yaml.SafeDumper):
    """Writes numbers with their original digits."""


_Dumper.add_multi_representer(
    object,
    lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:float", str(value)),
)


def _plain(value: Any) -> Any:
    """The value with lists instead of tuples."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Lines:
    """The lines of a run file's keys.

    file: its path as given.
    of: the line of each key from 1, by the key's steps joined with dots; None for keys that `--set`
        gives.
    """

    file: str = ""
    of: Mapping[str, int | None] = field(default_factory=dict)

    @staticmethod
    def read(text: str, file: str) -> Lines:
        r"""The lines of a run file that is valid YAML.

        >>> Lines.read("privacy:\n  k: 1\n", "my.yaml").of
        {'privacy': 1, 'privacy.k': 2}
        """
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return Lines(file, {} if root is None else dict(_lines(root, ())))

    def without(self, assignments: Iterable[str]) -> Lines:
        """The lines without those of keys that `key.path=value` overrides set."""
        given = [assignment.partition("=")[0] for assignment in assignments]
        kept = {
            key: line
            for key, line in self.of.items()
            if not any(key.startswith(f"{path}.") for path in given)
        }
        return Lines(self.file, {**kept, **dict.fromkeys(given)})

    def line_of(self, message: str) -> int | None:
        """The line of the key that a message begins with, or of the section that lacks the key."""
        found = ""
        for key in self.of:
            if (
                len(key) > len(found)
                and message.startswith(key)
                and not _goes_on(message[len(key) :])
            ):
                found = key
        return self.of.get(found)

    def with_lines(self, message: str) -> str:
        r"""A message of one or more errors, a line each, with file and line of their keys, in file
        order.

        >>> lines = Lines.read("name: a\nprivacy:\n  k: 1\n", "my.yaml")
        >>> print(lines.with_lines("privacy.k: found 1; expected 2 or more\nname: found 'a'"))
        my.yaml, line 1: name: found 'a'
        my.yaml, line 3: privacy.k: found 1; expected 2 or more
        """
        placed = [(self.line_of(line), line) for line in message.split("\n")]
        if all(line is not None for line, _ in placed):
            placed.sort(key=lambda one: one[0] or 0)
        return "\n".join(
            text if line is None else f"{self.file}, line {line}: {text}" for line, text in placed
        )


def _lines(node: yaml.Node, steps: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*steps, str(key.value))
            yield ".".join(below), key.start_mark.line + 1
            yield from _lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for place, part in enumerate(node.value):
            yield ".".join((*steps, str(place))), part.start_mark.line + 1


def _goes_on(rest: str) -> bool:
    """Whether the key continues beyond what was matched: `privacy.k` does not match `privacy.kk:
    ..`.
    """
    return bool(rest) and (rest[0].isalnum() or rest[0] in "_-")
