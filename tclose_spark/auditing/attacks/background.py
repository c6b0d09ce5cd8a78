"""The join with a background table: what an adversary with a list of people learns about the
published table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.known_people import (
    fitting_people,
    joined_quasi,
    people_of_classes,
    records_of_classes,
)
from tclose_spark.engine.protocol import Table
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.reidentification import Risks, risks
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class MinimalityGuesses:
    """The minimality attack's guesses of one sensitive attribute.

    people: rows of the background table whose value is guessed.
    said: the share of the guessed value in the classes that these people fit.
    at_least: the share that the adversary expects, at least.
    right: the share of correct guesses; None if the background table lacks the attribute.
    """

    attribute: str
    people: int
    said: float | None
    at_least: float | None
    right: float | None


@dataclass(frozen=True, kw_only=True)
class BackgroundJoin:
    """The result of joining the published table with a background table.

    joined: the quasi-identifiers of the join.
    people: those of the background table; each row is one, unless it says whose it is.
    candidates: those that fit some class; the others are recognizably not in the published table.
    members: the minimum number recognizably in it, if the background table contains everyone who
        is.
    risks: of re-identification; only the prosecutor's if nobody fits a class.
    guesses: of the minimality attack, per sensitive attribute.
    """

    joined: tuple[str, ...]
    people: int
    candidates: int
    members: int
    risks: Risks
    guesses: tuple[MinimalityGuesses, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain values for JSON."""
        shares = {
            key: float(value) if isinstance(value, Fraction) else value
            for key, value in vars(self.risks).items()
            if key != "members"  # of classes; those of this join count people once
        }
        return {
            **vars(self),
            "joined": list(self.joined),
            "risks": shares,
            "guesses": [vars(g) for g in self.guesses],
        }


def join_background(
    classes: Table,
    background: Table,
    quasi: Sequence[JudgedQuasi],
    hierarchies: Mapping[str, Hierarchy],
    whose: Table | None = None,
) -> BackgroundJoin:
    """The join of the classes with a table of people, by the raw quasi-identifiers that it has
    under the same names.

    A person of a background table with PERSON fits a class if one of the person's rows does.
    whose: the published table with PERSON, if people are counted; the figures are then of people,
        not of records.

    Raises:
        InputError: if it has none of them, or no rows; if a label does not show which values it
            covers; or if there are more than MOST_JOINED distinct classes.
    """
    joined = joined_quasi(quasi, background)
    if not joined:
        raise InputError(
            "--background: the table has none of the quasi-identifiers; expected columns such as "
            f"{quasi[0].name!r}",
        )
    sizes = (
        records_of_classes(classes, joined) if whose is None else people_of_classes(whose, joined)
    )
    fits = fitting_people(sizes, background, joined, hierarchies, "--background")
    found = risks(fits.sizes, fits.population)
    if not fits.candidates:
        found = replace(found, journalist=None, marketer=None, presence=None)
    return BackgroundJoin(
        joined=tuple(q.name for q in joined),
        people=fits.people,
        candidates=fits.candidates,
        members=fits.members,
        risks=found,
    )
