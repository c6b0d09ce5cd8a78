"""Labels of a column as bands, in any language: their ends are right, or the loss is unknown."""

# ruff: noqa: RUF001 - labels are in many scripts
from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.auditing.labels import LabelFacts
from tclose_spark.measures.loss.bands import read_bands, unread_numbers
from tclose_spark.runfile.quantities import SPACED, parse_number
from tclose_spark.table.ranges import (
    INFINITY,
    SPELLED,
    folded,
    interval_or_none,
    read_interval,
    shows_nothing,
)

# Language, labels, and the numbers at their ends; `..` is an open end, and `?` a label without
# numbers.
SETS: list[tuple[str, str, str]] = [
    ("English", "Y_LT15 | Y15-24 | Y25-64 | Y_GE65", "..15 15 24 25 64 65.."),
    ("English", "Y_LT15 | Y15T24 | Y25T64 | Y_GE65", "..15 15 24 25 64 65.."),
    ("English", "LOWEST THRU 20 | 21 THRU 40 | 41 THRU HIGHEST", "..20 21 40 41.."),
    ("English", "18/24 | 25/34 | 35/44", "18 24 25 34 35 44"),
    ("English", "20-29 y/o | 30-39 y/o", "20 29 30 39"),
    (
        "English",
        "$1-$199 ($1-$10,399) | $200-$299 ($10,400-$15,599) | $300 or more ($15,600 or more)",
        "1 199 200 299 300..",
    ),
    ("English", "1e3-2e3 | 2e3-5e3", "1000 2000 2000 5000"),
    ("English", "10:00-12:00 | 12:00-14:30", "10 12 12 14.5"),
    ("English", "09:00-09:59 | 10:00-10:59", "9 599/60 10 659/60"),
    ("English", "20s-30s | 40s-50s", "20 40 40 60"),
    ("English", "0-.5 | .5-1 | 1-1.5", "0 .5 .5 1 1 1.5"),
    ("English", "$100K-$500K | $500K-$1M | $1M+", "100000 500000 500000 1000000 1000000.."),
    ("English", "<18.5 | 18.5-24.9 | 25-29.9 | 30 and heavier", "..18.5 18.5 24.9 25 29.9 30.."),
    ("English", "20200101-20200331 | 20200401-20200630", "18262 18352 18353 18443"),
    ("English", "-10--5 | -4-0 | 1-5", "-10 -5 -4 0 1 5"),
    ("English", "K-5 | 6-8 | 9-12", "..5 6 8 9 12"),
    ("English", "band 0..9 | band 10..19 | band 20..29", "0 9 10 19 20 29"),
    ("German", "bis einschl. 500 qm | 501-1.000 qm | 1.001-1.999 qm", "..500 501 1000 1001 1999"),
    ("German", "500-999 | 1.000-1.999 | 2.000-2.999", "500 999 1000 1999 2000 2999"),
    ("German", "01.01.2020-31.03.2020 | 01.04.2020-30.06.2020", "18262 18352 18353 18443"),
    (
        "French",
        "Moins de 15 ans révolus | 15-24 ans révolus | 25-34 ans révolus",
        "..15 15 24 25 34",
    ),
    ("French", "0 à 9,9 | 10,0 à 19,9 | 20,0 à 29,9", "0 9.9 10 19.9 20 29.9"),
    ("Spanish", "menos de 15 cumplidos | 15-29 cumplidos | 30 y más cumplidos", "..15 15 29 30.."),
    ("Italian", "fino a 14 compiuti | 15-24 compiuti | 25 e più compiuti", "..14 15 24 25.."),
    ("Portuguese", "até 17 | 18-24 | 25-59 | 60 ou mais", "..17 18 24 25 59 60.."),
    ("Dutch", "0 tot 15 jaar | 15 tot 65 jaar | 65 jaar of ouder", "0 15 15 65 65.."),
    ("Dutch", "25 t/m 34 jaar | 35 t/m 44 jaar | 45 jaar en ouder", "25 34 35 44 45.."),
    ("Finnish", "alle 18 | 18-64 | 65 ja yli", "..18 18 64 65.."),
    (
        "Finnish",
        "18\u201324-vuotiaat | 25\u201334-vuotiaat | 35 vuotta täyttäneet",
        "18 24 25 34 35..",
    ),
    ("Swedish", "under 20 år | 20-34 år | 35 år och äldre", "..20 20 34 35.."),
    ("Danish", "0-17 år | 18-29 år | 30 år og derover", "0 17 18 29 30.."),
    (
        "Norwegian",
        "Inntil 9 999 kr | 10 000-19 999 kr | 20 000-29 999 kr",
        "..9999 10000 19999 20000 29999",
    ),
    ("Polish", "do 18 lat | 19-24 lata | 25-34 lata | powyżej 34 lat", "..18 19 24 25 34 34.."),
    ("Czech", "méně než 15 | 15 až 29 | 30 až 44 | 45 a více", "..15 15 29 30 44 45.."),
    ("Hungarian", "18 év alatt | 18-29 éves | 30-39 éves | 40 év felett", "..18 18 29 30 39 40.."),
    ("Turkish", "18 yaş altı | 18-24 arası | 25-34 arası | 35 ve üzeri", "..18 18 24 25 34 35.."),
    (
        "Russian",
        "до 18 лет | 18\u201324 года | 25\u201334 года | 35 лет и старше",
        "..18 18 24 25 34 35..",
    ),
    ("Ukrainian", "до 10 тис. | 10\u201319 тис. | 20\u201329 тис.", "..10 10 19 20 29"),
    ("Greek", "έως 17 | 18-29 | 30-44 | 45 και άνω", "..17 18 29 30 44 45.."),
    ("Arabic", "أقل من ١٥ | ١٥-٢٤ | ٢٥-٣٤ | ٣٥ فأكثر", "..15 15 24 25 34 35.."),
    ("Hindi", "१५ से कम | १५-२४ | २५-३४ | ३५ और अधिक", "..15 15 24 25 34 35.."),
    ("Hebrew", "עד 17 | 18-24 | 25-34 | 35 ומעלה", "..17 18 24 25 34 35.."),
    ("Japanese", "18歳以下 | 19歳\uff5e29歳 | 30歳\uff5e39歳 | 40歳以上", "..18 19 29 30 39 40.."),
    ("Japanese", "20歳代 | 30歳代 | 40歳代", "20 30 30 40 40 50"),
    (
        "Japanese",
        "100万円未満 | 100万円～200万円 | 200万円～300万円",
        "..1000000 1000000 2000000 2000000 3000000",
    ),
    ("Chinese", "18岁以下 | 18-24岁 | 25-34岁 | 35岁及以上", "..18 18 24 25 34 35.."),
    ("Korean", "20세 미만 | 20-29세 | 30-39세 | 40세 이상", "..20 20 29 30 39 40.."),
    ("Thai", "ต่ำกว่า 15 | 15-24 | 25-34 | 35 ขึ้นไป", "..15 15 24 25 34 35.."),
    ("Vietnamese", "dưới 18 | 18-24 | 25-34 | trên 34", "..18 18 24 25 34 34.."),
    ("Indonesian", "di bawah 15 | 15-24 | 25-34 | 35 ke atas", "..15 15 24 25 34 35.."),
]


