"""Warnings about a raw table and about what a release reveals. No sentence holds a raw value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tclose_spark.io.run_state import SubjectsRecord
from tclose_spark.measures.loss.information_loss import loses_most
from tclose_spark.runfile.attributes import Attributes, SensitiveAttribute
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.runfile.text import count_spellings, first_few
from tclose_spark.table.columns.spark_types import MALFORMED
from tclose_spark.table.domains import Profile, Repetition, SensitiveDomain
from tclose_spark.table.entities.wording import UNPUBLISHED, SubjectsWords, rounded
from tclose_spark.table.far_numbers import CODES, FarNumbers, ends, far_numbers

NEARLY_UNIQUE = 0.5  # distinct values a row from which a column is taken to point at people
MOST_ERROR = 0.5  # of the median count, above which a release is nearly useless
LITTLE = 0.1  # information loss that does not explain such an error
LEAVE_OUT = "leave it out, or make it finer"
FEW_PUBLISHED = 1 / 3  # of the columns that identify nobody, below which a release is noted
MOST_LEFT_OUT = 20  # columns that a note names
MOST_SHOWN = 5  # values of a list in the run file


def profile_warnings(profile: Profile, spec: ReleaseSpec) -> tuple[str, ...]:
    """Warnings about a table that may still be released. Each sentence names a column and a
    count.
    """
    sentences = [
        f"quasi-identifier {domain.name!r}: {_spellings(domain.spellings, domain.present)}"
        for domain in profile.quasi
        if domain.spellings
    ]
    for one in profile.far:
        said = one.said(profile.rows, spec.privacy.k)
        sentences.append(
            f"quasi-identifier {one.column!r}: {said}, so its loss will look small; {CODES}",
        )
    for domain in profile.sensitive:
        settings = spec.attributes.sensitive_attributes[domain.name]
        details = _of_sensitive(domain, settings, profile.rows, not spec.release.is_plain)
        if (
            settings.distance == "ordered"
            and settings.order == "value"
            and (far := _far_values(domain))
        ):
            details.append(f": {far.briefly(profile.rows, spec.privacy.k)}; {CODES}")
        sentences += [f"sensitive attribute {domain.name!r}{sentence}" for sentence in details]
    sentences += _grouping_quasi(profile, spec.attributes)
    sentences += map(
        repetition_warning if profile.people is None else spelling_warning,
        profile.repeated,
    )
    for step in spec.attributes.rounded.values() if profile.rounded_away else ():
        sentences.append(
            f"attributes.weight.round_to: in {profile.rounded_away:,} of {profile.rows:,} rows the "
            f"weight is above 0 and published as 0, because it is at most half of {float(step):g}; "
            "use a smaller round_to",
        )
    return tuple(sentences)


def subjects_notes(profile: Profile, attributes: Attributes) -> SubjectsRecord:
    """The notes on whom rows are about, unless people are counted or each row is stated to be a
    person: `internal`, and `public` without the names of unpublished columns.
    """
    if "person" in attributes.owners or attributes.rows_are_persons:
        return SubjectsRecord(internal=[], public=[])
    published = {
        *attributes.quasi_identifiers,
        *attributes.sensitive_attributes,
        *attributes.insensitive,
    }
    has_households = "household" in attributes.owners
    of_published = SubjectsWords(remedies=None, named=published)
    return SubjectsRecord(
        internal=[*SubjectsWords().notes(profile.subjects, has_households)],
        public=[*of_published.notes(profile.subjects, has_households)],
    )


def _grouping_quasi(profile: Profile, attributes: Attributes) -> Iterator[str]:
    """Notes on quasi-identifiers that group rows like persons, without the one of
    `subjects_notes`.
    """
    first = None if "person" in attributes.owners else profile.subjects.first("person")
    for found in profile.subjects.entities:
        (column, *others) = found.columns
        if (
            found.kind == "person"
            and not others
            and column in attributes.quasi_identifiers
            and found != first
        ):
            yield (
                f"quasi-identifier {column!r} groups rows like persons (about "
                f"{rounded(found.values)} values with {rounded(found.rows_each)} rows each); a "
                "person's number has no class of others: leave it out"
            )


def coverage_warnings(columns: Sequence[str], attributes: Attributes) -> Iterator[str]:
    """A warning if a release publishes few columns of its input: its loss is of these alone. It is
    internal, because it names the columns that are left out. columns: of the input.
    """
    published = {
        *attributes.quasi_identifiers,
        *attributes.sensitive_attributes,
        *attributes.insensitive,
    }
    identifiers = {
        *attributes.direct_identifiers,
        *attributes.pseudonyms,
        *attributes.beside_rows.values(),
    }
    left_out = [
        name for name in columns if name not in published | identifiers and name != MALFORMED
    ]
    if left_out and len(published) < FEW_PUBLISHED * (len(published) + len(left_out)):
        yield (
            f"published {len(published)} of {len(columns)} columns, and the information loss is of "
            f"these alone; left out: {first_few(left_out, MOST_LEFT_OUT)}"
        )


def certified_warnings(profile: Profile) -> list[str]:
    """Those of them that the certificate has, too, without names of columns that are not published.
    Others may count suppressed rows.
    """
    if profile.people is not None:
        return list(map(spelling_warning, profile.repeated))
    return [repetition_warning(one, UNPUBLISHED) for one in profile.repeated]


def spelling_warning(one: Repetition) -> str:
    """The warning about people whose identifiers look the same to a reader."""
    return (
        f"attributes.person: of {one.rows:,} identifiers in {one.column!r} that were compared, "
        f"{one.rows - one.values:,} differ from another one in case, blanks, width or normal form "
        "only; each counts as a person of its own, so a person may be several; write each person "
        "in one way"
    )


def repetition_warning(one: Repetition, column: str | None = None) -> str:
    """The warning about an identifier that repeats. column: in place of its name."""
    return (
        f"{column or repr(one.column)} looks like an identifier of a person and repeats: "
        f"{one.rows:,} rows, about {one.values:,} values; counts are rows, so a person with "
        "several rows may be alone in a class; if these are people, use attributes.person; if "
        "households, attributes.household"
    )


def _of_sensitive(
    domain: SensitiveDomain,
    settings: SensitiveAttribute,
    rows: int,
    apart: bool,
) -> list[str]:
    present = [value for value, n in zip(domain.values, domain.counts, strict=True) if n]
    sentences = []
    if present == [None]:
        sentences.append(f" is missing in all {rows} rows: nothing is protected")
    elif len(present) == 1:
        sentences.append(f" has one value in all {rows} rows: the release reveals it for every row")
    elif len(present) > NEARLY_UNIQUE * rows:
        finds = (
            "the class, and the sensitive values beside it"
            if apart
            else "the record, and with it the other columns"
        )
        sentences.append(
            f" is nearly unique ({len(present)} values in {rows} rows): an adversary who knows a "
            f"person's value finds {finds}",
        )
    spellings = count_spellings(present)
    if spellings:
        sentences.append(
            f": {_spellings(spellings, len(present))}, and each counts for l and t as a value of "
            "its own",
        )
    unused = [str(value) for value, n in zip(domain.values, domain.counts, strict=True) if not n]
    if unused and isinstance(settings.order, tuple):
        sentences.append(
            f": its order lists {len(unused)} values that no row has "
            f"({first_few(unused, MOST_SHOWN)}); they lengthen the scale, and can make "
            "distances smaller",
        )
    return sentences


def _far_values(domain: SensitiveDomain) -> FarNumbers | None:
    """The numbers of a sensitive attribute that are far from all others, if its values are
    numbers.
    """
    numbers = Counter[float]()
    try:
        for value, n in zip(domain.values, domain.counts, strict=True):
            if n and value is not None:
                numbers[float(parse_quantity(value))] += n
        return far_numbers(domain.name, ends(numbers), numbers.total())
    except (ValueError, OverflowError):
        return None


def _spellings(spellings: int, present: int) -> str:
    return (
        f"{spellings} of its {present} values are other spellings of one of them (case, blanks, "
        "width or normal form); they stay different values unless its `text` options make them "
        "one"
    )


def could_be_intervals(attributes: Attributes) -> frozenset[str]:
    """The quasi-identifiers of numbers, dates or times with a hierarchy, without which their labels
    are intervals.
    """
    quasi = attributes.quasi_identifiers.items()
    return frozenset(
        name for name, one in quasi if one.type != "categorical" and one.hierarchy is not None
    )


def query_error_notes(
    raw: Mapping[str, Any] | None,
    losses: Mapping[str, float | None],
    intervals: Collection[str] = (),
) -> list[str]:
    """A warning if counts from the release are mostly wrong, and the quasi-identifier that loses
    most, unless it loses little. Internal, as the error is. raw: `RawVersusReleased`; losses:
    information loss by quasi-identifier;
    intervals: see `could_be_intervals`.
    """
    error = (raw or {}).get("worth", {}).get("query_error", 0.0)
    if error <= MOST_ERROR:
        return []
    worst = loses_most(losses)
    loss = (losses[worst] if worst is not None else None) or 0.0
    cure = (
        "compare intervals, without its hierarchy, which can end at any value"
        if worst in intervals
        else LEAVE_OUT
    )
    if worst is None:
        cause = ""
    elif loss > LITTLE:
        cause = f"; {worst} loses most (NCP {loss:.4f}), so {cure}"
    else:
        cause = f"; no quasi-identifier loses much (NCP at most {loss:.4f})"
    wrong = math.floor(100 * error) if error <= 1 else 100
    return [
        f"the table is nearly useless: half of random counts from it are wrong by {wrong}% or "
        f"more{cause}",
    ]


def query_errors(worth: Mapping[str, float]) -> str:
    """The errors of random counts from a release, rounded up. They are measured on raw rows, so no
    public file has them.
    """
    half, most = (math.ceil(1000 * worth[key]) / 10 for key in ("query_error", "query_error_90"))
    return (
        f"half of random counts from the release are within {half:g}% of the raw count, and 90% "
        f"within {most:g}%"
    )
