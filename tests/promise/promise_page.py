"""The sentences of the promise and its limits, and the tests that hold the project to them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
LIMITS = DOCS / "limits.md"
WHOLE = (DOCS / "promise.md", LIMITS)
"""Pages of which each sentence is held by a test, or explains."""
PARTS = tuple(
    DOCS / f"{name}.md"
    for name in (
        *(
            "commands/verify",
            "every_month",
            "forms",
            "inputs",
            "methods/microaggregation",
            "methods/overlap_none",
        ),
        *(
            "methods/t_mondrian",
            "notes/proof",
            "people",
            "population",
            "profiles",
            "reference/files",
            "reports",
        ),
    )
)
"""Pages with some sentences that tests hold."""
EXPLANATIONS = HERE / "explanations.txt"
"""Sentences of WHOLE that define, explain or advise: one a line, by their first words."""
Test = TypeVar("Test", bound=Callable[..., object])


def promises(*sentences: str) -> Callable[[Test], Test]:
    """Marks the test of these sentences, each given by words that it begins with, or by all
    of it.
    """
    return lambda test: test


def sentences_of(text: str) -> list[str]:
    """The sentences of a page in Markdown, also of cells of its tables that end with a full stop:
    headings, other cells and emphasis left out, white space collapsed.

    >>> sentences_of("# A page\\n- **Truth.** Every label\\n  covers it. None is lost.\\n\\n| t | It holds. |")
    ['Truth.', 'Every label covers it.', 'None is lost.', 'It holds.']
    """
    found = []
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|\|)", line)]
    blocks = re.split(r"\n(?=\s*(?:- |\n))", "\n".join(["", *lines]))
    for block in (*blocks, *(cell for cell in cells_of(text) if cell.endswith("."))):
        plain = re.sub(r"\]\([^)]*\)|\[|\]|\*\*", "", re.sub(r"^\s*- ", "", block))
        plain = re.sub(
            r"(?<=[ (])\*(?=\w)|(?<=\w)\*(?=[ .,:])",
            "",
            re.sub(r"\s+", " ", plain),
        ).strip()
        found += re.split(r"(?<=[.!?:])\s+(?=[A-Z`\"])", plain) if plain else []
    return found


def cells_of(text: str) -> list[str]:
    """The cells of a page's tables."""
    rows = [line.strip().strip("|") for line in text.splitlines() if re.match(r"\s*\|", line)]
    return [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]


@cache
def claimed() -> dict[str, str]:
    """By what `promises` was given, the name of the test."""
    found = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "promises":
                    for argument in mark.args:
                        found[ast.literal_eval(argument)] = f"{path.name}::{node.name}"  # type: ignore[attr-defined]
    return found


@cache
def explanations() -> list[str]:
    return [line for line in EXPLANATIONS.read_text(encoding="utf-8").splitlines() if line]