def ends_of(labels: Sequence[str]) -> list[tuple[Fraction, Fraction]] | None:
    """The ends of each label of a column; None if its loss is unknown, and () of what counts as a
    value.
    """
    facts = LabelFacts()
    for label in labels:
        facts.add(label)
    if facts.unclear:
        return None
    return [_ends(facts.bands.get(label, label)) for label in labels]


def _ends(label: str) -> tuple[Fraction, Fraction]:
    try:
        one = read_interval(label)
    except ValueError:
        return ()  # type: ignore[return-value]
    return one.low, one.high


def written(ends: str) -> list[tuple[Fraction, Fraction]]:
    numbers = []
    for end in ends.split():
        if end.startswith(".."):
            numbers += [-INFINITY, Fraction(end[2:])]
        elif end.endswith(".."):
            numbers += [Fraction(end[:-2]), INFINITY]
        else:
            numbers.append(Fraction(end))
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize(
    ("language", "labels", "ends"),
    SETS,
    ids=[labels for _, labels, _ in SETS],
)
def test_bands_in_any_language_have_their_ends(language: str, labels: str, ends: str) -> None:
    column = labels.split(" | ")
    assert ends_of(column) == written(ends), language
    assert ends_of(column[::-1]) == written(ends)[::-1]


def test_the_sets_are_in_many_languages() -> None:
    assert len(SETS) >= 40
    assert len({language for language, _, _ in SETS}) >= 15


