"""The patterns of values. Only counts leave this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tclose_spark.runfile.quantities import MONTHS

IDENTIFYING: Mapping[str, str] = {
    "e-mail addresses": r"[^\s@]+@[^\s@]+\.[A-Za-z]{2,}",
    "IBANs": r"[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}( ?[A-Z0-9]{2,4}){2,7}",
    "UUIDs": r"\{?[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\}?",
    "hashes": r"(0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96,128})",
    "social security numbers": r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
    "card numbers": r"([0-9]{4}[ -]?){3}[0-9]{3,4}",
    "IP addresses": (
        r"([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
        r"|([0-9a-fA-F]{1,4}:){1,7}(:[0-9a-fA-F]{1,4}){0,6}|:(:[0-9a-fA-F]{1,4}){1,7}"
    ),
    "MAC addresses": r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}",
    "web addresses": r"(https?://|www\.)\S+",
    "phone numbers": (
        r"(\+|00)[0-9][0-9 ()./-]{6,}[0-9]|\([0-9]{2,5}\)[ -]?[0-9]{3,5}[ -]?[0-9]{2,6}|0[0-9]{2,4}[/ -][0-9]{4,9}"
        r"|[0-9]{2,5}[ /.-][0-9]{2,4}[ .-][0-9]{2,5}([ .-][0-9]{2,4})?"
    ),
    "postal addresses": (
        r"(?i)[0-9]{1,6}[a-z]?,? .*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|square|way|boulevard|blvd)"
        r"\b.*|.*(stra\x{df}e|strasse|str\.|weg|platz|allee|gasse|straat) ?[0-9]+.*"
        r"|([0-9]+,? )?(rue|via|calle|avenida) .*[0-9 ].*"
    ),
}
"""Patterns (RE2) of a person's values; each matches a whole value. Dates are excluded."""

OF_ONE = frozenset(["IBANs", "UUIDs", "hashes", "social security numbers", "card numbers"])
"""Those of IDENTIFYING that no two people share."""

DATE = r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}([T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})([T ].*)?"
_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
ISO_DATE = (
    rf"{_YEAR}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|{_YEAR}-(0[13-9]|1[0-2])-(29|30)|{_YEAR}-(0[13578]|1[02])-31"
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29"
)
"""Dates from which a hierarchy can be built."""
ISO_TIME = rf"({ISO_DATE})[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{{1,6}})?)?"
"""The same with a time of day, without a zone."""
DATE_FORMATS: Mapping[str, tuple[str, str]] = {
    "%d.%m.%Y": (r"^([0-9]{2})\.([0-9]{2})\.([0-9]{4})$", r"\3-\2-\1"),
    "%d/%m/%Y": (r"^([0-9]{2})/([0-9]{2})/([0-9]{4})$", r"\3-\2-\1"),
    "%m/%d/%Y": (r"^([0-9]{2})/([0-9]{2})/([0-9]{4})$", r"\3-\1-\2"),
    "%d-%m-%Y": (r"^([0-9]{2})-([0-9]{2})-([0-9]{4})$", r"\3-\2-\1"),
    "%m-%d-%Y": (r"^([0-9]{2})-([0-9]{2})-([0-9]{4})$", r"\3-\1-\2"),
    "%Y/%m/%d": (r"^([0-9]{4})/([0-9]{2})/([0-9]{2})$", r"\1-\2-\3"),
    "%Y.%m.%d": (r"^([0-9]{4})\.([0-9]{2})\.([0-9]{2})$", r"\1-\2-\3"),
    "%Y%m%d": (r"^((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})$", r"\1-\2-\3"),
    "%d-%b-%Y": (r"^([0-9]{2})-M([0-9]{2})-([0-9]{4})$", r"\3-\2-\1"),
    "%d %b %Y": (r"^([0-9]{2}) M([0-9]{2}) ([0-9]{4})$", r"\3-\2-\1"),
    "%d%b%Y": (r"^([0-9]{2})M([0-9]{2})([0-9]{4})$", r"\3-\2-\1"),
    "%d/%b/%Y": (r"^([0-9]{2})/M([0-9]{2})/([0-9]{4})$", r"\3-\2-\1"),
    "%b-%Y": (r"^M([0-9]{2})-([0-9]{4})$", r"\2-\1-01"),
    "%b %Y": (r"^M([0-9]{2}) ([0-9]{4})$", r"\2-\1-01"),
    "%Y-%b": (r"^([0-9]{4})-M([0-9]{2})$", r"\1-\2-01"),
    "%m/%Y": (r"^([0-9]{2})/([0-9]{4})$", r"\2-\1-01"),
    "%m.%Y": (r"^([0-9]{2})\.((?:19|20)[0-9]{2})$", r"\2-\1-01"),
    "%m-%Y": (r"^([0-9]{2})-([0-9]{4})$", r"\2-\1-01"),
    "%Y-%m": (r"^([0-9]{4})-([0-9]{2})$", r"\1-\2-01"),
}
"""How dates may be written, as `date_format`, and how such a text becomes an ISO date, of a month
its first. Both digits are there, and a month by its name is M and its number.
"""
_MINUTE = r"([01]?[0-9]|2[0-3]):[0-5][0-9]"
_SECOND = ":[0-5][0-9]"
_ZONE = r"([+-](0[0-9]|1[0-4]):?[0-5][0-9]|Z)"
_BEFORE = {" ": "[0-9]", ":": "[0-9]{4}", "T": "[0-9]"}


