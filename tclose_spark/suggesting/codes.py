"""Codes among the values of a column: those for missing values (numbers far from the rest, words
and impossible dates), and those of code systems, with the hierarchy of each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.arrays import FloatArray
from tclose_spark.table.column_names.hints import words_of_name
from tclose_spark.table.columns.patterns import (
    AMONG_NUMBERS,
    CODED_NUMBER,
    PLACEHOLDERS,
    REFUSAL,
    count_matching,
)
from tclose_spark.table.columns.preparing import not_of_type
from tclose_spark.table.ranges import interval_or_none

WORDS = frozenset(PLACEHOLDERS)
REFUSED = re.compile(REFUSAL)
ABOVE = re.compile(r"[789]|9{2,}|8{2,}|7{2,}|9+[678]|9{2,}\.9")
BELOW = re.compile(r"-([1-9]|9{2,}|8{2,}|7{2,}|6{2,}|9+[678])")
"""Usual codes above and below all other numbers."""
DATES = re.compile(
    r"(9999-12-31|2999-12-31|1900-01-01|1899-12-3[01]|1800-01-01|0001-01-01)([T ]00:00(:00)?)?"
    r"|01[./-]01[./-](1900|1800|0001)|(31[./-]12|12[./-]31)[./-]9999",
)
MOST_CODES = 6
FEW_VALUES = 12
MOST_LABELLED = 0.2  # of the rows with a number, for ranges among numbers
MOST_LABELS = 20  # different texts among numbers
NUMBERS = QuasiIdentifier(type="numeric")


@dataclass(frozen=True)
class Codes:
    """What stands for missing values: rows by code. labels: the rows of texts that are values
    beside numbers, which are ranges such as `90+` and refusals to answer. unnamed: rows of numbers
    that may be codes, but that too few people share to be named.
    """

    rows: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    unnamed: int = 0


def codes_of_column(values: pa.Array, counts: pa.Array, least: int, numbers: bool = True) -> Codes:
    """The codes of a column. Words are those of a list. Other codes are shared by `least` rows, so
    none is the value of one person. numbers: whether a number may be a code.

    values: distinct, without missing ones; numbers as such, all others as text. counts: the rows of
        each.

    >>> codes_of_column(pa.array([20, 31, 45, 999]), pa.array([7, 9, 8, 12]), 10).rows
    {'999': 12}
    >>> codes_of_column(pa.array(["1", "2", "Unknown", "65+"]), pa.array([30, 90, 12, 15]), 10)
    Codes(rows={'Unknown': 12}, labels={'65+': 15}, unnamed=0)
    """
    is_text = pa.types.is_string(values.type)
    texts = values.to_pylist() if is_text else [f"{number:.15g}" for number in values.to_pylist()]
    rows = dict(sorted(zip(texts, counts.to_pylist(), strict=True)))
    words = dict[str, int]()
    labels = dict[str, int]()
    if is_text:
        is_other = dict(zip(texts, not_of_type(values, NUMBERS).tolist(), strict=True))
        others = {text: n for text, n in rows.items() if is_other[text]}
        rows = {text: n for text, n in rows.items() if not is_other[text]}
        words, labels = _among_texts(others, sum(rows.values()), least)
        if len(words) + len(labels) < len(others) or any(
            re.fullmatch(CODED_NUMBER, text) for text in rows
        ):
            numbers = False
            labels = {}
    if not numbers:
        return Codes(words, labels)
    counted = sorted((float(text), n, text.removesuffix(".0")) for text, n in rows.items())
    far = _far_numbers(*(np.array([one[i] for one in counted], dtype=np.float64) for i in (0, 1)))
    found = {text: n for number, n, text in counted if number in far}
    named = {text: n for text, n in found.items() if n >= least}
    unnamed = sum(found.values()) - sum(named.values())
    return Codes({**named, **words}, labels, unnamed)


def _among_texts(
    texts: Mapping[str, int],
    numeric: int,
    least: int,
) -> tuple[dict[str, int], dict[str, int]]:
    """(words and dates for missing values, ranges and refusals beside numbers) among texts that are
    no numbers, with their rows. numeric: the rows of numbers beside them.
    """
    others = {text: n for text, n in texts.items() if _plain(text) not in WORDS}
    labels = _labels(others) if numeric and len(others) <= MOST_LABELS else {}
    ranges = sum(n for text, n in labels.items() if not REFUSED.fullmatch(text.strip()))
    if not labels or len(labels) < len(others) or ranges > MOST_LABELLED * numeric:
        labels = {}
    words = {text: n for text, n in texts.items() if _is_word(text, others.keys() - labels.keys())}
    return words | {
        text: n for text, n in others.items() if n >= least and DATES.fullmatch(text)
    }, labels


def _labels(texts: Mapping[str, int]) -> dict[str, int]:
    """Those of the texts that are ranges, such as `90+` and `under 5`, or refusals to answer."""
    return {
        text: n for text, n in texts.items() if REFUSED.fullmatch(text.strip()) or _is_range(text)
    }


def _is_range(text: str) -> bool:
    interval = interval_or_none(text.strip())
    return interval is not None and interval.low < interval.high


def _plain(text: str) -> str:
    return text.strip().lower()


def _is_word(text: str, others: Collection[str]) -> bool:
    """Whether a text stands for a missing value beside these others. `none` is an answer unless the
    others are numbers, and NA is a code among codes of two capitals.
    """
    if _plain(text) not in WORDS or (others and _plain(text) in AMONG_NUMBERS):
        return False
    capitals = [other for other in others if re.fullmatch("[A-Z]{2}", other)]
    return not (text == "NA" and others and 2 * len(capitals) > len(others))


def _far_numbers(numbers: FloatArray, rows: FloatArray) -> list[float]:
    """The numbers of usual forms that are far from all others. numbers: distinct, ascending. rows:
    of each.
    """

    def usual(form: re.Pattern[str], numbers: FloatArray) -> bool:
        return len(numbers) <= MOST_CODES and all(
            form.fullmatch(f"{number:.15g}") for number in numbers.tolist()
        )

    below = int(np.count_nonzero(numbers < 0))
    if not (
        below
        and usual(BELOW, numbers[:below])
        and len(numbers) - below > 1
        and _are_below(numbers[:below], numbers[below:])
    ):
        below = 0
    for size in range(min(MOST_CODES, len(numbers) - below - 2), 0, -1):
        top = slice(-size, None)
        rest = slice(below, -size)
        if usual(ABOVE, numbers[top]) and _are_above(
            numbers[top],
            numbers[rest],
            rows[top],
            rows[rest],
        ):
            return [*map(float, numbers[:below]), *map(float, numbers[top])]
    return [*map(float, numbers[:below])]


def _are_below(codes: FloatArray, rest: FloatArray) -> bool:
    """Whether negative numbers are codes: far below the rest, or few and small beside it. -1, -2,
    -3 is a scale.
    """
    is_scale = len(codes) > 2 and codes[-1] - codes[0] < len(codes)
    is_small = codes[-1] < -10 or rest[-1] > -3 * codes[0]
    return bool(rest[0] - codes[-1] > rest[-1] - rest[0] or (is_small and not is_scale))


def _are_above(
    codes: FloatArray,
    rest: FloatArray,
    of_codes: FloatArray,
    of_rest: FloatArray,
) -> bool:
    """Whether numbers are far above the rest: by as much as its range; or by a gap in consecutive
    numbers; or by a wide gap, and with more rows than the others. Prices (9, 29, 49, 99) have gaps
    everywhere.
    """
    gap = codes[0] - rest[-1]
    steps = np.diff(rest)
    skips = (
        len(rest) <= FEW_VALUES and steps.max() == 1 and gap >= 2 and {*f"{codes[-1]:.0f}"} == {"9"}
    )
    is_wide = codes[0] > 9 and gap >= 3 * steps[len(steps) // 2 :].max()
    is_frequent = of_codes.max() >= 1.5 * np.median(of_rest)
    is_far = gap >= max(rest[-1] - rest[0], 3 * steps.max())
    return bool(is_far or (not np.any(rest % 1) and (skips or (is_wide and is_frequent))))


MOST_OTHERS = 0.05  # share of rows with another value, in a column of codes


@dataclass(frozen=True, kw_only=True)
class CodeSystem:
    """A system of codes. `code_systems.yaml` explains the fields."""

    name: str
    pattern: str
    hierarchy: Mapping[str, object]
    words: frozenset[str] = frozenset()
    unnamed: bool = False

    @staticmethod
    def of(entry: Mapping[str, Any]) -> CodeSystem:
        """The system of an entry of the file."""
        words = frozenset(word.strip() for word in entry.get("words", "").split(","))
        return CodeSystem(**{**entry, "words": words})


SYSTEMS = tuple(
    map(
        CodeSystem.of,
        yaml.safe_load(
            files(__package__).joinpath("code_systems.yaml").read_text(encoding="utf-8"),
        )["systems"],
    ),
)


def code_system(name: str, values: pa.Array, counts: pa.Array) -> CodeSystem | None:
    """The system of nearly all values of a column; None if they have none. Words for missing values
    do not count.

    name: of the column. values: distinct texts, without missing ones; counts: the rows of each.

    >>> code_system("diag_1", pa.array(["V57", "250.83", "?"]), pa.array([5, 3, 9])).name
    'ICD-9'
    """
    known = pc.invert(
        pc.is_in(pc.utf8_lower(values), value_set=pa.array(PLACEHOLDERS, values.type)),
    )
    values = values.filter(known)
    counts = counts.filter(known)
    words = set(words_of_name(name))
    rows = pc.sum(counts).as_py() or 0
    for system in SYSTEMS:
        named = system.unnamed or words & system.words
        if (
            rows
            and named
            and count_matching(values, counts, system.pattern) >= (1 - MOST_OTHERS) * rows
        ):
            return system
    return None
