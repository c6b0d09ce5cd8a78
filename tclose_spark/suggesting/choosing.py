"""The roles of a first run file: which of the suggested quasi-identifiers and sensitive attributes it has, and which it
leaves to the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tclose_spark.errors import InputError
from tclose_spark.suggesting.judging import NEARLY_UNIQUE, SuggestedColumn
from tclose_spark.suggesting.unique_share import explained_share
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.column_names.hints import words_of

MOST_QUASI = 8  # with more, labels are hardly informative
MOST_SENSITIVE = 2
MOST_REVEALED = 0.2  # of a quasi-identifier's entropy by insensitive columns


@dataclass(frozen=True, kw_only=True)
class ChosenRoles:
    """Every column under one role, the likeliest first.

    more_quasi, more_sensitive: further candidates, which the release leaves out and the run file lists.
    open: columns whose role neither name nor figures show; also left out.
    weights: numbers of people whom a row of a survey stands for; the run file has the first.
    """

    direct: tuple[SuggestedColumn, ...]
    quasi: tuple[SuggestedColumn, ...]
    sensitive: tuple[SuggestedColumn, ...]
    insensitive: tuple[SuggestedColumn, ...]
    more_quasi: tuple[SuggestedColumn, ...]
    more_sensitive: tuple[SuggestedColumn, ...]
    open: tuple[SuggestedColumn, ...]
    weights: tuple[SuggestedColumn, ...] = ()

    @property
    def left_out(self) -> tuple[SuggestedColumn, ...]:
        """The columns that the release leaves out, but a reader may want."""
        return (*self.more_quasi, *self.more_sensitive, *self.open)


def choose_roles(columns: Sequence[SuggestedColumn]) -> ChosenRoles:
    """The roles of a first run file.

    Raises:
        InputError: unless some column can be a quasi-identifier and another a sensitive attribute.
    """

    def of(role: str) -> list[SuggestedColumn]:
        return [one for one in columns if one.role == role]

    quasi = _one_of_each_concept_first(sorted(of("quasi"), key=_widely_known))
    sensitive = sorted(of("sensitive"), key=_harmfulness)
    spare = sorted(filter(_is_informative, of("open")), key=lambda one: -one.facts.entropy)
    if not any(map(_is_informative, sensitive)):
        either = [one for one in quasi if one.concept is not None and one.concept.either]
        ambiguous, last = (either[-1:], quasi[-1:]) if len(quasi) > 1 else ([], [])
        sensitive = [*(ambiguous or spare[:1] or last), *sensitive]
    quasi = [one for one in quasi if one not in sensitive]
    if not quasi:
        quasi = [one for one in spare if one not in sensitive][:2] or sensitive[1:2]
        sensitive = [one for one in sensitive if one not in quasi]
    if not quasi or not any(map(_is_informative, sensitive)):
        raise InputError(
            f"none of the {len(columns)} columns can be a sensitive attribute beside a quasi-identifier (direct "
            "identifiers, columns of one value and types that cannot be released are excluded)"
        )
    chosen = _most_harmful([one for one in sensitive if _is_informative(one)])
    used = {one.name for one in (*quasi, *sensitive)}
    return ChosenRoles(
        direct=tuple(of("direct")),
        quasi=tuple(quasi[:MOST_QUASI]),
        sensitive=tuple(chosen),
        insensitive=tuple(of("insensitive")),
        more_quasi=tuple(quasi[MOST_QUASI:]),
        more_sensitive=tuple(one for one in sensitive if one not in chosen),
        open=tuple(one for one in of("open") if one.name not in used),
        weights=tuple(sorted(of("weight"), key=_of_households)),
    )


def leave_out_revealing(choice: ChosenRoles, codes: Mapping[str, IntArray]) -> ChosenRoles:
    """The choice without insensitive columns that reveal much of a quasi-identifier, alone or with those before them.

    Published unchanged, they would undo the generalization. codes: by column, a number for each value of the rows.
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
    return bool({"household", "hh", "hhwt", "wgtp", "hwgt", "hweight"} & set(words_of(one.name)))


def _most_harmful(ranked: Sequence[SuggestedColumn]) -> Sequence[SuggestedColumn]:
    """The first, and the second if both names are plainly those of harmful attributes."""
    both = ranked[:MOST_SENSITIVE]
    plain = all(one.concept is not None and one.role == "sensitive" and one.concept.rank == 1 for one in both)
    return both if plain and all(one.facts.uniqueness < NEARLY_UNIQUE for one in both) else ranked[:1]


def _widely_known(one: SuggestedColumn) -> tuple[bool, int]:
    """A sort key: widely known columns first, those about other people and times last."""
    assert one.concept is not None
    return one.hint.of_others, one.concept.rank


def _one_of_each_concept_first(ranked: Sequence[SuggestedColumn]) -> list[SuggestedColumn]:
    """The first column of each concept, then the second of each, and so on."""
    seen: dict[str, int] = {}
    turns = []
    for one in ranked:
        assert one.concept is not None
        turn = seen.get(one.concept.name, 0)
        seen[one.concept.name] = turn + 1
        turns.append((one.hint.of_others, turn, one))
    return [one for _, _, one in sorted(turns, key=lambda item: item[:2])]


def _harmfulness(one: SuggestedColumn) -> tuple[bool, int, float]:
    """A sort key: harmful columns first, by name, then those of most entropy; nearly unique ones last."""
    assert one.concept is not None
    return one.facts.uniqueness >= NEARLY_UNIQUE, one.concept.rank, -one.facts.entropy


def _is_informative(one: SuggestedColumn) -> bool:
    """Whether it can be published and is informative: several values, and none that look like a person's."""
    facts = one.facts
    return bool(facts.whole.present) and not facts.unusable and not facts.identifying and facts.distinct > 1
