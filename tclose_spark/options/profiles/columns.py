"""What the rules of a profile need of the columns of a written release: one pass, which sends
counts, and the labels of ages and areas.

The forms of dates, ZIP codes and long numbers that rules of profiles know. docs/profiles.md
lists them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import MOST_VALUES
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.patterns import DATE, identifying
from tclose_spark.table.columns.preparing import as_text, plain
from tclose_spark.table.dictionaries import decoded

YEAR = "(1[6-9]|20|21)[0-9]{2}"
MONTH = "(0[1-9]|1[0-2])"
DAY = "(0[1-9]|[12][0-9]|3[01])"
_LONG = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|januar|februar|märz|maerz|mai|juni|juli|oktober|dezember"
    "|janvier|février|fevrier|mars|avril|juin|juillet|août|aout|septembre|octobre|novembre|décembre|decembre"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    "|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|januari|februari|maart|mei|augustus"
)
_SHORT = (
    "jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|mrz|okt|dez|janv|févr|avr|juil|ene|abr|ago|dic|gen|mag|giu|lug"
    "|set|ott|mrt|spring|summer|autumn|fall|winter|frühling|frühjahr|sommer|herbst|printemps|été|automne|hiver"
)
_WEEKDAY = "(mon|tues?|wed|thu(rs?)?|fri|sat|sun)(day|nesday|sday|rsday|urday)?"
_NTH = "[0-9]+(st|nd|rd|th|er|º)?"
_BESIDE = rf"({_NTH}|{_WEEKDAY}|of|the|de|del|le|den|at|t|z|utc|gmt|am|pm|a\.m|p\.m|[-/,.:'+ ])"
_CLOCK = r"[0-9]{1,2}:[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?|[0-2][0-9]:[0-5][0-9]"
_PART = "(q|h|s|t|qtr|quarter|half)"
_WEEK = "(w|kw|wk|week|woche)"
_OF_YEAR = rf"[-/., ]*(of )?('?[0-9]{{2}}|{YEAR})"
FINER = "|".join(
    [
        DATE,
        r"[0-9]{4} ?[-/.] ?(0?[1-9]|1[0-2])( ?[-/.] ?[0-9]{1,2})?([T ].*)?",
        rf"(0?[1-9]|1[0-2]) ?[-/.] ?{YEAR}|[0-9]{{1,2}}[-/. ]+[0-9]{{1,2}}[-/. ]+{YEAR}([T ].*)?|{YEAR} {MONTH} {DAY}",
        rf"{YEAR}{MONTH}{DAY}([T ]?[0-9].*)?|{DAY}{MONTH}{YEAR}|{MONTH}{DAY}{YEAR}",
        rf"{YEAR}[-/. ]*{_PART}[-/. ]?[1-4]|{_PART}[-/. ]?[1-4]{_OF_YEAR}|[1-4](st|nd|rd|th)? ?{_PART}{_OF_YEAR}",
        rf"{YEAR}[-/. ]*{_WEEK}[-/. ]?[0-9]{{1,2}}([-/. ]?[1-7])?|{_WEEK}[-/. ]?[0-9]{{1,2}}{_OF_YEAR}",
        rf"{YEAR}-[0-3][0-9]{{2}}|{YEAR}[-/. ]*(d|day)[-/. ]?[0-9]{{1,3}}",
        r"(1[0-9]{9}|20[0-9]{8})([.,][0-9]+)?|1[0-9]{12}|1[0-9]{15}|1[0-9]{18}",
        r"[0-9]{4}年.*[月日].*|[0-9]{1,2}月.*",
        rf"[0-9]{{1,2}}[-/. ]+[ivx]{{1,4}}[-/. ]+({YEAR}|[0-9]{{2}})",
        rf"({_LONG})|({_BESIDE}*{_NTH}{_BESIDE}*({_LONG}|{_SHORT}){_BESIDE}*|{_BESIDE}*({_LONG}|{_SHORT}){_BESIDE}*{_NTH}{_BESIDE}*)",
        rf"{_CLOCK}|({_CLOCK}|[0-9]{{1,2}}(:[0-5][0-9])?) ?[ap]\.?m\.?",
    ],
)
"""Dates, times and parts of a year, as a whole value."""
WHOLE_YEARS = r"^\[[0-9]{4}-01-01(T00:00:00(\.0+)?)?, [0-9]{4}-12-31(T23:59:59(\.9+)?)?\]$"

_NUMBER = r"[-+]?[0-9]+([.,][0-9]+)*(e[-+]?[0-9]+)?"
_KNOWN = rf"{_NUMBER}|{YEAR}s|[<>≤≥]=? ?{_NUMBER}|{_NUMBER} ?([-\x{{2013}}]|to) ?{_NUMBER}|{_NUMBER} ?[+%]|[0-9]+\*+"
"""Values with digits that are no dates: numbers, ranges and parts of them, and years."""
_DOUBTFUL = (
    rf"({YEAR}{MONTH}|{YEAR}[0-3][0-9]{{2}}|[0-9]{{2}}{MONTH}{DAY}|{DAY}{MONTH}[0-9]{{2}})(\.0+)?"
)
_DOUBTFUL += rf"|{MONTH}-{DAY}|{DAY}-{MONTH}|0[1-9]{DAY}"
"""Numbers that may be months, days of a year, or dates without a century or a year."""
_LONG_NUMBER = r"[0-9]{3}[- .]?[0-9]{2}[- .]?[0-9]{4}|[0-9]{9,}(\.0+)?"
_LONG_ZIP = r"[0-9]{4,5}(-?[0-9*]{4})?\**(\.0+)?"


def normalized(values: pa.Array) -> pa.Array:
    """Texts with plain forms of their characters and single blanks between words; whole numbers
    without exponent.
    """
    plain = pc.utf8_normalize(values, "NFKC")
    plain = pc.utf8_trim_whitespace(pc.replace_substring_regex(plain, r"[\s\x{a0}]+", " "))
    powers = pc.match_substring_regex(plain, r"^[0-9]\.[0-9]+E[0-9]{1,2}$")
    if not pc.any(powers).as_py():
        return plain
    texts = zip(plain.to_pylist(), powers.to_pylist(), strict=True)
    return pa.array(
        [f"{float(text):.0f}" if is_power else text for text, is_power in texts],
        pa.string(),
    )


def finer_than_a_year(values: pa.Array) -> Any:
    """Whether each text is a date, a time or a part of a year in a known form, or a set or interval
    with one that is not of whole years.

    >>> finer_than_a_year(pa.array(["2024", "20240305", "[2020-01-01, 2021-12-31]", "5 March 2024"])).to_pylist()
    [False, True, False, True]
    """
    values = normalized(values)
    return pc.and_not(
        _any_member(values, lambda texts: _are(_unmasked(texts), FINER)),
        pc.match_substring_regex(values, WHOLE_YEARS),
    )


def unread_dates(values: pa.Array) -> Any:
    """Whether each text has digits, in no form that is known to be a date or not to be one.

    >>> unread_dates(pa.array(["grade 3", "202403", "12-31", "7.5", "[20, 39]", "flu", "2024-03-05"])).to_pylist()
    [True, True, True, False, False, False, False]
    """
    texts = normalized(values)
    unknown = _any_member(
        texts,
        lambda one: pc.and_not(pc.match_substring_regex(one, r"\pN"), _are(one, _KNOWN)),
    )
    doubtful = _any_member(texts, lambda one: _are(one, _DOUBTFUL))
    read = pc.or_(finer_than_a_year(texts), pc.match_substring_regex(texts, WHOLE_YEARS))
    return pc.and_not(pc.or_(unknown, doubtful), read)


def long_numbers(values: pa.Array) -> Any:
    """Whether each text is a number of nine digits or more, or a social security number with any
    separators.
    """
    return _are(normalized(values), _LONG_NUMBER)


def long_zips(values: pa.Array) -> Any:
    """Whether each text is a ZIP code of more than three digits, or a set with one.

    >>> long_zips(pa.array(["94110", "9411*", "941**", "{94110, 94112}", "Pisa", "94110-1234"])).to_pylist()
    [True, True, False, True, False, True]
    """
    texts = normalized(values)
    return pc.and_not(
        _any_member(texts, lambda one: _are(one, _LONG_ZIP)),
        pc.starts_with(texts, "["),
    )


def _are(texts: pa.Array, pattern: str) -> Any:
    return pc.match_substring_regex(texts, f"(?i)^({pattern})$")


def _unmasked(texts: pa.Array) -> pa.Array:
    """Texts without masked digits at their end: `2024-03-**` is a month, and so is `202403**`."""
    texts = pc.replace_substring_regex(texts, rf"^([0-9]{{4}}){MONTH}(\*\*|[0-3]\*)$", r"\1-\2")
    return pc.replace_substring_regex(texts, r"[-/. ]?\*+$", "")


def _any_member(texts: pa.Array, matches: Callable[[pa.Array], Any]) -> Any:
    """Whether each text matches; of an interval or a set, whether a member does."""
    boxed = pc.match_substring_regex(texts, r"^[\[({].*[\])}]$")
    parts = pc.split_pattern(pc.if_else(boxed, pc.utf8_trim(texts, "[](){}"), ""), ",")
    hits = matches(pc.utf8_trim(parts.flatten(), ' "'))
    of_members = pc.is_in(
        pa.array(range(len(texts)), pa.int64()),
        value_set=pc.list_parent_indices(parts).filter(hits).cast(pa.int64()),
    )
    return pc.if_else(boxed, of_members, matches(texts))


LABEL = "label"
PATTERN = "pattern"
LONG = "numbers of nine digits or more"
"""A pattern of values beside those of `IDENTIFYING`."""
FORMS = {"finer": finer_than_a_year, "unread": unread_dates, "zips": long_zips}
"""By field of PublishedColumns."""
FOUND = pa.schema(
    [("column", pa.string()), ("kind", pa.string()), ("value", pa.string()), ("n", pa.int64())],
)


@dataclass(frozen=True)
class PublishedColumns:
    """What stands in the columns of a release, in rows.

    labels: of each label, by column of ages or areas.
    patterns: of values that look like each of `IDENTIFYING`, by column.
    finer: with a date or time that is finer than a year, by column.
    unread: with digits in a form that is not known, by column.
    zips: with a ZIP code of more than three digits, by column.
    """

    labels: Mapping[str, Mapping[str, int]]
    patterns: Mapping[str, Mapping[str, int]]
    finer: Mapping[str, int]
    unread: Mapping[str, int] = field(default_factory=dict)
    zips: Mapping[str, int] = field(default_factory=dict)


def read_columns(
    release: Table,
    columns: Mapping[str, Sequence[str]],
    listed: Sequence[str],
) -> PublishedColumns:
    """What stands in the columns of a release. columns: by attribute, its published column, or its
    two bounds, which count as one interval. listed: the attributes whose labels are needed.

    Raises:
        InputError: if these have more labels than a driver holds.
    """
    read = map_batches(
        select(release, [c for pair in columns.values() for c in pair]),
        _reader(columns, listed),
        FOUND,
    )
    found = collect(combine(read, ["column", "kind", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if found.num_rows > MOST_VALUES:
        raise InputError(
            f"{' and '.join(listed)}: more than {MOST_VALUES:,} values in all; use coarser ones",
        )
    labels: dict[str, dict[str, int]] = defaultdict(dict)
    patterns: dict[str, dict[str, int]] = defaultdict(dict)
    formed: dict[str, dict[str, int]] = {kind: {} for kind in FORMS}
    for row in sorted(found.to_pylist(), key=lambda row: [row[name] for name in FOUND.names[:3]]):
        if row["kind"] in FORMS:
            formed[row["kind"]] |= {row["column"]: row["n"]} if row["n"] else {}
        else:
            (labels if row["kind"] == LABEL else patterns)[row["column"]][row["value"]] = row["n"]
    return PublishedColumns(dict(labels), dict(patterns), **formed)


def _reader(columns: Mapping[str, Sequence[str]], listed: Sequence[str]) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = iter(batch.columns)
            for name, published in columns.items():
                counted = _label([next(held) for _ in published]).drop_null().value_counts()
                values = counted.field("values")
                counts = counted.field("counts")
                found = [
                    (PATTERN, pattern, n) for pattern, n in identifying(values, counts).items()
                ]
                if n := pc.sum(counts.filter(long_numbers(values))).as_py():
                    found.append((PATTERN, LONG, n))
                found += [
                    (kind, "", pc.sum(counts.filter(of(values))).as_py() or 0)
                    for kind, of in FORMS.items()
                ]
                if name in listed:
                    found += [
                        (LABEL, *pair)
                        for pair in zip(values.to_pylist(), counts.to_pylist(), strict=True)
                    ]
                rows = [[name] * len(found), *map(list, zip(*found, strict=True))]
                arrays = [
                    pa.array(part, field.type) for part, field in zip(rows, FOUND, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=FOUND)

    return read


def _label(columns: Sequence[pa.Array]) -> pa.Array:
    """The texts of a column, or of two bounds as an interval."""
    written = [decoded(as_text(plain(decoded(column)))) for column in columns]
    if len(written) == 1:
        return written[0]
    low, high = written
    return pc.binary_join_element_wise("[", low, ", ", high, "]", "")
