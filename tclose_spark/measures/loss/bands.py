"""Labels of a column as bands, whatever their words mean: in the order of their numbers they follow
one another.

A label has two numbers, its ends. One number is a value if it has no words of its own (`18 Jahre`
beside `19-24 Jahre`), else the open end of the first or the last label. Numbers are read in the way
that makes labels follow one
another: marks of thousands and decimals, dates, times of day. Words that `ranges` knows are not
    contradicted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.ranges import (
    FACTORS,
    INFINITY,
    LONGEST,
    MILLIONS,
    MONEY,
    NUMBER,
    TIMES,
    Interval,
    as_word,
    folded,
    interval_or_none,
    is_date,
    plain_number,
)

FACTOR = "|".join(rf"(?P<f{factor}>{as_word(words)})" for words, factor in FACTORS.items())
TOKEN = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])|[0-9]{1,2}(?P<mark>[./-])[0-9]{1,2}(?P=mark)[0-9]{4}(?![0-9]))|"
    r"(?P<clock>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9:]))|"
    rf"(?P<number>{NUMBER}(?:e\+?[0-9]{{1,2}}(?![0-9a-z]))?)(?: ?(?:{FACTOR}))?",
)
GROUPED = {
    mark: re.compile(rf"[1-9][0-9]{{0,2}}(?:\{mark}[0-9]{{2,3}})*\{mark}[0-9]{{3}}")
    for mark in ",."
}
THOUSANDS = re.compile(r"[1-9][0-9]{0,2}[,.][0-9]{3}")
ASIDE = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
"""What a label adds in brackets: `$1-$199 ($1-$10,399)`."""
SQUARE = re.compile(r"(?<=[0-9])( ?[a-z]*m)[23](?![0-9a-z])")
YEAR = re.compile("|".join(as_word(words) for words in TIMES.values() if words.startswith("year")))
NO_RANGE = re.compile(r"[±:\u00d7*^=]|^x$")
"""What stands between two numbers that are no ends."""
CODED = re.compile(r"[\W_]+[a-z]{1,3}$")
"""What stands before the second number of a range of codes: `A00-B99`."""
DIGIT = re.compile("[0-9]")
CODE = re.compile(
    r"[a-z][0-9]+(?:\.[0-9a-z]+)?|(?!lt|le|gt|ge)[a-z]{2,}-?[0-9]+|[a-z]-[0-9]+|"  # E10.4, AB12, D-10115
    r"[0-9]+([-./ ])[0-9]+(?:\1[0-9]+)+|[0-9]{5}-[0-9]{4}|"  # 123-45-6789, 02138-1001
    r"[12][0-9]{3}[-/](?:0[1-9]|1[0-2])|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?|"  # 2001-02, 10:30
    r"[a-z]*[0-9]+(?:[a-z]+[0-9]+){2,}[a-z]*",  # 3f2a9c
)
"""Values that hold numbers."""
SIGNED = frozenset(" -<>=≤≥([;,/.~")
"""What stands before a minus that is no dash."""


@dataclass(frozen=True)
class Number:
    """A number as a text that `parse_quantity` reads, and the unit of its last place."""

    text: str
    unit: Fraction

    @property
    def value(self) -> Fraction:
        """The number."""
        return parse_quantity(self.text)


@dataclass(frozen=True)
class Token:
    """A number in a label: how it is written, its kind, and the factor of the word behind it."""

    text: str
    kind: str
    factor: int = 1
    negative: bool = False


@dataclass(frozen=True)
class Parts:
    """A label as its numbers, and its text without blanks and with `#` for each number.

    alone: the interval that the label means by itself, if known.
    """

    label: str
    tokens: tuple[Token, ...]
    shape: str
    alone: Interval | None


@dataclass(frozen=True)
class Band:
    """A label with its ends under one way to read numbers. first, last: where it has only one end,
    and must stand.
    """

    label: str
    low: Number
    high: Number
    first: bool = False
    last: bool = False
    open_low: bool = False
    open_high: bool = False
    single: bool = False
    """It has one number, which only its place can explain."""


@lru_cache(maxsize=64)
def read_bands(labels: frozenset[str]) -> Mapping[str, str]:
    """Each label that holds numbers, as the interval it means; nothing unless they are bands that
    follow one another.

    >>> dict(sorted(read_bands(frozenset({"do 18 lat", "19-24 lata", "25-34 lata", "powyżej 34 lat", "brak"})).items()))
    {'19-24 lata': '[19, 24]', '25-34 lata': '[25, 34]', 'do 18 lat': ']-inf, 18]', 'powyżej 34 lat': ']34, inf['}
    """
    texts = [label for label in labels if len(label) <= LONGEST]
    is_money = any(MONEY.search(folded(label)) for label in texts)
    parts = [_parts(label, is_money) for label in texts]
    parts = [one for one in parts if one.tokens]
    pairs = [one for one in parts if len(one.tokens) == 2]
    units = {one.alone.unit for one in parts if one.alone is not None} - {""}
    kinds = {token.kind for one in parts for token in one.tokens}
    shapes = {one.shape for one in pairs}
    are_fractions = all(_is_fraction(one) for one in pairs)
    unlike = (
        are_fractions
        or _may_be_negative(pairs)
        or len(shapes) != 1
        or len(kinds) != 1
        or len(units) > 1
    )
    if (
        len(parts) < 2
        or unlike
        or any(len(one.tokens) > 2 or not _may_be_range(one) for one in parts)
    ):
        return {}
    found = [
        chain for read in _readers(parts, kinds.pop()) if (chain := _chain(parts, read)) is not None
    ]
    if not found:
        return {}
    return {
        band.label: _interval(band) for band in max(found, key=lambda chain: chain[-1].high.value)
    }


def unread_numbers(labels: Collection[str], texts: Collection[str]) -> set[str]:
    """Those of the texts that hold numbers and are no known codes, if at least half of the labels
    hold numbers.

    >>> towns = {"Paris 5", "Lyon 3", "Lyon 12"}
    >>> sorted(unread_numbers(towns, towns)), unread_numbers({"Level 1", "Level 2"}, {"Level 1", "Level 2"})
    (['Lyon 12', 'Lyon 3', 'Paris 5'], set())
    """
    plain = {label: folded(label[: LONGEST + 1]) for label in labels}
    if 2 * sum(bool(DIGIT.search(text)) for text in plain.values()) < len(plain):
        return set()
    unread = {text for text in texts if DIGIT.search(plain[text]) and not _is_value(plain[text])}
    numbered = defaultdict[str, dict[str, int]](dict)
    for text in unread:
        numbers = re.findall("[0-9]+", plain[text])
        if len(numbers) == 1 and len(numbers[0]) <= LONGEST:
            numbered[re.sub("[0-9]+|(?<=[0-9])(?:st|nd|rd|th)", "#", plain[text])][text] = int(
                numbers[0],
            )
    for named in numbered.values():
        if _are_consecutive(named.values()):
            unread -= named.keys()
    return unread


def are_marks_unsure(labels: Iterable[str]) -> bool:
    """Whether a label alone would be read with a mark of decimals that could be one of thousands,
    such as 1.500, and other numbers of the column have not as many places.

    >>> are_marks_unsure(["500-999", "1.500-1.999"]), are_marks_unsure(["1.000-1.375", "1.500-1.999"])
    (True, False)
    """
    places = set[int]()
    is_unsure = False
    for label in labels:
        text = folded(label[: LONGEST + 1])
        for match in TOKEN.finditer(text):
            number = plain_number(match["number"], text) if match["number"] else ""
            places.add(len(number.partition(".")[2]))
            is_unsure |= "." in number and THOUSANDS.fullmatch(match["number"]) is not None
    return is_unsure and places != {3}


def _is_value(text: str) -> bool:
    """Whether a folded text is a code, a date or a time of day."""
    return CODE.fullmatch(text) is not None or (
        is_date(text) and len(re.findall("[0-9]+", text)) != 2
    )


def _are_consecutive(numbers: Collection[int]) -> bool:
    """Whether several numbers are at least half of the whole numbers between them, as in `Type 1`,
    `Type 2`.
    """
    return len(numbers) > 1 and max(numbers) - min(numbers) < 2 * len(numbers)


def _parts(label: str, is_money: bool) -> Parts:
    text = folded(label)
    aside = ASIDE.sub(" ", text)
    text = SQUARE.sub(r"\1", aside if DIGIT.search(aside) else text)
    text = MILLIONS.sub("mio", text) if is_money else text
    tokens = list[Token]()
    shape = ""
    end = 0
    for match in TOKEN.finditer(text):
        between = text[end : match.start()]
        negative = _is_sign(between, is_first=not tokens)
        kind = next(name for name in ("day", "clock", "number") if match[name])
        factor = next((value for value in FACTORS.values() if match[f"f{value}"]), 1)
        tokens.append(Token(match[kind], kind, factor, negative))
        shape += (between.rstrip("$€£¥₹")[:-1] if negative else between) + "#"
        end = match.end()
    shape = YEAR.sub("year", shape + text[end:])
    return Parts(label, tuple(tokens), re.sub(r"\s", "", shape), interval_or_none(label))


def _is_sign(before: str, is_first: bool) -> bool:
    """Whether the text before a number ends in a minus, and not in the dash between two numbers."""
    rest = before.rstrip("$€£¥₹")
    if not rest.endswith("-"):
        return False
    rest = rest[:-1]
    return (rest[-1:] in SIGNED and bool(rest.strip(" "))) or (is_first and not rest.strip(" "))


def _may_be_range(one: Parts) -> bool:
    """Whether two numbers of a label may be its ends. Those of `A00-B99` are codes."""
    if len(one.tokens) < 2:
        return True
    before, between, _ = one.shape.split("#", 2)
    is_code = before[-1:].isalpha() and CODED.search(between) is not None
    return not is_code and NO_RANGE.search(between) is None


def _may_be_negative(pairs: Sequence[Parts]) -> bool:
    """Whether the dash behind a word of the only label with two numbers could be a minus:
    `Grade-5 to 9`, `-5to-2`.
    """
    if len(pairs) != 1:
        return False
    before, between, _ = pairs[0].shape.split("#", 2)
    is_second = between.endswith("-") and between[-2:-1].isalpha()
    return before.endswith("-") or (pairs[0].tokens[0].negative and is_second)


def _is_fraction(one: Parts) -> bool:
    """Whether a label could be a fraction, such as 1/2."""
    return one.shape == "#/#" and all(len(token.text) < 2 for token in one.tokens)


def _readers(parts: Sequence[Parts], kind: str) -> Iterator[Callable[[Token], Number]]:
    """The ways in which numbers of a kind may be written."""
    if kind == "clock":
        yield _hours
    elif kind == "day":
        yield from (
            lambda token, form=form: _day(token, form)
            for form in ("%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y")
        )
    elif all(_is_compact_day(token) for one in parts for token in one.tokens):
        yield lambda token: _day(token, "%Y%m%d")
    else:
        yield from (lambda token, mark=mark: _decimal(token, mark) for mark in ".,")


def _is_compact_day(token: Token) -> bool:
    """Whether a number is a day such as 20200331."""
    try:
        return re.fullmatch("(?:19|20)[0-9]{6}", token.text) is not None and bool(
            _day(token, "%Y%m%d").value,
        )
    except ValueError:
        return False


def _day(token: Token, form: str) -> Number:
    day: date = datetime.strptime(re.sub("[./]", "-", token.text), form).date()
    return Number(day.isoformat(), Fraction(1))


def _hours(token: Token) -> Number:
    hours, *below = map(int, token.text.split(":"))
    seconds = [*below, 0][:2]
    if hours > 24 or max(seconds) > 59:
        raise ValueError("no time of day")
    unit = Fraction(1, 60 ** len(below))
    return Number(str(hours + Fraction(seconds[0], 60) + Fraction(seconds[1], 3600)), unit)


def _decimal(token: Token, mark: str) -> Number:
    """A number with this mark of decimals. The other mark is one of thousands."""
    other = "," if mark == "." else "."
    text = token.text.replace("'", "").replace(" ", "")
    whole, point, below = text.partition(mark)
    if other in whole and not GROUPED[other].fullmatch(whole):
        raise ValueError("no number with marks of thousands")
    number = Decimal(whole.replace(other, "") + ("." if point else "") + below) * token.factor
    if "e" in text:
        return Number(f"{-number if token.negative else number:f}", Fraction(1))
    unit = Fraction(token.factor, 10 ** len(below))
    return Number(f"{-number if token.negative else number:f}", unit)


def _chain(parts: Iterable[Parts], read: Callable[[Token], Number]) -> list[Band] | None:
    """The labels as bands in their order, with this way to read numbers; None if they do not follow
    one another.
    """
    shared = next(one.shape for one in parts if len(one.tokens) == 2)
    try:
        bands = [_band(one, shared, read) for one in parts]
    except (ValueError, ArithmeticError):
        return None
    bands.sort(key=lambda band: (band.low.value, not band.first, band.high.value))
    if bands[0].single:
        bands[0] = _as_first(bands[0], bands[1])
    if bands[-1].single:
        bands[-1] = _as_last(bands[-1], bands[-2])
    within = [*[band.last for band in bands[:-1]], *[band.first for band in bands[1:]]]
    if (
        any(within)
        or any(band.single for band in bands)
        or any(band.low.value > band.high.value for band in bands)
    ):
        return None
    follow = [_follows(one, other) for one, other in pairwise(bands)]
    return bands if None not in follow and 2 * sum(map(bool, follow)) > len(follow) else None


def _band(one: Parts, shared: str, read: Callable[[Token], Number]) -> Band:
    """A label with its ends. shared: the text of those with two numbers."""
    alone = one.alone
    tokens = _multiplied(one.tokens)
    if len(tokens) == 2:
        low = read(tokens[0])
        high = read(_in_full(*tokens))
        finite = alone is not None and abs(alone.low) != INFINITY and abs(alone.high) != INFINITY
        return Band(
            one.label,
            low,
            high,
            open_low=finite and alone is not None and alone.open_low,
            open_high=finite and alone is not None and alone.open_high,
        )
    number = read(tokens[0])
    if alone is None or alone.low == alone.high:
        return Band(one.label, number, number, single=not _is_number(one, shared))
    if alone.low == -INFINITY:
        return Band(one.label, number, number, first=True, open_high=alone.open_high)
    if alone.high == INFINITY:
        return Band(one.label, number, number, last=True, open_low=alone.open_low)
    decade = Number(str(number.value + 10), number.unit)
    return Band(one.label, number, decade, open_high=True)


def _is_number(one: Parts, shared: str) -> bool:
    """Whether a label with one number has no words but those behind all others: it is a value, and
    not an end.

    Raises:
        ValueError: if its words before the number are those of all others, which could be an end,
            such as `from 40`.
    """
    before, after = (text.strip("$€£¥₹") for text in one.shape.split("#"))
    shared_before, _, shared_after = (text.strip("$€£¥₹") for text in shared.split("#"))
    if before and before == shared_before:
        raise ValueError("a value or an end")
    return not before and after == shared_after


def _multiplied(tokens: Sequence[Token]) -> list[Token]:
    """Numbers with their factors. That of the second is also that of a smaller first one:
    `10-20k`.
    """
    if len(tokens) < 2 or tokens[0].factor > 1 or tokens[1].factor == 1:
        return list(tokens)
    first, second = tokens
    digits = [re.sub("[^0-9]", "", token.text) for token in (first, second)]
    is_smaller = int(digits[0] or 0) <= int(digits[1] or 0)
    return [
        Token(first.text, first.kind, second.factor if is_smaller else 1, first.negative),
        second,
    ]


def _in_full(first: Token, second: Token) -> Token:
    """The second year of 1990-99."""
    if not re.fullmatch("[12][0-9]{3}", first.text) or not re.fullmatch("[0-9]{2}", second.text):
        return second
    century = int(first.text[:2]) + (second.text < first.text[2:])
    return Token(f"{century}{second.text}", second.kind)


def _as_first(band: Band, after: Band) -> Band:
    """One number before all others: an end up to the next beginning."""
    is_open = band.high.value == after.low.value
    return Band(band.label, band.low, band.high, first=True, open_high=is_open)


def _as_last(band: Band, before: Band) -> Band:
    """One number behind all others: an end from the one before."""
    is_open = band.low.value == before.high.value and not before.open_high
    return Band(band.label, band.low, band.high, last=True, open_low=is_open)


def _follows(one: Band, other: Band) -> bool | None:
    """Whether a band begins where the one before ends, or one unit later. None if it may not stand
    there.
    """
    gap = other.low.value - one.high.value
    if gap < 0 or (
        gap > 0 and not _is_pair(one, other) and gap not in (one.high.unit, other.low.unit)
    ):
        return None
    return gap in (0, one.high.unit, other.low.unit)


def _is_pair(one: Band, other: Band) -> bool:
    """Whether two bands both have two ends, so that one between them may be missing."""
    return one.low.value < one.high.value and other.low.value < other.high.value


def _interval(band: Band) -> str:
    low = "]-inf" if band.first else f"{']' if band.open_low else '['}{band.low.text}"
    high = "inf[" if band.last else f"{band.high.text}{'[' if band.open_high else ']'}"
    return f"{low}, {high}"