WORDS = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Lt")), min_size=3, max_size=8).filter(
    lambda word: (
        not SPELLED.search(word.lower())
        and not any(map(interval_or_none, (f"{word} 5", f"5 {word}")))
    ),
)
"""Words of no language, and no spelled numbers: twelve -12 may be a range between two numbers."""
SEPARATORS = st.sampled_from(
    ["-", " - ", "\u2013", "..", " ... ", " to ", "/", "~", "_", " & ", " \u2192 "],
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], list[tuple[Fraction, Fraction]]]:
    """Bands between drawn cut points in a drawn format, some of them left out, and their ends."""
    places = draw(st.sampled_from([0, 0, 1, 2]))
    cuts = sorted(
        draw(st.sets(st.integers(-100, 100) | st.integers(0, 10**7), min_size=3, max_size=8)),
    )
    below = draw(st.sampled_from([0, 1]))
    mark, groups = draw(
        st.sampled_from([(".", ""), (".", ","), (",", "."), (",", " "), (".", "'")]),
    )
    zero = draw(st.sampled_from([0x30, 0x30, 0x660, 0x966, 0xFF10]))
    before, between, after = draw(
        st.tuples(st.just("") | WORDS, SEPARATORS | WORDS, st.just("") | WORDS),
    )
    blank = draw(st.sampled_from(["", " "]))
    ends_words = (
        st.none()
        | WORDS
        | st.sampled_from([before or None, between if between.isalpha() else None])
    )
    first, last = draw(st.tuples(ends_words, ends_words))
    assume(after == "" or folded(after) not in {folded(word or "") for word in (first, last)})

    def write(number: int) -> str:
        whole, below = divmod(abs(number), 10**places)
        text = f"{whole:,}".replace(",", groups) + (f"{mark}{below:0{places}}" if places else "")
        digits = "".join(chr(zero + int(one)) if one.isdecimal() else one for one in text)
        return f"-{digits}" if number < 0 else digits

    unit = Fraction(1, 10**places)
    labels, ends = list[str](), list[tuple[Fraction, Fraction]]()
    for i, low in enumerate(cuts[:-1]):
        high = cuts[i + 1] - below
        text = f"{write(low)}{blank}{between}{blank}{write(high)}"
        labels.append(f"{before}{blank}{text}{blank}{after}")
        ends.append((low * unit, high * unit))
    if first:
        labels.append(f"{first} {write(cuts[0])}")
        ends.append((-INFINITY, cuts[0] * unit))
    if last:
        labels.append(f"{write(cuts[-1])} {last}")
        ends.append((cuts[-1] * unit, INFINITY))
    left_out = draw(st.sets(st.integers(0, len(labels) - 1), max_size=len(labels) - 1))
    kept = [i for i in range(len(labels)) if i not in left_out]
    draw(st.randoms()).shuffle(kept)
    return [labels[i] for i in kept], [ends[i] for i in kept]


@given(columns())
@drawn(300)
def test_ends_are_right_or_the_loss_is_unknown(
    column: tuple[list[str], list[tuple[Fraction, Fraction]]],
) -> None:
    labels, ends = column
    found = ends_of(labels)
    assert found is None or found == ends or in_thousands(found) == ends


@pytest.mark.parametrize("labels", ["-2AAA-1 | 1 AAA", "-7bis-3 | 3 bis", "Grade-5 to 9 | 10 to"])
def test_a_dash_behind_the_word_of_a_single_pair_may_be_a_minus(labels: str) -> None:
    assert ends_of(labels.split(" | ")) is None


@pytest.mark.parametrize("label", ["1 / 2", " 1 / 2 ", "1 /2", "1/ 2"])
def test_two_numbers_with_a_blank_beside_their_slash_are_no_fraction(label: str) -> None:
    """Fraction reads them in Python 3.12, and not in 3.11."""
    assert SPACED.search(label)
    with pytest.raises(ValueError, match="no number"):
        parse_number(label)
    assert ends_of([label, "0 / 1"]) is None


