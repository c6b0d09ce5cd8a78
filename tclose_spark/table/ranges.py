"""Labels of ranges as people and tools write them. One grammar: words become signs, and FORMS lists
their sequences.

Signs: n a number, d a decade; < ≤ > ≥ ends, in symbols or in words (English, German, French,
Spanish and Italian); t "to", - a dash or "a", b "between", & "and", + "and over", _ "and under".
Units, currencies and articles leave no sign. A letter before a number is a code, as in `E10`.
Accents, case, width and the kind of a dash or space do not matter.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from unicodedata import category, combining, decimal, normalize

from tclose_spark.runfile.quantities import parse_quantity, within_floats

INFINITY = Fraction(10**2000)
"""An end that a label leaves open, such as that of `80+`: beyond all numbers that are read."""
INFINITE = {"-inf": -INFINITY, "inf": INFINITY}
LONGEST = 80  # characters of a range
PLAIN = re.compile(r"^([\[\](])\s*([^\s,;]+)\s*[,;]\s*([^\s,;]+)\s*([\[\])])$")
BRACKETS = re.compile(r"^([\[\](])(.*)([\[\])])$")
OTHER_DIGIT = re.compile(r"(?![0-9])\d")
UNSURE = re.compile(
    r"\s*(?:[+-]?\d+\s*/\s*\d+|\d{8}[^\dTt ].*|\d{4}-\d\d-\d\d[^\dTt ].*)",
    re.DOTALL,
)
"""A fraction or a range, a time or a range of days: only the other labels of its column show
which.
"""
YEARS = re.compile(r"^\s*([12][0-9]{3})\s*([/-])\s*([0-9]{2}|[0-9]{4})\s*$")

FORMS = [
    (re.compile(f"(?:{signs})"), ends)
    for signs, ends in (
        ("n", "[0, 0]"),
        ("≥?n[-t]n|≥n[-t&]*≤n|bn[&t-]n", "[0, 1]"),
        ("(?:n[-t&]+|≥n[-t&]*)<n|≥?n_n", "[0, 1["),
        (">n[-t]n|>n[-t&]*≤n", "]0, 1]"),
        (">n[-t&]*<n|>n_n", "]0, 1["),
        ("<n[-&]*>n", "]1, 0["),
        ("<n[-&]*≥n", "[1, 0["),
        ("≤n[-&]*>n", "]1, 0]"),
        ("≤n[-&]*≥n", "[1, 0]"),
        ("t?<n", "]-inf, 0["),
        ("[≤t]n|n_", "]-inf, 0]"),
        (">n", "]0, inf["),
        (r"≥n|n\+", "[0, inf["),
    )
]
"""The table of forms: a sequence of signs, and its interval of the numbers 0 and 1 in it. `20 <
age` is `> 20`.
"""
TURNED = str.maketrans("<≤>≥", ">≥<≤")

AND = r"(?:and|or|&|und|oder|et|ou|y|o|e|ed)"
THAN = r"(?: than| als| de| que| di| del| a| i| il)?"
SIGNS = {
    "+": rf"{AND} (?:over|above|more|older|up(?:wards?)?|greater|higher|later|after|beyond|mehr|alter|aelter|daruber|"
    r"spater|plus|au-dela|mas|mayores|mayor|oltre|piu|superiore)|plus(?! de| que)|onwards?|en adelante|"
    r"(?<=[0-9] )minimum|\+",
    "_": rf"(?:{AND}|but|aber) (?:under|below|less|fewer|younger|lower|earlier|before|weniger|junger|darunter|unter|"
    rf"moins|menos|menores|meno|inferiore){THAN}|(?<=[0-9] )max(?:imum)?",
    "≤": r"at most|(?:no|not) (?:more|older|later) than|not over|maximum|max|hochstens|maximal|au plus|como maximo|"
    r"al massimo|al piu|<=|=<|[≤⩽≦]",
    "≥": r"at least|(?:no|not) (?:less|fewer|younger|earlier) than|not under|minimum|min(?= [0-9])|from|since|"
    r"starting (?:at|from)|"
    r"ab|seit|von|mindestens|a partir de|a partire da|au moins|depuis|al menos|por lo menos|como minimo|desde|almeno|"
    r"da|dal|dai|>=|=>|[≥⩾≧]",
    "<": r"(?:just )?under|below|pre-?(?= ?[0-9])|"
    r"(?:less|fewer|lower|smaller|younger|earlier) than|before|prior to|unter|vor|sotto|"
    r"avant|(?:weniger|junger|juenger|kleiner|moins|menos|menor|menores|meno|minore|minori|antes|prima|inferieur|"
    rf"inferior|inferiore){THAN}|<",
    ">": r"(?:just )?over|above|post-?(?= ?[0-9])|"
    r"(?:more|greater|higher|larger|older|later) than|after|exceeding|uber|ueber|nach|oltre|"
    r"apres|sopra|(?:mehr|alter|aelter|grosser|plus|mas|mayor|mayores|piu|maggiore|maggiori|despues|dopo|superieur|"
    rf"superior|superiore){THAN}|>",
    "b": "between|zwischen|entre|tra|fra",
    "t": r"to|through|thru|until|till|up to|bis zu|bis|jusqu'(?:a|au|en)|hasta|fino (?:a|al|ai)",
    "-": r"a|au|al|ai|\.\.\.?|~",
    "&": rf"{AND}|but|aber|[,;]",
}
TIMES = {
    "year": r"years?|yrs?|y/?o|(?<=[0-9])y|jahre?n?|annees?|ans?|anos?|anni|anno|jaar|jaren|rok[iu]?|roky|lata?|let|"
    r"год[аы]?|лет",
    "month": r"months?|mos?|monate?n?|mois|mes|meses|mes[ei]|maand(?:en)?",
    "week": r"weeks?|wks?|wochen?|semaines?|semanas?|settiman[ae]",
    "day": r"days?|tage?n?|jours?|dias?|giorn[oi]",
}
BESIDE = (
    r"of age|ages?|aged|old|olds|jahrige?[rn]?|alt|alter|agees?|de edad|edad|d'eta|eta|d'age|born|the|of|de|d|di|del|"
    r"le|les|la|los|las|i|il|gli|der|die|das|us\$|usd|eur|euros?|gbp|chf|jpy|cad|aud|sek|nok|dkk|dollars?|pounds?|yen|"
    r"fr|percent|per cent|prozent|cm|mm|m|km|kg|g|mg|lbs?|ft|in|ml|l|mmhg|bpm|h|hrs?|hours?|min|minutes?|stunden|"
    r"persons?|people|employees|personen|j|[$€£¥₹%°:.]"
)
NUMBER = r"(?:[0-9]+(?:[,.'][0-9]+|(?<![0-9]{4}) [0-9]{3}(?![0-9]))*|(?<![\w.,])[.,][0-9]+)"
FACTORS = {
    "k|tsd|thousand|tausend|mille?|mila|tys|тыс(?:яч)?|千": 10**3,
    "mio|mn|mln|million(?:s|en|es)?|millones|milioni|млн": 10**6,
    "bn|billion|mrd|milliard(?:s|en)?|млрд": 10**9,
    "万|萬": 10**4,
    "億|亿": 10**8,
    "lakh|lac": 10**5,
    "crore|cr": 10**7,
}
MILLIONS = re.compile(r"(?<=[0-9]) ?m(?![a-z])")
MONEY = re.compile(r"[$€£¥₹]|[0-9] ?k(?![a-z])")
"""Beside these, `m` is a million."""

LETTER = r"[^\W\d_]"
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
SPELLED = re.compile(
    rf"\b(?:({'|'.join(TENS)})(?:[- ]({'|'.join(ONES[1:10])}))?|({'|'.join(ONES[::-1])}))\b",
)
"""Numbers below a hundred in English words."""


def as_word(words: str) -> str:
    """The form of words; those in Latin letters are whole ones."""
    return rf"(?:(?<!{LETTER})(?=[a-z])|(?![a-z]))(?:{words})(?:(?<![a-z])|(?!{LETTER}))"


TOKEN = re.compile(
    "|".join(
        [
            r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9:.]+z?)?(?![0-9]))",
            r"(?P<code>(?<![a-z0-9])[a-z](?=-?[0-9]))",
            r"(?P<decade>[0-9]{0,14}0)(?:'?s|er|歳?代|年代)(?![a-z])",
            rf"(?P<number>{NUMBER}|\+?(?:inf(?:inity)?(?![a-z])|∞))",
            *(rf"(?P<{name}>{as_word(words)})" for name, words in TIMES.items()),
            *(rf"(?P<s{place}>{as_word(words)})" for place, words in enumerate(SIGNS.values())),
            *(rf"(?P<f{factor}>{as_word(words)})" for words, factor in FACTORS.items()),
            rf"(?P<beside>{as_word(BESIDE)})",
            r"(?P<dash>-)|(?P<word>[a-z_][\w./'-]*)|(?P<other>\S)",
        ],
    ),
)
LOCAL = re.compile(
    r"(?<![a-z])(?:bis|ab|unter|uber|und|von|zwischen|mehr|weniger|jahren?|a|et|ans|moins|plus|entre|y|mas|menos|anos|"
    r"meno|piu|oltre|anni|tra)(?![a-z])",
)
"""Words of languages that write decimals with a comma."""
DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
GROUPED = re.compile(r"[1-9][0-9]{0,2}([,.])[0-9]{3}(?:\1[0-9]{3})*")
LOOKS = re.compile(
    r".+\*|\*+[^*]|[0-9]+[x#?_•]+$|[\[\](].*[,;].*[\[\])]$|[0-9]+_[0-9]+$|.*[\[(] ?[0-9.]* ?[,;] ?[0-9.]* ?[\])]",
)
CODES = re.compile(r"([a-z])[0-9]{2}-[a-z][0-9]{2}|([a-z]{1,3})[0-9]+-\2[0-9]+")
"""Ranges of codes, such as those of diagnoses."""
VALUE = re.compile(r"[a-z][0-9].*|[0-9]{5}-[0-9]{4}")
"""Codes that are no ranges, such as E10.4 and a zip code of nine digits."""
LOOKS_SIGNED = re.compile(r".*[<≤>≥_b][?-]*[nd]|.*[nd][+_]|\??n[-t]n\??$|d$")
REDACTED = re.compile(
    r"([-#?.=~/])\1{2,}|\*+|x{3,}|[_█•]{2,}|redacted|masked|suppressed|anonymi[sz](?:ed|iert)|removed|deleted|hidden|"
    r"withheld|confidential|generali[sz]ed|undisclosed|not disclosed|geschwarzt|entfernt|geloscht|vertraulich|"
    r"unkenntlich|maskiert|masquee?|"
    r"supprimee?|anonymisee?|confidentiel(?:le)?|ocult[oa]|suprimid[oa]|anonimizad[oa]|eliminad[oa]|"
    r"oscurat[oa]|soppress[oa]|anonimizzat[oa]|riservat[oa]",
)
EMPTY = re.compile(
    r"x|[-?.#█•]+|n\.?/?a\.?|nan|null|none|nil|unknown|missing|blank|any|all|private|"
    r"not (?:available|stated|applicable|known|reported)|unbekannt|k\.? ?a\.?|keine angabe|alle|inconnue?|nd|"
    r"non disponible|desconocid[oa]|no disponible|sconosciut[oa]",
)
NO_ENDS = re.compile(r"(na|n/a|nan|null|none)(?: ?[-,;]+ ?|\.\.+| to )\1")
"""What a tool writes between two missing ends, such as NA-NA."""
MONTHS = (
    "jan|ene|gen|feb|fev|mar|mrz|apr|avr|abr|may|mai|mag|jun|juin|giu|jul|juil|lug|aug|aou|ago|sep|set|oct|okt|ott|"
    "nov|dec|dez|dic"
)
DATE = re.compile(
    rf"[0-9]{{1,2}}[-./ ]+(?:{MONTHS})[a-z]*\.?|(?:{MONTHS})[a-z]*\.?[-./ ]+[0-9]{{2,4}}|"
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ].*)?",
)


@dataclass(frozen=True)
class Interval:
    """Numbers from low to high; an open end is excluded. unit: of time, of a range whose label
    names one.
    """

    low: Fraction
    high: Fraction
    open_low: bool = False
    open_high: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Signs:
    """A label as signs, the numbers among them, and their unit of time."""

    signs: str
    numbers: tuple[str, ...]
    unit: str = ""


def as_interval(label: str) -> str:
    """A range in any form as an interval, half-open as ARX writes it; any other label as it is. A
    decade has the ten numbers' width.

    >>> [as_interval(label) for label in ("50s", "50-59", "20 < Age ≤ 30", "Under 5 years", "[80,)", "Rome")]
    ['[50, 60[', '[50, 59]', ']20, 30]', ']-inf, 5[', '[80, inf[', 'Rome']
    """
    return label if len(label) > LONGEST or _is_plain(label) else _normal(label) or label


def read_interval(label: str) -> Interval:
    """The interval that a label of any tool means: a number, `[lo, hi]`, or any other form (see
    `as_interval`).

    >>> interval = read_interval("[20, 30[")
    >>> int(interval.low), int(interval.high), interval.open_high
    (20, 30, True)

    Raises:
        ValueError: if it is none of these, or has a number that no float holds.
    """
    if not YEARS.match(label) and not UNSURE.fullmatch(label):
        try:
            number = within_floats(parse_quantity(label))
            return Interval(number, number)
        except ValueError:
            pass
    match = PLAIN.match(as_interval(label))
    if match is None:
        raise ValueError("neither a number nor a range")
    first, low_text, high_text, last = match.groups()
    low, high = (
        INFINITE.get(text) or within_floats(parse_quantity(text)) for text in (low_text, high_text)
    )
    open_low = first in "]("
    open_high = last in "[)"
    if low > high or (low == high and (open_low or open_high or abs(low) == INFINITY)):
        raise ValueError("an interval without numbers")
    return Interval(
        low,
        high,
        open_low,
        open_high,
        "" if match[0] == label else _signs(folded(label)).unit,
    )


def interval_or_none(label: str) -> Interval | None:
    """The interval of a label; None if it is not one."""
    try:
        return read_interval(label)
    except ValueError:
        return None


def looks_generalized(label: str) -> bool:
    """Whether a text looks like a mask or a range, whether or not it shows which values it covers.

    >>> [label for label in ("476**", "20-29", "Over 80 or so", "[a, b]", "*", "a-b") if looks_generalized(label)]
    ['476**', '20-29', 'Over 80 or so', '[a, b]']
    """
    text = folded(label[: LONGEST + 1])
    if LOOKS.match(text) or CODES.fullmatch(text):
        return True
    if VALUE.fullmatch(text):
        return False
    signs = _signs(text).signs
    return LOOKS_SIGNED.match(signs) is not None and not re.fullmatch("n[<>≤≥]n", signs)


def shows_nothing(label: str, alone: bool = False) -> bool:
    """Whether a text stands for a value that was removed. alone: it is the only text of its column.

    >>> [shows_nothing(text) for text in ("[REDACTED]", "***", "n/a", "Rome")], shows_nothing("n/a", alone=True)
    ([True, True, False, False], True)
    """
    text = folded(label[: LONGEST + 1])
    text = re.sub(r"^[\[({<]+(.+?)[\])}>]+$", r"\1", text).strip()
    return bool(
        REDACTED.fullmatch(text) or NO_ENDS.fullmatch(text) or (alone and EMPTY.fullmatch(text)),
    )


def _is_plain(label: str) -> bool:
    """Whether a label is a number, or an interval whose ends are read as they are."""
    match = PLAIN.match(label)
    ends = match.group(2, 3) if match else (label,)
    try:
        return not YEARS.match(label) and all(
            end in INFINITE or parse_quantity(end) is not None for end in ends
        )
    except ValueError:
        return False


def is_date(label: str) -> bool:
    """Whether a text is a date, as a spreadsheet writes one in place of `5-9` too.

    >>> [is_date(label) for label in ("9-May", "Oct-14", "9. Mai", "2024-05-09", "5-9", "Mayor")]
    [True, True, True, True, False, False]
    """
    return DATE.fullmatch(folded(label[: LONGEST + 1])) is not None


@lru_cache(maxsize=1 << 14)
def _normal(label: str) -> str | None:
    """The interval that a label means, in brackets; None if it is in none of the forms."""
    text = folded(label)
    if years := YEARS.match(text):
        return _years(*years.groups())
    if VALUE.fullmatch(text):
        return None
    digits = SPELLED.sub(_spelled, text)
    if digits != text and not digits.isdecimal():  # a value stays one
        text = digits
    brackets = BRACKETS.match(text)
    if brackets is None:
        return _by_form(text)
    first, inner, last = brackets.groups()
    parts = _ends(inner)
    if parts is None:
        range_ = PLAIN.match(_by_form(inner) or "")
        return (
            f"{first}{range_[2]}, {range_[3]}{last}" if range_ and range_[2] != range_[3] else None
        )
    low, high = (
        _by_form(part) if part.strip(' "') else f"[{infinite}, {infinite}]"
        for part, infinite in parts
    )
    points = [PLAIN.match(one or "") for one in (low, high)]
    if not all(point and point[2] == point[3] for point in points):
        return None
    texts = [point[2] for point in points if point]
    return (
        f"{']' if texts[0] == '-inf' else first}{texts[0]}, "
        f"{texts[1]}{'[' if texts[1] == 'inf' else last}"
    )


def _spelled(number: re.Match[str]) -> str:
    """A number in words as digits."""
    tens, one, other = number.groups()
    return str(
        ONES.index(other)
        if other
        else 10 * (TENS.index(tens) + 2) + (ONES.index(one) if one else 0),
    )


def _ends(inner: str) -> list[tuple[str, str]] | None:
    """Both ends between brackets, each with what it is if empty; None without a mark between them.
    Of several commas, the one in the middle is that mark.
    """
    for mark in (";", ", ", ","):
        parts = inner.split(mark)
        if len(parts) % 2 == 0:
            half = len(parts) // 2
            return [(mark.join(parts[:half]), "-inf"), (mark.join(parts[half:]), "inf")]
    return None


def _years(first: str, mark: str, last: str) -> str | None:
    """The years of 1990-1999, 1990-99 and 2019/20. 2001-02 may be a month, and is none."""
    if len(last) == 2:
        if (
            (int(first) + 1) % 100 != int(last)
            if mark == "/"
            else int(last) <= 12 and int(last) > 0
        ):
            return None
        last = str(
            int(first) // 100 * 100 + int(last) + (100 if int(last) < int(first) % 100 else 0),
        )
    return f"[{first}, {last}]"


def _by_form(text: str) -> str | None:
    """The interval of a text without brackets, by the table of forms."""
    if not any(character.isdigit() or character == "∞" for character in text) and "inf" not in text:
        return None
    read = _signs(text.strip('" '))
    if re.fullmatch("d(?:[-t]d)?", read.signs):
        return f"[{read.numbers[0]}, {int(read.numbers[-1]) + 10}["
    turned = re.sub("^n([<≤>≥])(?!n)", lambda end: end[1].translate(TURNED) + "n", read.signs)
    for signs, ends in FORMS:
        if signs.fullmatch(turned):
            return re.sub("[01]", lambda place: read.numbers[int(place[0])], ends)
    return None


@lru_cache(maxsize=1 << 14)
def _signs(text: str) -> Signs:
    """The signs of a folded text; a `?` for each word without one, unless symbols of inequality are
    beside a name.
    """
    signs = ""
    numbers = list[str]()
    units = set[str]()
    factors: list[int] = []
    negative = False
    symbols = re.search("[<>≤≥⩽⩾≦≧]", text) is not None
    text = MILLIONS.sub("mio", text) if MONEY.search(text) else text
    for token in TOKEN.finditer(text):
        kind = token.lastgroup or "other"
        found = token[kind]
        if kind in ("number", "date", "decade"):
            number = found if kind != "number" else plain_number(found, text)
            numbers.append(f"-{number}" if negative else number)
            factors.append(1)
            signs = signs + ("d" if kind == "decade" else "n")
            negative = False
        elif kind == "dash":
            negative = not signs.endswith(("n", "d"))
            signs += "" if negative else "-"
        elif kind[0] == "f" and kind[1:].isdigit():
            factors[-1:] = [int(kind[1:])] if factors else []
        elif kind[0] == "s":
            signs += list(SIGNS)[int(kind[1:])]
        elif kind in TIMES:
            units.add(kind)
        elif found == "m":  # metres or months
            units.add("m")
        elif kind != "beside" and not (kind == "word" and symbols):
            signs += "?"
    return Signs(
        _tidy(signs, len(units)),
        tuple(_multiplied(numbers, factors)),
        "".join(units) if len(units) == 1 else "",
    )


def _tidy(signs: str, units: int) -> str:
    """Signs without what is written twice: `20- bis 29`, `20 years, and over`. A range in two units
    is not read.
    """
    signs = re.sub("-*t-*", "t", signs).lstrip("&")
    signs = re.sub(r"&+(?=[+_])|(?<=t)≤|(?<=[nd].[nd])[-&]+$|&+$", "", signs)
    return signs if units < 2 else f"{signs}?"


def _multiplied(numbers: list[str], factors: list[int]) -> Iterator[str]:
    """The numbers by thousands or millions. Those of the last one are also those of a smaller one
    before: 10-20k.

    With a date or `1.2.3` among them, all are as they are.
    """
    if not all(map(DECIMAL.fullmatch, numbers)):
        factors = [1] * len(numbers)
    for number, factor in zip(numbers, factors, strict=True):
        if len(numbers) == 2 and factor == 1 < factors[1] and float(number) <= float(numbers[1]):
            factor = factors[1]
        yield number if factor == 1 else f"{Decimal(number) * factor:f}"


def plain_number(text: str, beside: str) -> str:
    """A number without marks of thousands, and with a point. beside: its label, whose words show
    the language.

    >>> plain_number("1.500", "1.500-1.999"), plain_number("1.500", "1.500 bis 1.999")
    ('1.500', '1500')
    """
    if text[0] in "+i∞":
        return "inf"
    text = text.replace("'", "").replace(" ", "")
    marks = [character for character in text if character in ",."]
    if not marks:
        return text
    local = LOCAL.search(beside) is not None
    last = marks[-1]
    thousands = len(marks) > 1 or (last == ",") != local or (last == "." and "€" in beside)
    if len(set(marks)) == 1 and GROUPED.fullmatch(text) and thousands:
        return text.replace(last, "")
    return text.replace("," if last == "." else ".", "").replace(last, ".")


def folded(label: str) -> str:
    """A label without accents, case, width, and kinds of dashes, quotes, spaces and digits.

    >>> folded(" \u0663\u0660 \u2013\u00a0\u0663\u0669 Años")
    '30 - 39 anos'
    """
    label = OTHER_DIGIT.sub(lambda digit: str(decimal(digit[0])), label)
    text = normalize("NFKD", html.unescape(label) if "&" in label else label).casefold()
    text = "".join(
        character for character in text if not combining(character) and category(character) != "Cf"
    )
    return " ".join(
        re.sub("[\u2010-\u2015\u2212]", "-", re.sub("[\u2018\u2019\u02bc`]", "'", text)).split(),
    )
