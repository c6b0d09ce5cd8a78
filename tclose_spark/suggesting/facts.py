"""Facts of a column, as figures without values of people, from which its role is suggested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Required, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.runfile.attributes import Text
from tclose_spark.runfile.text import count_spellings
from tclose_spark.suggesting.codes import Codes, CodeSystem, code_system, codes_of_column
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.columns.patterns import (
    AMOUNT,
    BOOLEAN,
    CODED_NUMBER,
    DATE,
    MEASURE,
    PADDED,
    count_matching,
    forms_of,
    identifying,
    placeholders,
)
from tclose_spark.table.entities.finding import Entity, Subjects
from tclose_spark.table.entities.grouping import FEWEST_VALUES, placeholder_rows

Weighs = Literal["bodies", "rows", ""]
BODIES = 2.0, 400.0  # kilograms of a person's body
ADULTS = 20.0, 160.0  # of half of a table's bodies
NEWBORN = 0.4, 18.0  # kilograms or pounds of a newborn; half of them are above the least BODIES
SURVEYED = 50  # times the least weight, of rows of a survey
K = 10
LEAST_K = 5
ENOUGH_ROWS = 300  # from which a class of K people is a small part of the table
Kind = Literal["integer", "decimal", "text", "date", "timestamp", "boolean", "other"]

SPELLINGS: tuple[Mapping[str, str | bool], ...] = (
    {"strip": True},
    {"case": "fold"},
    {"strip": True, "case": "fold"},
    {"normal_form": "NFKC", "strip": True, "case": "fold"},
)
"""Text options to try, the mildest first, for values that differ only in spelling."""


@dataclass(frozen=True, kw_only=True)
class WholeCounts:
    """Counts of a column in the whole table.

    missing: NULL, NaN or empty values. distinct: without missing values, never above the rows that
        have one.
    estimated: whether `distinct` is an estimate.
    formatted: by DATE_FORMATS and CLOCKS, texts that are dates, and the times of day behind them.
    not_numbers: values that are not a finite number of at most 15 digits. numerals: numbers of any
        length.
    marked: texts that have a meaning in a release (`*`, `{..}`).
    iso_dates: texts that are dates such as 2020-12-31. iso_times: those with a time of day.
    """

    rows: int
    missing: int
    distinct: int
    not_numbers: int
    numerals: int
    marked: int
    iso_dates: int = 0
    iso_times: int = 0
    estimated: bool = False
    formatted: Mapping[str, int] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column as figures of the sample; `whole` has those of the table.

    phrase: of its description, whose words count instead of its name's; "" if the name's count.
    marked: whether its description marks it as an identifier.
    unusable: why it cannot be published; "" if it can.
    sampled: rows of the sample. present: those with a value.
    alone: share of the sample's rows whose value is unique.
    fewest, most: rows of the rarest and of the most frequent value.
    entropy: in bits, with missing as a value.
    length: mean length of its texts.
    identifying, placeholders: rows by what their values look like, and by the word they hold.
    codes: what stands for missing values; the other facts are of the column without them (see
        `gather_described`).
    dates, booleans, coded, amounts, measures: rows whose values look like one.
    twice: texts that are the same number as another text.
    fractions: values that are no whole number. lengths: how many numbers of digits they have before
        the point.
    frequent: rows of the values with far more rows than any other.
    entity: whom it groups rows by. refuted: whether people differ within its values, so that it
        identifies none.
    weighs: what numbers weigh if they are weights, bodies or rows of a survey; "" if their size
        shows neither.
    system: the code system of its values, if they have one.
    spellings: values that differ from another only in spelling. text: the options that unite them.
    """

    name: str
    kind: Kind
    whole: WholeCounts
    phrase: str = ""
    marked: bool = False
    unusable: str = ""
    sampled: int
    present: int
    distinct: int
    alone: float
    fewest: int
    most: int
    entropy: float
    length: float = 0.0
    identifying: Mapping[str, int]
    placeholders: Mapping[str, int]
    codes: Codes = field(default_factory=Codes)
    dates: int = 0
    booleans: int = 0
    coded: int = 0
    amounts: int = 0
    measures: int = 0
    twice: int = 0
    fractions: int = 0
    lengths: int = 0
    weighs: Weighs = ""
    system: CodeSystem | None = None
    spellings: int = 0
    frequent: Mapping[str, int] = field(default_factory=dict)
    entity: Entity | None = None
    refuted: bool = False
    text: Mapping[str, str | bool]

    @property
    def nobody(self) -> Mapping[str, int]:
        """The sampled rows of each value that stands for no person, if the column identifies
        persons.
        """
        return {**self.codes.rows, **self.frequent}

    @property
    def called(self) -> str:
        """The words that show what it is about."""
        return self.phrase or self.name

    @property
    def told_by(self) -> str:
        """Where these words are, as reasons begin."""
        return "its description" if self.phrase else "its name"

    @property
    def is_number(self) -> bool:
        """Whether every value in the table is a number, and reading it as one loses nothing."""
        readable = self.kind in ("integer", "decimal") or (
            self.kind == "text" and not self.coded and not self.twice
        )
        return (
            readable
            and self.whole.present > 0
            and not self.whole.not_numbers
            and not self.date_formats
        )

    @property
    def is_date(self) -> bool:
        """Whether every value of the sample is a date or a time."""
        in_words = self.kind == "text" and 0 < self.present == self.dates
        return self.kind in ("date", "timestamp") or in_words or bool(self.date_formats)

    @property
    def calendar(self) -> Literal["date", "timestamp"] | None:
        """What every value of the table is, in a form that a release reads; None if they are
        neither, or both.
        """
        if self.kind == "date" or self.kind == "timestamp":
            return self.kind
        read = self.whole
        present = self.whole.present if self.kind == "text" else 0
        return (
            "date"
            if 0 < present == read.iso_dates
            else "timestamp"
            if 0 < present == read.iso_times
            else None
        )

    @property
    def date_formats(self) -> tuple[str, ...]:
        """The formats in which every value of the table is a date or a time; several if the day may
        be the month.
        """
        present = self.whole.present if self.kind in ("text", "integer") else 0
        return forms_of(self.whole.formatted, present)

    @property
    def are_all_numbers(self) -> bool:
        """Whether every value in the table is a number, perhaps with leading zeros; of texts, none
        equals another.
        """
        known = self.kind in ("integer", "decimal") or (self.kind == "text" and not self.twice)
        return known and 0 < self.whole.present == self.whole.numerals

    @property
    def uniqueness(self) -> float:
        """Distinct values per row with a value, in the table; 1 if all differ."""
        return min(1.0, self.whole.distinct / self.whole.present) if self.whole.present else 0.0