def _clocks() -> Iterator[tuple[str, str]]:
    """(the form of a time of day behind a date, what it matches)."""
    for sign, seconds, zone in product(_BEFORE, ("", ":%S"), ("", "%z", " %z")):
        parts = [
            _BEFORE[sign],
            sign,
            _MINUTE,
            _SECOND if seconds else "",
            zone.replace("%z", _ZONE),
            "$",
        ]
        yield f"{sign}%H:%M{seconds}{zone}", "".join(parts)


CLOCKS: Mapping[str, str] = dict(_clocks())
"""How a time of day may be written behind a date of DATE_FORMATS, and what it matches."""
CLOCK = f"[ :T]{_MINUTE}({_SECOND})?( ?{_ZONE})?$"
NAMED_MONTH = r"(?i)^([0-9]{1,2}|[0-9]{4})?[- /]?[a-z]{3}[- /]?([0-9]{4})?$"
CODED_NUMBER = r"[+-]?0[0-9]+(\.[0-9]*)?|\+[0-9]+"
"""Numbers that are codes: read as numbers, they lose their zeros."""
AMOUNT = r"[\p{Sc}A-Z]{0,3} ?-?[0-9]{1,3}([0-9]*|([.,' \x{a0}\x{202f}][0-9]{3})+)([.,][0-9]{1,2})? ?[\p{Sc}A-Z]{0,3}"
"""Amounts with a decimal comma, separators of thousands or a currency."""
MEASURE = r"[+-]?\p{Sc} ?[0-9][0-9.,' ]*|[+-]?[0-9][0-9.,' ]* ?(\p{Sc}|[%\x{2030}])|[+-]?[0-9]+[.,][0-9]{1,4}"
"""Numbers that measure: with a fraction, a currency or a percent sign. No key of a person is
written so.
"""
PADDED = tuple(rf"[+-]?[0-9]+\.[0-9]{{{digits}}}" for digits in (2, 3, 4))
"""Numbers with the same digits after the point, in which zeros in front only pad: codes such as
003.1 have fewer.
"""
BOOLEAN = r"(?i)true|false"
SEVERAL = r"^[\[{(].*[\]})]$|[^.]\.\.[^.]"
"""Labels of several values: sets, intervals, and groups by their ends."""
BETWEEN = r'"?, "?|\.\.'
MARKED = r"\*|\{.*\}"
"""Values with a meaning in a release: the whole domain, and a set."""

PLACEHOLDERS, REFUSALS, REFUSING, AMONG_NUMBERS = (
    tuple(words.split(", "))
    for words in yaml.safe_load(
        files(__package__).joinpath("placeholders.yaml").read_text(encoding="utf-8"),
    ).values()
)
"""Words that often stand for a missing value; those with which a refusal to answer begins, and goes
on; and those of the first that stand for a missing value among numbers only. They are not values of
people, so a file may name them.
"""
REFUSAL = rf"(?i)({'|'.join(REFUSALS)})( ({'|'.join(REFUSING)}))*[.!]?"
"""A refusal to answer, with no other words in it."""

FREE_TEXT = 40  # mean number of characters from which text counts as free text


def count_matching(values: pa.Array, counts: pa.Array, pattern: str) -> int:
    """How many rows have a value that matches the whole pattern.

    values: distinct texts, without missing ones; counts: the rows of each.
    """
    hits = pc.match_substring_regex(values, f"^({pattern})$")
    return int(pc.sum(counts.filter(hits)).as_py() or 0)


