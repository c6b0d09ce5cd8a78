"""Labels of ranges as people write them: every form of one range has the same ends."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.table.ranges import (
    INFINITY,
    Interval,
    interval_or_none,
    is_date,
    looks_generalized,
    read_interval,
    shows_nothing,
)

FORMS: dict[str, str] = {
    "[]": (
        "{a}-{b}|{a} \u2013 {b}|{a}..{b}|{a} to {b}|{a} through {b}|from {a} to {b}|between {a} "
        "and {b}|{a} to {b} years|aged {a} to {b}|Age: {a}-{b}|{a} bis {b} Jahre|zwischen {a} und "
        "{b}|{a}- bis {b}-Jährige|{a} à {b} ans|entre {a} et {b} ans|{a} a {b} años|de {a} a "
        "{b}|entre {a} y {b} años|da {a} a {b} anni|tra {a} e "
        "{b}|[{a},{b}]|[{a};{b}]|[{a}-{b}]|{a} ≤ Age ≤ {b}|{a}<=x<={b}|{b} ≥ age ≥ {a}|>={a} and "
        "<={b}|≥ {a} \u2013 ≤ {b}|${a} - ${b}|&ge;{a} &amp; &le;{b}|age >= {a} and age <= {b}|{a} "
        "€ \u2013 {b} €|{a}% to {b}%|at least {a} but not more than {b}"
    ),
    "[[": (
        "{a} to under {b}|{a} bis unter {b} Jahre|{a}-<{b}|{a} to less than "
        "{b}|[{a},{b})|[{a};{b}[|{a} ≤ Age < {b}|>={a} and <{b}|{a} and under {b}|{a} à moins de "
        "{b} ans|{a} a menos de {b} años|{b} > age >= {a}|at least {a} and under {b}"
    ),
    "]]": (
        "{a} < Age ≤ {b}|({a},{b}]|]{a}, {b}]|>{a} and <={b}|over {a} to {b}|über {a} bis "
        "{b}|plus de {a} à {b}|más de {a} a {b}|{b} >= x > {a}|({a}.0, {b}.0]|more than {a} up to "
        "{b}"
    ),
    "][": "({a},{b})|]{a}; {b}[|{a} < age < {b}|over {a} and under {b}|>{a} & <{b}",
    "<": (
        "<{b}|under {b}|Under {b} years|less than {b}|younger than {b}|unter {b} Jahren|moins de "
        "{b} ans|before {b}|menores de {b} años|meno di {b} anni|sotto i {b} anni|Age < "
        "{b}|(,{b})|(-inf, {b})|]-∞, {b}[|{b} > age|&lt;{b}"
    ),
    "≤": (
        "≤{b}|<={b}|Age ≤ {b}|{b} or less|{b} years and under|{b} or younger|up to {b}|at most "
        "{b}|bis {b}|höchstens {b}|{b} ans et moins|jusqu'à {b} ans|hasta {b} años|{b} o "
        "menos|fino a {b} anni|(,{b}]|(-Inf,{b}]|{b} ≥ age"
    ),
    ">": (
        ">{a}|over {a}|more than {a}|older than {a}|über {a}|älter als {a}|plus de {a} ans|más de "
        "{a} años|oltre {a}|più di {a} anni|Age > {a}|({a},)|({a}, inf)|]{a}, +∞[|{a} < age|after "
        "{a}"
    ),
    "≥": (
        "≥{a}|>={a}|{a}+|{a} years and over|{a} or more|{a} or older|{a} plus|at least {a}|from "
        "{a}|{a} und mehr|{a} Jahre und älter|ab {a} Jahren|{a} ans et plus|à partir de {a} "
        "ans|{a} años y más|{a} o más|desde {a}|{a} anni e oltre|almeno {a}|[{a},)|[{a}, ∞[|{a} ≤ "
        "age|Age ≥ {a}"
    ),
}


def meant(kind: str, low: int, high: int) -> Interval:
    ends = {"<": "]]-inf", "≤": "]]-inf", ">": "]inf", "≥": "[inf"}.get(kind, kind)
    bottom, top = (-INFINITY if kind in "<≤" else low), (INFINITY if kind in ">≥" else high)
    return Interval(bottom, top, ends[0] == "]", kind in "<>≥" or kind[-1:] == "[")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", FORMS)
@given(ends=st.tuples(st.integers(0, 150), st.integers(1, 150)))
@drawn(25)
def test_every_form_of_a_range_has_the_same_ends(kind: str, ends: tuple[int, int]) -> None:
    low, high = ends[0], ends[0] + ends[1]
    wanted = meant(kind, low, high)
    for form in FORMS[kind].split("|"):
        text = form.format(a=low, b=high)
        for label in (text, text if "&" in text else text.upper(), f" {text}  "):
            found = read_interval(label)
            assert (found.low, found.high) == (wanted.low, wanted.high), label
            open_ends = [is_open or abs(end) == INFINITY for is_open, end in _ends(found)]
            assert open_ends == [
                is_open or abs(end) == INFINITY for is_open, end in _ends(wanted)
            ], label


def _ends(one: Interval):
    return (one.open_low, one.low), (one.open_high, one.high)


@given(low=st.integers(1, 999), wider=st.integers(1, 99), draw=st.randoms())
@drawn(60)
def test_marks_of_thousands_are_no_decimals(low: int, wider: int, draw: random.Random) -> None:
    a, b = low * 1000, (low + wider) * 1000
    points, commas = [f"{x:,}".replace(",", ".") for x in (a, b)], [f"{x:,}" for x in (a, b)]
    spaces, quotes = ([x.replace(",", mark) for x in commas] for mark in ("\u202f", "\u2019"))
    labels = [
        "${}-${}".format(*commas),
        "[{}, {}]".format(*commas),
        "{} bis {} €".format(*points),
        "{} bis unter {}".format(*points),
        "€ {} \u2013 {}".format(*points),
        "{} à {} €".format(*spaces),
        "{}\u2013{} CHF".format(*quotes),
        f"{low}k-{low + wider}k",
        f"{low}-{low + wider}k",
        f"{low} bis {low + wider} Tsd. €",
    ]
    draw.shuffle(labels)
    assert {(one.low, one.high) for one in map(read_interval, labels)} == {(a, b)}


@pytest.mark.parametrize(
    "label",
    ["20.5-30.5", "20,5 bis 30,5", "20,5 - 30,5 €", "[20,5; 30,5]", "20,5 à 30,5"],
)
def test_decimals_have_a_point_or_a_comma(label: str) -> None:
    assert (read_interval(label).low * 2, read_interval(label).high * 2) == (41, 61)


@pytest.mark.parametrize(
    ("label", "ends"),
    [
        ("1990-99", (1990, 1999)),
        ("1990/1999", (1990, 1999)),
        ("2019/20", (2019, 2020)),
        ("2019-20", (2019, 2020)),
        ("1999-00", (1999, 2000)),
        ("2001-02", None),  # a month
        ("1990s", (1990, 2000)),
        ("born 1950 to 1959", (1950, 1959)),
        ("-5 - -3", (-5, -3)),
        ("Room 20-29", None),
        ("6 months to 2 years", None),
        ("[20]", None),
        ("Infinity", None),
        ("20 30", None),
        ("2000-", None),
        ("pre-1940", (-INFINITY, 1940)),
        ("pre 1940", (-INFINITY, 1940)),
        ("post-2000", (2000, INFINITY)),
        ("Under five years", (-INFINITY, 5)),
        ("zero to four", (0, 4)),
        ("Twenty-five to thirty four", (25, 34)),
        ("eighty and over", (80, INFINITY)),
        ("nineteen or less", (-INFINITY, 19)),
        ("five", None),
        ("Two Rivers", None),
        ("5 max", (-INFINITY, 5)),
        ("min 5", (5, INFINITY)),
        ("20\u2060\u201329", (20, 29)),
        *((code, None) for code in ("A10", "E10", "G40-G47", "D-10115", "K10", "a 5", "~5", "..5")),
        *((odd, None) for odd in ("1.2.3k", "1.2.3-5k", "inf k", "1,2,3 million")),
    ],
)
def test_years_and_what_is_no_range(label: str, ends: tuple[int, int] | None) -> None:
    found = interval_or_none(label)
    assert (None if found is None else (found.low, found.high)) == ends


@given(
    parts=st.lists(
        st.sampled_from(
            [
                *"0123456789.,-<≥+()[];/ ",
                "k",
                "million",
                "inf",
                "∞",
                "to",
                "a",
                "90er",
                "2020-01-01",
                "x",
            ],
        ),
    ),
)
@drawn(200)
def test_no_text_is_an_error(parts: list[str]) -> None:
    label = "".join(parts)
    found = interval_or_none(label)
    assert found is None or found.low <= found.high
    assert looks_generalized(label) in (True, False)


def test_dates_are_ends_as_numbers_are() -> None:
    forms = [
        '["2020-01-01","2020-02-01")',
        "[2020-01-01, 2020-02-01[",
        "2020-01-01 to under 2020-02-01",
    ]
    assert len({*map(read_interval, forms)}) == 1


def test_units_of_time_are_kept() -> None:
    assert [
        read_interval(one).unit
        for one in ("5 to 9 years", "0-11 Monate", "2 semaines ou plus", "[0, 4]")
    ] == [
        "year",
        "month",
        "week",
        "",
    ]


@pytest.mark.parametrize(
    "label",
    [
        "REDACTED",
        "[redacted]",
        "<masked>",
        "***",
        "**",
        "XXX",
        "xxxx",
        "###",
        "---",
        "geschwärzt",
        "Masqué",
    ],
)
def test_texts_in_place_of_a_value(label: str) -> None:
    assert shows_nothing(label)


@pytest.mark.parametrize("label", ["n/a", "N.A.", "unknown", "-", "?", "k. A.", "not stated", "x"])
def test_texts_that_show_nothing_only_alone(label: str) -> None:
    assert (shows_nothing(label), shows_nothing(label, alone=True)) == (False, True)


@pytest.mark.parametrize(
    "label",
    ["Rome", "A+", "+", "f", "X-ray", "C++", "0", "{a, b}", "+++", "$$$", "★★★", "XX"],
)
def test_values_show_something(label: str) -> None:
    assert not shows_nothing(label, alone=True)


@pytest.mark.parametrize(
    "label",
    ["9-May", "Oct-14", "14. Okt", "5-Févr", "2024-05-09", "5/9/2024"],
)
def test_dates_of_a_spreadsheet(label: str) -> None:
    assert is_date(label)
    assert not is_date("5-9")


@given(st.text(alphabet="0159 -<>=≤≥[](),;.'ktobisandunder+*€", max_size=90) | st.text(max_size=90))
@drawn(300)
def test_any_text_is_a_range_or_none(label: str) -> None:
    interval_or_none(label), looks_generalized(label), shows_nothing(label), is_date(label)


@pytest.mark.parametrize(
    "label",
    [
        "BMI 25-30",
        "3 - 4 Zimmer",
        "[18,25) years",
        "age in [18, 25)",
        "20_29",
        "Over 65s",
        "E10-E14",
        "A00-B99",
        "Q1-Q3",
    ],
)
def test_what_looks_like_a_range_without_being_read(label: str) -> None:
    assert (interval_or_none(label), looks_generalized(label)) == (None, True)


@pytest.mark.parametrize(
    "label",
    ["02138-1001", "02138-9999", "Two Rivers", "five", "E10.4", "A10", "M54", "QX1-QY2"],
)
def test_codes_are_values(label: str) -> None:
    assert (interval_or_none(label), looks_generalized(label)) == (None, False)
