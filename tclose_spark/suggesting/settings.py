"""The settings of a column in the run file, with remarks and questions for the reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tclose_spark.runfile.attributes import MEASURE
from tclose_spark.runfile.quantities import parse_number
from tclose_spark.suggesting.facts import ColumnFacts, least_k
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.table.far_numbers import CODES

FEW = 10  # numbers with at most this many values are taken for codes
# The same for numbers whose name says that they measure, such as classes of income.
FEW_QUANTITIES = 4
MOST_IN_SETS = 100  # values of a category that is published as sets; a larger set is hard to read
IN_PAIRS = 2  # values, then groups, of numbers with a top code
NEIGHBOURS = 4  # values, then groups, of a category with more values that has no known hierarchy
MEASURED = frozenset(["money", "finances", "measurement", "grade"])
"""Concepts of quantities, whose zeros in front are no code's."""


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """The settings and comments of a column in the run file."""

    name: str
    settings: Mapping[str, object]
    said: tuple[str, ...]


def quasi_identifier_settings(one: SuggestedColumn, taken: bool = True) -> ColumnSettings:
    """The settings of a quasi-identifier: measured numbers, dates and times become intervals, codes
    have the hierarchy of their system, and few values become sets. taken: whether the run file uses
    it, or only offers it.
    """
    facts = one.facts
    said = [_figures(one), *_remarks(one.facts)]
    settings: dict[str, object] = {"type": "categorical"}
    if _is_measured(one):
        settings = {"type": "numeric"}
    elif facts.codes.labels and not _are_codes(one):
        settings["hierarchy"] = {"order": IN_PAIRS}
    elif facts.calendar is not None:
        settings = {"type": facts.calendar}
    elif len(facts.date_formats) == 1:
        form = facts.date_formats[0]
        settings = {"type": "timestamp" if "%H" in form else "date", "date_format": form}
        if "%d" not in form:
            said.append(
                "months, each read as its first day; with hierarchy: {dates: [month, quarter, "
                "year]} labels are months",
            )
    elif facts.system is not None and facts.whole.distinct > FEW:
        settings["hierarchy"] = facts.system.hierarchy
        said.append(f"{facts.system.name}, by {facts.told_by} and the form of its values")
    elif facts.whole.distinct <= MOST_IN_SETS:
        settings["generalization"] = "set"
    else:
        settings["hierarchy"] = {"order": NEIGHBOURS}
        said.append(
            "! groups of neighbours in the order of their names; a hierarchy by meaning would say "
            "more: a CSV",
        )
    if len(facts.date_formats) > 1:
        either = " or ".join(f'"{form}"' for form in facts.date_formats)
        kind = "timestamp" if "%H" in either else "date"
        said.append(
            f"? dates as text, whose days may be months; if you know, write type: {kind}, "
            f"date_format: {either}",
        )
    elif facts.is_date and facts.calendar is None and "date_format" not in settings:
        said.append(
            "! dates as text in several forms; in one form they could have type: date and a "
            "date_format",
        )
    if taken and one.concept is not None and one.concept.either:
        said.append(
            "? known from outside, or rather sensitive? Then it belongs to sensitive_attributes",
        )
    return ColumnSettings(name=one.name, settings={**settings, **_reading(facts)}, said=tuple(said))


def sensitive_settings(one: SuggestedColumn, t: str) -> ColumnSettings:
    """The settings of a sensitive attribute: ordered if its values are measured numbers or dates,
    hierarchical if they are codes of a known system.
    """
    facts = one.facts
    settings: dict[str, object] = {"distance": "equal", "t": t}
    said = [_figures(one)]
    if _is_ordered(one):
        settings["distance"] = "ordered"
        if facts.whole.missing:
            settings["missing"] = "lowest"
            said.append("? where are its missing values in the order: missing: lowest or highest")
    elif facts.codes.labels and not _are_codes(one) and facts.distinct > FEW:
        missing = {"missing": "leaf"} if facts.whole.missing else {}
        settings = {"distance": "hierarchical", "t": t, "hierarchy": {"order": IN_PAIRS}, **missing}
    elif facts.system is not None and facts.whole.distinct > FEW:
        missing = {"missing": "leaf"} if facts.whole.missing else {}
        settings = {
            "distance": "hierarchical",
            "t": t,
            "hierarchy": facts.system.hierarchy,
            **missing,
        }
        said.append(
            f"{facts.system.name}, by {facts.told_by} and the form of its values: near codes are "
            "less different",
        )
    elif (
        facts.amounts
        and not facts.is_number
        and one.concept is not None
        and one.concept.name in MEASURED
    ):
        said.append(
            "! amounts as text (a comma, separators or a currency); as numbers they could have "
            "distance: ordered",
        )
    elif facts.are_all_numbers:
        said.append("? numbers, taken for codes; if they are in an order, write distance: ordered")
    said += [*_remarks(facts), *_certain(facts, t)]
    return ColumnSettings(name=one.name, settings={**settings, **_reading(facts)}, said=tuple(said))