def count_dates(values: pa.Array, counts: pa.Array) -> dict[str, int]:
    """How many rows have a date in each of DATE_FORMATS, perhaps with a time of day behind it, and
    how many have that in each of CLOCKS. Days and months may have one digit.

    values: distinct texts, without missing ones; counts: the rows of each.

    >>> found = count_dates(pa.array(["18.10.1964", "1/2/1964", "31.2.1964"]), pa.array([3, 2, 1]))
    >>> {form: rows for form, rows in found.items() if rows}
    {'%d.%m.%Y': 3, '%d/%m/%Y': 2, '%m/%d/%Y': 2}
    """
    clocks = dict.fromkeys(CLOCKS, 0)
    timed = pc.match_substring_regex(values, f"[0-9]{CLOCK}")
    if pc.any(timed).as_py():
        times = {
            form: pc.and_(timed, pc.match_substring_regex(values, end))
            for form, end in CLOCKS.items()
        }
        clocks = {
            form: int(pc.sum(counts.filter(held)).as_py() or 0) for form, held in times.items()
        }
        values = pc.replace_substring_regex(values, CLOCK, "")
    padded = values
    if pc.any(pc.match_substring_regex(padded, NAMED_MONTH)).as_py():
        for number, name in enumerate(MONTHS, start=1):
            padded = pc.replace_substring_regex(padded, f"(?i){name}", f"M{number:02d}")
        padded = pc.replace_substring_regex(padded, "^([0-9][- /]?M)", r"0\1")
    for _ in range(2):  # matches that share a separator are found one after the other
        padded = pc.replace_substring_regex(padded, r"(^|[./-])([0-9])([./-]|$)", r"\10\2\3")
    dates = {
        form: count_matching(pc.replace_substring_regex(padded, pattern, iso), counts, ISO_DATE)
        if pc.any(pc.match_substring_regex(padded, pattern)).as_py()
        else 0
        for form, (pattern, iso) in DATE_FORMATS.items()
    }
    return {**dates, **clocks}


def forms_of(counted: Mapping[str, int], rows: int) -> tuple[str, ...]:
    """The forms of all these rows, as `date_format`; several if the day may be the month. counted:
    see `count_dates`.

    >>> texts = pa.array(["1/Mar/2024:13:49:22 +0000"])
    >>> forms_of(count_dates(texts, pa.array([3])), 3)
    ('%d/%b/%Y:%H:%M:%S %z',)
    """
    clocks = [clock for clock in CLOCKS if counted.get(clock)]
    common = [clock for clock in clocks if counted[clock] == rows]
    if clocks and not common:
        return ()
    clock = "".join(common[:1])
    dates = [form for form in DATE_FORMATS if 0 < rows == counted.get(form)]
    return tuple(f"{form}{clock}" for form in dates if "%d" in form or not clock)


def identifying(values: pa.Array, counts: pa.Array) -> dict[str, int]:
    """How many rows look like each of IDENTIFYING, without the blanks at their ends. A value counts
    for the first pattern that it, a member of its set or an end of its interval matches; a date and
    a measure for none.

    >>> texts = pa.array(["a@b.org", "{123-45-6789, 123-45-6780}", " 123-45-6789..123-45-6799", "{1, 2}"])
    >>> identifying(texts, pa.array([1, 2, 4, 8]))
    {'e-mail addresses': 1, 'social security numbers': 6}
    """
    found: dict[str, int] = {}
    plain = pc.utf8_trim_whitespace(values)
    several = pc.match_substring_regex(plain, SEVERAL)
    parts = pc.split_pattern_regex(
        pc.if_else(several, pc.utf8_trim(plain, '[]{}()"'), plain),
        BETWEEN,
    )
    parts = pc.if_else(several, parts, pc.split_pattern(plain, "\0"))
    place = pc.list_parent_indices(parts)
    texts = pc.list_flatten(parts)
    others = pc.match_substring_regex(texts, f"^({DATE}|{MEASURE})$")
    place = place.filter(pc.invert(others))
    texts = texts.filter(pc.invert(others))
    for name, pattern in IDENTIFYING.items():
        held = pc.unique(place.filter(pc.match_substring_regex(texts, f"^({pattern})$")))
        if rows := int(pc.sum(counts.take(held)).as_py() or 0):
            found[name] = rows
            left = pc.invert(pc.is_in(place, value_set=held))
            place = place.filter(left)
            texts = texts.filter(left)
    return found


def placeholders(values: pa.Array, counts: pa.Array) -> dict[str, int]:
    """How many rows have each word of PLACEHOLDERS and each refusal, in any case and with
    surrounding spaces.
    """
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(values))
    words = pc.is_in(plain, value_set=pa.array(PLACEHOLDERS, plain.type))
    held = pc.or_(words, pc.match_substring_regex(plain, f"^({REFUSAL})$"))
    found: dict[str, int] = {}
    for word, rows in zip(
        plain.filter(held).to_pylist(),
        counts.filter(held).to_pylist(),
        strict=True,
    ):
        found[word] = found.get(word, 0) + rows
    return found
