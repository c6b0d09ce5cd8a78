"""Values are prepared in Arrow as Spark prepares them: the same texts, numbers, days and times, and
the same marks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from spark_casts import judged_column
from spark_casts import not_of_type as in_spark
from spark_casts import plain as in_one_form

from tclose_spark.io.tables.columns import quoted
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.table.columns.preparing import (
    as_text,
    is_damaged,
    judged_values,
    not_of_type,
    plain,
)
from tclose_spark.table.columns.spark_types import type_name

RANDOM = np.random.default_rng(7)


def floats(kind: type[np.floating[Any]], bits: type[np.integer[Any]]) -> pa.Array:
    """Numbers as people have them, and the ends of the range."""
    info, short = (
        np.finfo(kind),
        RANDOM.integers(-(10**6), 10**6, 600) / 10.0 ** RANDOM.integers(-9, 9, 600),
    )
    tiny = np.arange(1, 200, dtype=bits).view(kind)
    ends = [
        0.0,
        -0.0,
        np.nan,
        np.inf,
        -np.inf,
        info.max,
        info.tiny,
        -info.tiny,
        info.smallest_subnormal,
    ]
    powers = [10.0**power for power in range(-30, 16)]
    named = [0.1, 0.3, 1e-3, 9999999.0, 1e7, 12345678.0, 0.00099999, 1e22, 2.5e30]
    with np.errstate(over="ignore"):
        return pa.array(np.concatenate([np.asarray([*ends, *powers, *named, *short], kind), tiny]))


def words(text: str) -> list[str]:
    return text.split()


NUMBERS = words(
    """0 -0 +0 -0.0 0.0 00 1 -1 +1 1. .5 +.5 -.5 . + - +. 1e5 1E5 1e+5 1e-5 1e400 -1e400 1e308 1.8e308 1e-400
    1e999 1e1000 e5 1e 1e+ 1d 1f 1D 1L 0x1p3 0x10 NaN nan -nan inf Inf +inf -Infinity Infinity 1_000 1,5 1.5.5 --1 +-1
    000000000000000012 +000000000000000012 -00000000000000012 0.000000000000012 0.0000000000000012 .0000000000000001
    123456789012345 1234567890123456 12345678901234567 9007199254740993 0.1234567890123456 -123456789012345.0
    123456789012345e10 1234567890123456e-3 9223372036854775807 -9223372036854775808 0.1 0.30000000000000004 4.9e-324
    2.2250738585072014e-308 \u0661\u0662 \uff11\uff12 1\u0660 \u00bd 1\u00a0 \u221e null NULL None true""",
)
DATES = words(
    """2024-02-29 2023-02-29 1900-02-29 2000-02-29 2024-2-9 2024-02-9 0000-01-01 0001-01-01 9999-12-31
    10000-01-01 +2024-01-01 -2024-01-01 2024-13-01 2024-00-10 2024-01-00 2024-04-31 2024-01-32 2024-12-31
    1582-10-10 1582-10-15
    1969-12-31 1970-01-01 20240101 2024-01 2024 24-01-01 2024/01/01 2024-01-01T 2024-01-01T10:00 epoch today now
    \u0662\u0660\u0662\u0664-01-01 2024-\u0660\u0661-01""",
)
TIMES = words(
    """00:00 12:30 23:59 24:00 12:60 1:00 12 12:00:00 23:59:59 23:59:60 24:00:00 12:00:0 12:00:00. 12:00:00.1
    12:00:00.12 12:00:00.123 12:00:00.1234 12:00:00.12345 12:00:00.123456 12:00:00.1234567 12:00:00.000001
    12:00:00,5 1\u0662:00:00""",
)
ZONES = [
    "",
    *words(
        "Z z UTC +00:00 -00:00 +02:00 -07:30 +18:00 -18:00 +18:01 -18:30 +19:00 +01:60 +17:59 "
        "+2:00 +0200 +02",
    ),
    " Z",
]
AROUND = [
    "",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    "\n\r",
    "\0",
    "\u00a0",
    "\u0085",
    "\u2028",
]
WORDS = [
    "",
    " ",
    "flu",
    " Flu ",
    "FLU",
    "Stra\u00dfe",
    "e\u0301",
    "\ufb01",
    "\ufffd",
    "a\0b",
    "\U0001f600",
    "\u0130",
]


def around(texts: Sequence[str]) -> list[str]:
    return [
        *texts,
        *[text + end for text in texts for end in AROUND],
        *[start + text for text in texts for start in AROUND],
    ]


def drawn(alphabet: str, longest: int, number: int) -> list[str]:
    lengths = RANDOM.integers(0, longest + 1, number)
    return ["".join(RANDOM.choice(list(alphabet), length)) for length in lengths]


MOMENTS = [
    f"{date}{gap}{time}{zone}"
    for date in DATES[:4]
    for gap in "T "
    for time, zone in product(TIMES, ZONES)
]
MOMENTS += [
    f"{date}T{time}{zone}"
    for date, time, zone in product(DATES, TIMES[:9], ["", "Z", "+02:00", "-18:00"])
]
TEXTS = {
    "numbers": [
        *around(NUMBERS),
        *drawn("00123459.eE+-", 12, 3000),
        *drawn("0123456789.", 20, 1000),
    ],
    "dates": [*around(DATES), *drawn("0129-", 10, 500)],
    "times": [
        *MOMENTS,
        *around([f"{DATES[0]}T12:00:00", f"{DATES[0]} 12:00", f"{DATES[0]}T12:00:00.5Z"]),
    ],
    "words": around(WORDS),
}
DAYS = [
    0,
    -1,
    1,
    19_000,
    -719_162,
    -719_163,
    -719_528,
    -719_529,
    2_932_896,
    2_932_897,
    10**8,
    -(10**8),
    2**31 - 1,
]
DAYS += [-(2**31), *RANDOM.integers(-800_000, 3_000_000, 500).tolist()]
MICROS = [
    0,
    -1,
    1,
    10,
    100_000,
    1_200_000,
    -62_135_596_800_000_000,
    -62_135_596_800_000_001,
    2**62,
    -(2**62),
]
MICROS += [253_402_300_799_999_999, 253_402_300_800_000_000, 2**63 - 1, -(2**63) + 1]
MICROS += RANDOM.integers(-(10**17), 10**17, 500).tolist()
WHOLE = [
    0,
    1,
    -1,
    127,
    -128,
    2**15 - 1,
    -(2**15),
    2**31 - 1,
    -(2**31),
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
]


def whole(bits: int) -> pa.Array:
    return pa.array(
        [n for n in WHOLE if -(2 ** (bits - 1)) <= n < 2 ** (bits - 1)],
        pa.from_numpy_dtype(f"int{bits}"),
    )


def decimals(precision: int, scale: int) -> pa.Array:
    """Of every length, most with zeros at an end."""
    lengths = RANDOM.integers(0, precision + 1, 300)
    digits = ["".join(RANDOM.choice(list("0123456789"), length)) or "0" for length in lengths]
    ends = [
        "0",
        "1",
        "9" * precision,
        "1" + "0" * (precision - 1),
        "5" * min(precision, 16),
        "12345678901234567",
    ]
    numbers = [f"{sign}{n}" for n in [*digits, *ends] if len(n) <= precision for sign in ("", "-")]
    return pa.array([Decimal(f"{n}E-{scale}") for n in numbers], pa.decimal128(precision, scale))


COLUMNS: dict[str, pa.Array] = {name: pa.array(texts) for name, texts in TEXTS.items()}
COLUMNS |= {f"int{bits}": whole(bits) for bits in (8, 16, 32, 64)}
COLUMNS |= {"double": floats(np.float64, np.int64), "float": floats(np.float32, np.int32)}
COLUMNS |= {
    f"decimal {p} {s}": decimals(p, s)
    for p in (5, 15, 16, 18, 19, 38)
    for s in (0, 1, 2, 6, 7, 18)
    if s <= p
}
COLUMNS |= {"boolean": pa.array([True, False]), "date": pa.array(DAYS, pa.date32())}
COLUMNS |= {
    "timestamp": pa.array(MICROS, pa.timestamp("us", "UTC")),
    "ntz": pa.array(MICROS, pa.timestamp("us")),
}
COLUMNS = {
    name: pa.concat_arrays([values, pa.nulls(3, values.type)]) for name, values in COLUMNS.items()
}
NUMERIC = [
    name
    for name in COLUMNS
    if name.startswith(("numbers", "words", "int", "double", "float", "decimal"))
]
SETTINGS = {
    "numeric": ({"type": "numeric"}, NUMERIC),
    "intervals": ({"type": "numeric", "hierarchy": {"intervals": [5]}}, NUMERIC),
    "leaves of a file": ({"type": "numeric", "hierarchy": "levels.csv"}, NUMERIC),
    "date": ({"type": "date"}, ["dates", "words", "date"]),
    "dates": ({"type": "date", "hierarchy": {"dates": ["month"]}}, ["dates", "date"]),
    "timestamp": ({"type": "timestamp"}, ["times", "dates", "words", "timestamp", "ntz"]),
    "timestamps": (
        {"type": "timestamp", "hierarchy": {"dates": ["month"]}},
        ["times", "timestamp", "ntz"],
    ),
    "categorical": ({}, list(COLUMNS)),
    "spellings": (
        {"text": {"normal_form": "NFKC", "strip": True, "case": "fold"}},
        ["words", "numbers"],
    ),
    "no spellings": ({"text": {}}, ["words"]),
}
"""Settings of quasi-identifiers, with the columns that may have them."""
CASES = [(settings, name) for settings, (_, names) in SETTINGS.items() for name in names]
LINE_ENDS = ("\u0085", "\u2028")
"""Spark's pattern of numbers allows them at the end and its cast does not: such text was missing
and not marked.
"""


LONGEST = max(map(len, COLUMNS.values()))
Expression = Callable[[DataFrame, str], Column]
OfSpark = Callable[[Hashable, str, Expression], pa.Array]


@pytest.fixture(scope="module")
def of_spark(spark: SparkSession) -> OfSpark:
    """`of_spark(key, name, expression)`: what an expression of Spark makes of a column, in the
    order of its values.

    Expressions with the same key are the same one. One job evaluates it for all columns that may
    have it.
    """
    padded = {
        name: pa.concat_arrays([it, pa.nulls(LONGEST - len(it), it.type)])
        for name, it in COLUMNS.items()
    }
    kinds = ", ".join(
        f"`{name}` {type_name(pa.field(name, values.type))}" for name, values in COLUMNS.items()
    )
    table = spark.createDataFrame(pa.table(padded), kinds)
    made: dict[Hashable, pa.Table] = {}

    def values(key: Hashable, name: str, expression: Expression) -> pa.Array:
        if key not in made:
            names = SETTINGS[key[-1]][1] if isinstance(key, tuple) else COLUMNS
            made[key] = table.select(
                *(expression(table, name).alias(name) for name in names),
            ).toArrow()
        return made[key][name].combine_chunks()[: len(COLUMNS[name])]

    return values


def differences(spark: pa.Array, ours: pa.Array) -> list[int]:
    """The places at which two columns differ, also by 0.0 and -0.0."""
    assert (ours.type, len(ours)) == (spark.type, len(spark))
    if pa.types.is_floating(ours.type):
        bits = pa.int64() if pa.types.is_float64(ours.type) else pa.int32()
        spark, ours = spark.view(bits), ours.view(bits)
    same = pc.or_(
        pc.fill_null(pc.equal(spark, ours), False),
        pc.and_(spark.is_null(), ours.is_null()),
    )
    return np.flatnonzero(~np.asarray(same)).tolist()


def is_same_number(kind: pa.DataType, theirs: str, ours: str) -> bool:
    """Whether two texts are one number of this type, and ours has no more digits. Java before
    version 19 writes some floats and doubles with more digits than needed.
    """
    number = kind.to_pandas_dtype()
    same = number(theirs) == number(ours)
    return bool(
        same and (abs(number(ours)) < 1e-40 or len(digits_of(ours)) <= len(digits_of(theirs))),
    )


def digits_of(text: str) -> str:
    return "".join(map(str, Decimal(text).normalize().as_tuple().digits))


@pytest.mark.parametrize("name", COLUMNS)
def test_texts_are_those_of_sparks_cast(of_spark: OfSpark, name: str) -> None:
    values = COLUMNS[name]
    theirs, ours = (
        of_spark("text", name, lambda _, name: quoted(name).cast("string")),
        as_text(values),
    )
    found = differences(theirs, ours)
    if pa.types.is_floating(values.type):
        found = [
            i for i in found if not is_same_number(values.type, theirs[i].as_py(), ours[i].as_py())
        ]
    assert [(values[i], theirs[i], ours[i]) for i in found] == []


@pytest.mark.parametrize(("asked", "name"), CASES)
def test_judged_values_are_those_of_spark_where_none_is_marked(
    of_spark: OfSpark,
    asked: str,
    name: str,
) -> None:
    settings, values = QuasiIdentifier(**SETTINGS[asked][0]), COLUMNS[name]
    theirs = of_spark(("judged", asked), name, partial(judged_column, settings=settings))
    ours = judged_values(values, settings)
    found = differences(theirs, ours)
    if settings.reads_numbers or settings.calendar is not None:
        marked = not_of_type(values, settings)
        found = [i for i in found if not marked[i]]
    if pa.types.is_floating(values.type):  # a float is the number of its text
        kind = (
            values.type
            if pa.types.is_float32(values.type) or pa.types.is_string(ours.type)
            else pa.float64()
        )
        found = [i for i in found if not is_same_number(kind, str(theirs[i]), str(ours[i]))]
    assert [(values[i], theirs[i], ours[i]) for i in found] == []


def is_long(value: Any) -> bool:
    """Whether it is a decimal with more than 15 digits, which Java before version 19 may write as
    they are.
    """
    return isinstance(value, Decimal) and len(digits_of(str(value))) > 15


@pytest.mark.parametrize(
    ("asked", "name"),
    [case for case in CASES if case[0] in ("numeric", "intervals", "date", "timestamp")],
)
def test_values_are_marked_that_spark_marks(of_spark: OfSpark, asked: str, name: str) -> None:
    settings, values = QuasiIdentifier(**SETTINGS[asked][0]), COLUMNS[name]
    theirs = of_spark(("marked", asked), name, partial(in_spark, settings=settings)).fill_null(
        False,
    )
    found = differences(theirs, pa.array(not_of_type(values, settings)))
    assert not any(theirs[i].as_py() for i in found)
    assert [
        values[i]
        for i in found
        if not str(values[i]).endswith(LINE_ENDS) and not is_long(values[i].as_py())
    ] == []


def fold(values: pa.Array) -> SensitiveAttribute:
    """A sensitive attribute that folds case where its values are text."""
    return SensitiveAttribute(
        t="0.5",
        text={"case": "fold"} if pa.types.is_string(values.type) else None,
    )


@pytest.mark.parametrize("name", COLUMNS)
def test_sensitive_values_keep_their_type(of_spark: OfSpark, name: str) -> None:
    values = COLUMNS[name]
    for key, settings in (("folded", fold), ("sensitive", lambda _: SensitiveAttribute(t="0.5"))):
        theirs = of_spark(
            key,
            name,
            lambda table, name, of=settings: judged_column(table, name, of(COLUMNS[name])),
        )
        assert differences(theirs, judged_values(values, settings(values))) == []
    assert differences(of_spark("plain", name, in_one_form), plain(values)) == []


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_text_is_found(name: str) -> None:
    damaged = [
        text is not None and ("\ufffd" in text or "\0" in text)
        for text in COLUMNS[name].to_pylist()
    ]
    assert is_damaged(COLUMNS[name]).tolist() == damaged


@pytest.mark.parametrize("asked", SETTINGS)
def test_a_column_may_be_empty_or_missing(asked: str) -> None:
    settings = QuasiIdentifier(**SETTINGS[asked][0])
    for name in SETTINGS[asked][1]:
        for values in (COLUMNS[name][:0], pa.nulls(2, COLUMNS[name].type)):
            assert judged_values(values, settings).null_count == len(values)
            if settings.reads_numbers or settings.calendar is not None:
                assert not_of_type(values, settings).tolist() == [False] * len(values)


def test_bytes_become_text() -> None:
    assert as_text(pa.array([b"flu", None, "\u00e9".encode()])).to_pylist() == [
        "flu",
        None,
        "\u00e9",
    ]