def _certain(facts: ColumnFacts, t: str) -> Iterator[str]:
    """A warning if t allows a class of the most frequent value alone, whose distance is one less
    the value's share.
    """
    share_of_most = facts.most / facts.sampled
    if t != MEASURE and 1 - share_of_most <= parse_number(t):
        yield (
            f"! {share_of_most:.1%} of rows have one value: this t allows a class with this value "
            "only, which reveals it for all its rows; a smaller t, or an l such as l: {distinct: "
            "2}, prevents this"
        )


def no_settings(one: SuggestedColumn) -> ColumnSettings:
    """The entry of a column without settings."""
    said = [_figures(one), *_remarks(one.facts)]
    if one.facts.unusable not in ("", one.why):
        said.append(f"! {one.facts.unusable}")
    return ColumnSettings(name=one.name, settings={}, said=tuple(said))


def type_in_words(facts: ColumnFacts) -> str:
    """Its type in a word: that of its values, even if a file has them as text."""
    if facts.kind == "text":
        return (
            "number"
            if facts.is_number or facts.codes.labels
            else "date"
            if facts.is_date
            else "text"
        )
    return facts.kind


def _is_measured(one: SuggestedColumn) -> bool:
    """Whether its values are measured numbers: many, or an age; not codes."""
    facts = one.facts
    if not facts.is_number or _are_codes(one) or facts.system is not None:
        return False
    return facts.whole.distinct > FEW or (one.concept is not None and one.concept.name == "age")


def _are_codes(one: SuggestedColumn) -> bool:
    """Whether its numbers are codes, by its name: those of places and occupations are in no
    order.
    """
    return one.hint.codes or (one.hint.nominal and not one.facts.fractions)


def _is_ordered(one: SuggestedColumn) -> bool:
    """Whether its values are many, and in an order: measured numbers, dates or times."""
    facts = one.facts
    quantity = one.concept is not None and one.concept.name in MEASURED
    numbers = facts.is_number or (quantity and facts.are_all_numbers)
    many = min(facts.whole.distinct, facts.distinct) > (FEW_QUANTITIES if quantity else FEW)
    known = facts.system is not None and not quantity
    return many and not known and not _are_codes(one) and (numbers or facts.calendar is not None)


def _reading(facts: ColumnFacts) -> dict[str, object]:
    """How its values are read: the text options, and the codes for missing values."""
    codes = {"missing_values": list(facts.codes.rows)} if facts.codes.rows else {}
    return {**({"text": dict(facts.text)} if facts.text and facts.kind == "text" else {}), **codes}


def _figures(one: SuggestedColumn) -> str:
    facts = one.facts
    if facts.unusable and not facts.whole.present:
        return one.why  # its values are not read
    about = "about " if facts.whole.estimated else ""
    parts = [f"{about}{facts.whole.distinct:,} values", f"{share(facts.alone)} alone"]
    if facts.whole.missing:
        parts.append(f"{facts.whole.missing:,} missing")
    return f"{one.why}; {', '.join(parts)}"


def said_of_codes(facts: ColumnFacts) -> str:
    """The codes for missing values, with the share of rows of each."""
    listed = ", ".join(
        f"{code} in {share(rows / facts.sampled)}" for code, rows in facts.codes.rows.items()
    )
    return f"read as missing: {listed} of rows"


def said_of_far_numbers(facts: ColumnFacts) -> str:
    """How many rows have numbers that may be codes, and that too few people share to be named."""
    return f"{facts.codes.unnamed:,} rows have numbers far from all others"


def share(part: float) -> str:
    """A share of rows, in words.

    >>> share(0), share(0.0001), share(0.125)
    ('none', '< 0.1%', '12.5%')
    """
    return "none" if not part else "< 0.1%" if part < 0.001 else f"{part:.1%}"


def _remarks(facts: ColumnFacts) -> Iterator[str]:
    """What a reader has to check, without values of people."""
    if facts.spellings:
        cure = "the text options make them one" if facts.text else "no text option makes them one"
        yield f"{facts.spellings:,} of its values are other spellings of another; {cure}"
    if facts.placeholders:
        listed = ", ".join(
            f"{word!r} in {rows:,} rows" for word, rows in facts.placeholders.items()
        )
        yield (
            f"? may mean that it is missing: {listed}; a release takes it for a value, unless "
            "missing_values lists it"
        )
    for what, rows in facts.identifying.items():
        yield f"! {rows:,} values look like {what}"
    if facts.codes.rows:
        yield f"? {said_of_codes(facts)}; remove from missing_values what is a value"
    if facts.codes.unnamed:
        yield f"? {said_of_far_numbers(facts)}; {CODES}"
    if facts.codes.labels:
        least = least_k(facts.whole.rows)
        shared = sorted(label for label, rows in facts.codes.labels.items() if rows >= least)
        labels = ", ".join(shared) or "ranges"
        yield (
            f"? numbers, and {labels}: values of their own, in groups of neighbours. With "
            f"missing_values: {shared}, the others could be numbers"
        )
    elif (
        facts.kind == "text"
        and not facts.system
        and 0 < facts.whole.not_numbers < 0.1 * facts.whole.present
    ):
        yield (
            f"? all but {facts.whole.not_numbers:,} values are numbers; correct these, and write "
            "type: numeric"
        )