@dataclass(frozen=True)
class TableFacts:
    """The facts of a table's columns.

    rows: of the whole table. codes: by column, a number for each value of the sample's rows.
    sample: its rows, which are raw: for a trial in memory only. subjects: whom the rows are about.
    """

    rows: int
    facts: tuple[ColumnFacts, ...]
    codes: Mapping[str, IntArray]
    sample: pa.Table
    subjects: Subjects = field(default_factory=Subjects)


def least_k(rows: int) -> int:
    """K; less for a small table, so that it has some classes, but at least LEAST_K."""
    return K if rows >= ENOUGH_ROWS else max(LEAST_K, min(K, rows // 30))


def facts_of(
    name: str,
    kind: Kind,
    column: pa.ChunkedArray | pa.Array,
    whole: WholeCounts,
    least: int = K,
    phrase: str = "",
) -> ColumnFacts:
    """The facts of one column of a sample.

    column: its values; numbers as such, all others as text, missing as null. least: rows of a code
        that is named.
    phrase: see `ColumnFacts`.
    """
    counted = pc.value_counts(pc.drop_null(column))
    counted = counted.combine_chunks() if isinstance(counted, pa.ChunkedArray) else counted
    values = counted.field(0)
    counts = counted.field(1)
    rows = len(column)
    missing = column.null_count
    sizes = np.append(counts.to_numpy(), [missing] if missing else [])
    shares = sizes / rows if rows else sizes
    texts = _texts(values, counts) if kind == "text" and len(values) else NO_TEXTS
    is_numeric = kind in ("integer", "decimal") or (
        kind == "text" and whole.numerals == whole.present
    )
    number = bool(len(values)) and is_numeric
    numbers = [float(value) for value in values.to_pylist()] if number else [0.0]
    system = (
        code_system(phrase or name, values.cast(pa.string()), counts)
        if kind in ("integer", "text")
        else None
    )
    return ColumnFacts(
        name=name,
        kind=kind,
        whole=whole,
        phrase=phrase,
        sampled=rows,
        present=rows - missing,
        distinct=len(values),
        alone=float((sizes == 1).sum() / rows) if rows else 0.0,
        fewest=int(sizes.min()) if len(sizes) else 0,
        most=int(sizes.max()) if len(sizes) else 0,
        entropy=float(-(shares * np.log2(shares)).sum()) if rows else 0.0,
        twice=len(values) - len(set(numbers)) if number else 0,
        fractions=sum(not value.is_integer() for value in numbers),
        frequent=frequent_values(values, counts.to_numpy()),
        lengths=len({len(f"{abs(value):.0f}") for value in numbers}) if number else 0,
        weighs=what_weighs(np.repeat(numbers, counts.to_numpy())) if number else "",
        system=system,
        codes=codes_of_column(values, counts, least, numbers=system is None),
        **texts,
    )


def frequent_values(values: pa.Array, rows: IntArray) -> dict[str, int]:
    """The rows of the values with far more rows than any other, which stand for no person.

    rows: of each value.

    >>> frequent_values(pa.array([*range(30), 0]), np.array([2] * 30 + [900]))
    {'0': 900}
    """
    if len(values) < FEWEST_VALUES:
        return {}
    is_frequent = rows >= placeholder_rows(rows)
    found = map(str, values.filter(pa.array(is_frequent)).to_pylist())
    return dict(zip(found, rows[is_frequent].tolist(), strict=True))


def what_weighs(weights: FloatArray) -> Weighs:
    """What these weights are of, by their size and digits. Bodies weigh BODIES kilograms, with at
    most one digit after the point, most of them ADULTS. Rows of a survey have other positive
    weights, if they have fractions or differ by SURVEYED times.

    >>> what_weighs(np.array([48.5, 71, 90])), what_weighs(np.array([0.713, 1.25])), what_weighs(np.array([3, 950]))
    ('bodies', 'rows', 'rows')
    >>> what_weighs(np.array([3, 4, 9])), what_weighs(np.array([0, 950])), what_weighs(np.array([61.235, 70.307]))
    ('', '', '')
    >>> what_weighs(np.array([2.914, 3.62])), what_weighs(np.array([7.63, 11.75]))
    ('', '')
    >>> what_weighs(np.array([0.5, 1.5, 0.9]))
    'rows'
    """
    if not len(weights) or weights.min() <= 0:
        return ""
    middle = float(np.median(weights))
    digits = np.abs(10 * weights - np.round(10 * weights)) > 1e-6
    is_fine = bool(digits.mean() > 0.5)
    is_adult = ADULTS[0] <= middle <= ADULTS[1]
    if BODIES[0] <= weights.min() and weights.max() <= BODIES[1] and is_adult:
        return "" if is_fine else "bodies"
    if NEWBORN[0] <= weights.min() and weights.max() <= NEWBORN[1] and middle >= BODIES[0]:
        return ""
    is_fraction = middle < BODIES[0] and bool((weights % 1 > 0).mean() > 0.5)
    differ = weights.max() >= SURVEYED * weights.min() and weights.max() > BODIES[1]
    return "rows" if is_fine or is_fraction or differ else ""


class TextFacts(TypedDict, total=False):
    """The fields of `ColumnFacts` that only texts have."""

    identifying: Required[Mapping[str, int]]
    placeholders: Required[Mapping[str, int]]
    text: Required[Mapping[str, str | bool]]
    length: float
    dates: int
    booleans: int
    coded: int
    amounts: int
    measures: int
    spellings: int


NO_TEXTS = TextFacts(identifying={}, placeholders={}, text={})


def _texts(values: pa.Array, counts: pa.Array) -> TextFacts:
    rows = int(pc.sum(counts).as_py())
    lengths = pc.utf8_length(values)
    spelled, options = _spellings(values.to_pylist())
    return {
        "length": float(pc.sum(pc.multiply(lengths, counts)).as_py() / rows),
        "identifying": identifying(values, counts),
        "placeholders": placeholders(values, counts),
        "dates": count_matching(values, counts, DATE),
        "booleans": count_matching(values, counts, BOOLEAN),
        "coded": 0 if _are_padded(values, counts) else count_matching(values, counts, CODED_NUMBER),
        "amounts": count_matching(values, counts, AMOUNT),
        "measures": count_matching(values, counts, MEASURE),
        "spellings": spelled,
        "text": options,
    }


def _are_padded(values: pa.Array, counts: pa.Array) -> bool:
    """Whether all texts are numbers with the same digits after the point."""
    rows = pc.sum(counts).as_py()
    return any(count_matching(values, counts, pattern) == rows for pattern in PADDED)


def _spellings(values: list[str]) -> tuple[int, Mapping[str, str | bool]]:
    """(how many values are other spellings, the mildest of SPELLINGS that unites the most)."""
    spelled = count_spellings(values)
    if not spelled:
        return 0, {}
    made = [
        len({Text.model_validate(options).of(value) for value in values}) for options in SPELLINGS
    ]
    return spelled, SPELLINGS[made.index(min(made))] if min(made) < len(values) else {}
