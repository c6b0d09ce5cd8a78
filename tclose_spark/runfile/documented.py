"""What docstrings say of the fields of a section: the one place where a field is described."""

from __future__ import annotations

import inspect
import re

from tclose_spark.runfile.section import Section

FIELD = re.compile(r"(\w+(?:, \w+)*): (.+)")


def describe(section: type[Section]) -> tuple[str, dict[str, str]]:
    """(what a section is, what each of its fields is): its docstring's first part, and its lines `field: ..`. A field
    that is inherited may be described where it comes from.

    >>> describe(Section)
    ('A part of the run file: frozen, strictly typed, without unknown keys.', {})
    """
    fields: dict[str, str] = {}
    for one in reversed(section.__mro__):
        if issubclass(one, Section):
            what, described = _parts(inspect.cleandoc(one.__doc__ or ""), set(one.model_fields))
            fields |= described
    return what, {name: text for name, text in fields.items() if name in section.model_fields}


def _parts(text: str, names: set[str]) -> tuple[str, dict[str, str]]:
    """The paragraphs before the fields in one line each, and the texts of these fields."""
    fields: dict[str, str] = {}
    current: list[str] = []
    what: list[str] = []
    for line in text.splitlines():
        match = FIELD.fullmatch(line)
        if match and set(match[1].split(", ")) <= names:
            current = match[1].split(", ")
            fields |= dict.fromkeys(current, match[2])
        elif line.startswith("    ") and current:
            fields |= {name: f"{fields[name]} {line.strip()}" for name in current}
        else:
            current = []
            what.append(line)
    paragraphs = "\n".join(what).strip().split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in paragraphs), fields
