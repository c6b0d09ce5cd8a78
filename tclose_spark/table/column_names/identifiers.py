"""The 18 identifiers of the HIPAA Privacy Rule (45 CFR 164.514(b)(2)(i)), in column names."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import yaml

from tclose_spark.table.column_names.hints import hint_of, words_of

OTHER = "R"


@dataclass(frozen=True, kw_only=True)
class Identifier:
    """One of the 18, and how it is looked for: see `identifiers.yaml`."""

    letter: str
    name: str
    concepts: tuple[str, ...] = ()
    words: str = ""
    patterns: tuple[str, ...] = ()
    under_rules: bool = False

    def is_in(self, column: str) -> bool:
        """Whether a column's name is that of this identifier."""
        hint = hint_of(column)
        return self.is_named(column) or (
            hint.concept is not None and hint.concept.name in self.concepts
        )

    def is_named(self, column: str) -> bool:
        """Whether one of its words is in a column's name."""
        words = set(words_of(column))
        return any(set(entry.split()) <= words for entry in self.words.split(",") if entry.strip())

    def must_go(self, column: str) -> bool:
        """Whether a column with this name may not be published. Places, dates and ages may, under
        other rules.
        """
        return not self.under_rules or self.is_named(column)


IDENTIFIERS = tuple(
    Identifier(**one)
    for one in yaml.safe_load(files(__package__).joinpath("identifiers.yaml").read_text("utf-8"))
)


def identifier_in(column: str) -> Identifier | None:
    """The identifier that a column's name stands for. R is for names that no other entry has.

    >>> [None if (one := identifier_in(name)) is None else one.letter for name in ("email", "zip", "pid", "disease")]
    ['F', 'B', 'R', None]
    """
    found = [one for one in IDENTIFIERS if one.is_in(column)]
    return min(
        found,
        key=lambda one: (one.letter == OTHER, not one.must_go(column), one.under_rules),
        default=None,
    )