def in_thousands(ends: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The ends of a column of nothing but numbers such as 1.000-1.999, which has the same loss in
    ones.
    """
    return [(low * 1000, high * 1000) for low, high in ends if 1 <= low <= high < 1000]


@given(columns(), st.randoms())
@drawn(100)
def test_the_order_of_labels_changes_nothing(
    column: tuple[list[str], list[tuple[Fraction, Fraction]]],
    draw: random.Random,
) -> None:
    other = draw.sample(column[0], len(column[0]))
    assert read_bands(frozenset(other)) == read_bands(frozenset(column[0]))
    assert unread_numbers(other, set(other)) == unread_numbers(column[0], set(column[0]))


@pytest.mark.parametrize(
    "labels",
    [
        *(
            "Type 1 | Type 2",
            "Level 2 | Level 3 | Level 4",
            "M1 | M2 | M3",
            "Grade 9 | Grade 10 | Grade 11",
        ),
        *(
            "2019 | 2020 | 2021",
            "E10.4 | A00 | M54",
            "02138-1001 | 02139-4307",
            "94107 | 94110",
            "030 | 040 | 0711",
        ),
        *(
            "A10 | A20 | A30",
            "1st | 2nd | 3rd",
            "123-45-6789 | 987-65-4321",
            "2001-02-03 | 2001-03-01",
        ),
        *(
            "10:30 | 11:45",
            "9-May | 10-Jun",
            "01.02.2020 | 17.05.2021",
            "3f2a9c1 | 77be0d2",
            "Rome | Oslo | Route 66",
        ),
        *(
            "{a 1, b 2} | c 3",
            "QX12 | QY34",
            "7th-8th | 9th | Masters | Doctorate | Preschool | Some-college | HS",
        ),
    ],
)
def test_codes_and_numbered_names_are_values(labels: str) -> None:
    """With another loss than 0 they would be bands with false ends."""
    column = labels.split(" | ")
    found = ends_of(column)
    assert found is not None
    assert all(ends == () or ends[0] == ends[1] for ends in found)


@pytest.mark.parametrize(
    "labels",
    [
        *(
            "Y_LT15 | Y15-24 | Y_GE65",
            "0 tot 15 jaar | 65 jaar of ouder",
            "25 t/m 34 jaar",
            "65 ja yli",
            "do 18 lat",
        ),
        *(
            "$1-$199 ($1-$10,399) | Nil income",
            "1e3-2e3",
            "10:00-12:00",
            "Jan-Mar 2020",
            "20±5 | 30±5",
            "1×2 | 3×4",
        ),
        *(
            "LOWEST THRU 20",
            "0-5m | 1-4y",
            "A00-B99 | C00-D48",
            "A00-A09 | A10-A19",
            "18/24",
            "1/2 | 3/4",
        ),
        *(
            "500-999 | 1.500-1.999",
            "20200101-20200331",
            "do 18 | do 25 | do 40",
            "30 tai alle | 31 tai yli",
        ),
        *(
            "от 20 до 29 | от 30 до 39 | от 40",
            "20-29 vuotta | 25-34 vuotta",
            "0-5 mies | 6-10 lat | 11-20 lat",
            "AAA1AAA3AAA",
        ),
        *("F20-29 | G30-39", "Paris 5 | Lyon 3", "22:00-06:00 | 06:00-22:00"),
    ],
)
def test_numbers_that_nothing_explains_have_an_unknown_loss(labels: str) -> None:
    assert ends_of(labels.split(" | ")) is None


def test_a_band_may_be_missing_between_two_others() -> None:
    labels = ["0-4 év", "5-9 év", "10-14 év", "20-24 év"]
    assert ends_of(labels) == [(0, 4), (5, 9), (10, 14), (20, 24)]
    assert ends_of([*labels, "30 év felett"]) is None


def test_one_number_between_two_bands_is_a_value() -> None:
    assert ends_of(["1-2 henkilöä", "3 henkilöä", "4-5 henkilöä", "6 tai enemmän"]) == [
        (1, 2),
        (3, 3),
        (4, 5),
        (6, INFINITY),
    ]


def test_ends_are_open_where_words_or_neighbours_show_it() -> None:
    found = read_bands(frozenset(["do 18", "18-24", "powyżej 24"]))
    assert found == {"do 18": "]-inf, 18[", "18-24": "[18, 24]", "powyżej 24": "]24, inf["}
    found = read_bands(frozenset(["<20", "20 to under 30", "30 to under 40", "40+"]))
    assert found["20 to under 30"] == "[20, 30["


@pytest.mark.parametrize(
    "label",
    ["NA-NA", "NaN - nan", "[NA, NA]", "(nan, nan]", "None..None", "null to null"],
)
def test_missing_ends_show_nothing(label: str) -> None:
    assert shows_nothing(label)
