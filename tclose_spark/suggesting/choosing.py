"""The roles of a first run file: which of the suggested quasi-identifiers and sensitive attributes
it has, and which it leaves to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.suggesting.judging import NEARLY_UNIQUE, SuggestedColumn, is_measurement
from tclose_spark.suggesting.unique_share import explained_share
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.column_names.hints import words_of_name
from tclose_spark.table.column_names.names import is_name

MOST_REVEALED = 0.2  # of a quasi-identifier's entropy by insensitive columns
# Columns beside an unknown one, and the sum of inverse distances that shows its role.
NEIGHBOURS = 4
CLEARLY = 1.0
MOST_GUESSED = 4  # quasi-identifiers where none is known
MOST_ANSWERS = 10  # values of a column that may be one of many answers
# Columns of a group: numbered ones, and others of two values.
LEAST_ALIKE = 5
LEAST_TWOFOLD = 10
# Rows with a value of another row, without which any two columns follow from each other.
LEAST_AGAIN = 20
NUMBERED = re.compile(r"(.*?[^0-9])?[0-9]+[a-z]?")


class Size(NamedTuple):
    """The most quasi-identifiers and sensitive attributes of a run file."""

    quasi: int
    sensitive: int


LARGEST = Size(12, 6)
SMALLER = (Size(12, 3), Size(8, 2), Size(8, 1))
"""What is tried if a larger release is nearly useless: each column makes all labels coarser."""


@dataclass(frozen=True, kw_only=True)
class ChosenRoles:
    """Every column under one role, the likeliest first.

    more_quasi, more_sensitive: further candidates, which the release leaves out and the run file
        lists.
    open: columns whose role neither name nor figures show; also left out.
    weights: numbers of people whom a row of a survey stands for; the run file has the first.
    groups: of other columns that are also left out, in words. See `group_alike`.
    is_guess: whether no column is known to be sensitive, and the sensitive attribute is a guess.
    are_guessed: the same of the quasi-identifiers.
    """

    direct: tuple[SuggestedColumn, ...]
    quasi: tuple[SuggestedColumn, ...]
    sensitive: tuple[SuggestedColumn, ...]
    insensitive: tuple[SuggestedColumn, ...]
    more_quasi: tuple[SuggestedColumn, ...]
    more_sensitive: tuple[SuggestedColumn, ...]
    open: tuple[SuggestedColumn, ...]
    weights: tuple[SuggestedColumn, ...] = ()
    groups: tuple[str, ...] = ()
    is_guess: bool = False
    are_guessed: bool = False

    @property
    def published(self) -> tuple[SuggestedColumn, ...]:
        """The columns that the release publishes."""
        return (*self.quasi, *self.sensitive, *self.insensitive)

    @property
    def left_out(self) -> tuple[SuggestedColumn, ...]:
        """The columns that the release leaves out, but a reader may want."""
        return (*self.more_quasi, *self.more_sensitive, *self.open)


def choose_roles(columns: Sequence[SuggestedColumn], size: Size = LARGEST) -> ChosenRoles:
    """The roles of a first run file. size: the most quasi-identifiers and sensitive attributes.

    Raises:
        InputError: unless some column can be a quasi-identifier.
    """

    def of(role: str) -> list[SuggestedColumn]:
        return [one for one in columns if one.role == role]

    groups, single = group_alike(of("open"))
    quasi = _one_of_each_concept_first(sorted(of("quasi"), key=_widely_known))
    known = [one for one in sorted(of("sensitive"), key=_harmfulness) if _is_informative(one)]
    guessed = _guess(quasi, single) if not known else None
    sensitive = known[: size.sensitive] if guessed is None else [guessed]
    known_quasi = [one for one in quasi if one is not guessed]
    quasi = (
        known_quasi
        or [one for one in single if one is not guessed and _may_be_known(one)][:MOST_GUESSED]
    )
    if not quasi:
        raise InputError(
            f"none of the {len(columns)} columns can be a quasi-identifier beside a sensitive "
            "attribute; write the run file by hand, or give descriptions of the columns "
            "(--dictionary)",
        )
    used = {one.name for one in (*quasi, *sensitive)}
    return ChosenRoles(
        direct=tuple(of("direct")),
        quasi=tuple(quasi[: size.quasi]),
        sensitive=tuple(sensitive),
        insensitive=tuple(of("insensitive")),
        more_quasi=tuple(quasi[size.quasi :]),
        more_sensitive=tuple(one for one in of("sensitive") if one not in sensitive),
        open=tuple(one for one in single if one.name not in used),
        groups=tuple(groups),
        weights=tuple(sorted(of("weight"), key=_of_households)),
        is_guess=guessed is not None,
        are_guessed=not known_quasi,
    )


def _may_be_known(one: SuggestedColumn) -> bool:
    """Whether a column has few values, so that it can be a quasi-identifier where none is known."""
    return _is_informative(one) and one.facts.whole.distinct <= MOST_ANSWERS


def _guess(
    quasi: Sequence[SuggestedColumn],
    unknown: Sequence[SuggestedColumn],
) -> SuggestedColumn | None:
    """A column that may be the sensitive attribute where none is known: a measurement, or work or
    ethnicity beside other quasi-identifiers; None if there is none. It is never a column that may
    identify someone.
    """
    nameless = [one for one in unknown if one.concept is None and _is_informative(one)]
    measured = [one for one in nameless if is_measurement(one.facts)]
    either = [
        one
        for one in quasi
        if one.concept is not None and one.concept.either and _is_informative(one)
    ]
    candidates = [
        *sorted(measured, key=lambda one: -one.facts.entropy),
        *(either[-1:] if len(quasi) > 1 else []),
    ]
    return next(iter(candidates), None)


def judge_unknown(columns: Sequence[SuggestedColumn]) -> tuple[SuggestedColumn, ...]:
    """The columns, of which an unknown one of few values among quasi-identifiers is one, too.

    Tables keep columns of one subject together, so the known columns next to it show what it is
    about.
    """
    _, single = group_alike([one for one in columns if one.role == "open" and one.concept is None])
    unknown = [one for one in single if _may_be_known(one)]
    judged = []
    for place, one in enumerate(columns):
        if one in unknown and _among_quasi(columns, place):
            one = replace(
                one,
                role="quasi",
                why="few values, among quasi-identifiers; its name does not show its role",
            )
        judged.append(one)
    return tuple(judged)


def _among_quasi(columns: Sequence[SuggestedColumn], place: int) -> bool:
    """Whether the columns near a place are quasi-identifiers rather than sensitive. Nearer ones
    count more.
    """
    speaks_for = {"quasi": 1.0, "sensitive": -1.0}
    near = range(max(0, place - NEIGHBOURS), min(len(columns), place + NEIGHBOURS + 1))
    return (
        sum(speaks_for.get(columns[i].role, 0.0) / abs(i - place) for i in near if i != place)
        > CLEARLY
    )


def without_copies(
    columns: Sequence[SuggestedColumn],
    codes: Mapping[str, IntArray],
) -> tuple[SuggestedColumn, ...]:
    """The columns, of which those that follow from another one with as many values, and it from
    them, are left out: the logarithm or the square of a measurement. The shortest name stays.

    codes: by column, a number for each value of the rows.
    """
    by_values: dict[int, list[SuggestedColumn]] = {}
    for one in sorted(columns, key=lambda one: len(one.name)):
        again = one.facts.present - one.facts.distinct
        if (
            one.role in ("quasi", "sensitive", "open")
            and one.facts.distinct > MOST_ANSWERS
            and again >= LEAST_AGAIN
        ):
            by_values.setdefault(one.facts.distinct, []).append(one)
    copies: dict[str, str] = {}
    for alike in by_values.values():
        for place, one in enumerate(alike):
            first = next(
                (other for other in alike[:place] if _is_copy(codes[one.name], codes[other.name])),
                None,
            )
            if first is not None:
                copies[one.name] = f"it follows from {first.name}, and {first.name} from it"
    return tuple(
        replace(one, role="open", why=copies.get(one.name, one.why)) if one.name in copies else one
        for one in columns
    )


def _is_copy(one: IntArray, other: IntArray) -> bool:
    """Whether each of two columns follows from the other. Both have as many values."""
    pairs = one * (int(other.max()) + 1) + other
    return len(np.unique(pairs)) == int(one.max()) + 1


def group_alike(columns: Sequence[SuggestedColumn]) -> tuple[list[str], list[SuggestedColumn]]:
    """(groups in words, the columns of no group). Columns of a group look like answers: they have
    few values and are numbered alike (`q0`, `q1`), or are many of two values.
    """
    groups: dict[str | None, list[SuggestedColumn]] = {}
    for one in columns:
        if 1 < one.facts.whole.distinct <= MOST_ANSWERS and is_name(one.name):
            numbered = NUMBERED.fullmatch(one.name)
            stem = (numbered[1] or "") if numbered else None
            groups.setdefault(
                stem if numbered or one.facts.whole.distinct == 2 else one.name,
                [],
            ).append(one)
    large = [
        group
        for stem, group in groups.items()
        if len(group) >= (LEAST_TWOFOLD if stem is None else LEAST_ALIKE)
    ]
    said = list[str]()
    grouped = {one.name for group in large for one in group}
    for group in large:
        most = max(one.facts.whole.distinct for one in group)
        ends = f"{group[0].name} to {group[-1].name}"
        values = "two values" if most == 2 else f"at most {most} values"
        said.append(f"{len(group)} columns of {values}, {ends}: answers? sensitive, or insensitive")
    return said, [one for one in columns if one.name not in grouped]


def leave_out_revealing(choice: ChosenRoles, codes: Mapping[str, IntArray]) -> ChosenRoles:
    """The choice without insensitive columns that reveal much of a quasi-identifier, alone or with
    those before them.

    Published unchanged, they would undo the generalization. codes: by column, a number for each
    value of the rows.
    """
    kept: list[SuggestedColumn] = []
    lost: list[SuggestedColumn] = []
    for one in choice.insensitive:
        by = [codes[other.name] for other in (*kept, one)]
        revealed = {quasi.name: explained_share(codes[quasi.name], by) for quasi in choice.quasi}
        most = max(revealed, key=lambda name: revealed[name])
        if revealed[most] > MOST_REVEALED:
            lost.append(replace(one, role="open", why=f"it reveals {revealed[most]:.0%} of {most}"))
        else:
            kept.append(one)
    return replace(choice, insensitive=tuple(kept), open=(*choice.open, *lost))


def _of_households(one: SuggestedColumn) -> bool:
    """A sort key: weights of persons first."""
    return bool(
        {"household", "hh", "hhwt", "wgtp", "hwgt", "hweight"}
        & set(words_of_name(one.facts.called)),
    )


def _widely_known(one: SuggestedColumn) -> tuple[bool, bool, int]:
    """A sort key: widely known columns first, those about other people and times late, unknown ones
    last.
    """
    rank = 0 if one.concept is None else one.concept.rank
    return one.concept is None, one.hint.of_others, rank


def _one_of_each_concept_first(ranked: Sequence[SuggestedColumn]) -> list[SuggestedColumn]:
    """The first column of each concept, then the second of each, and so on; unknown ones last."""
    seen: dict[str, int] = {}
    turns = []
    for one in ranked:
        concept = "" if one.concept is None else one.concept.name
        turn = seen.get(concept, 0)
        seen[concept] = turn + 1
        turns.append((one.concept is None, one.hint.of_others, turn, one))
    return [one for *_, one in sorted(turns, key=lambda item: item[:3])]


def _harmfulness(one: SuggestedColumn) -> tuple[bool, int, float]:
    """A sort key: harmful columns first, by name, then those of most entropy; nearly unique ones
    last, unless they are measurements.
    """
    assert one.concept is not None
    is_key = one.facts.uniqueness >= NEARLY_UNIQUE and not is_measurement(one.facts)
    return is_key, one.concept.rank, -one.facts.entropy


def _is_informative(one: SuggestedColumn) -> bool:
    """Whether it can be published and is informative: several values, and none that look like a
    person's.
    """
    facts = one.facts
    return (
        bool(facts.whole.present)
        and not facts.unusable
        and not facts.identifying
        and facts.distinct > 1
    )
