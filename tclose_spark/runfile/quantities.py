"""Exact quantities: numbers, and dates and times as days since 1970. Times are UTC; years are 1 to
9999.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Literal

Calendar = Literal["date", "timestamp"]
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
CODES_A_DAY: dict[Calendar, int] = {"date": 1, "timestamp": 86_400_000_000}
"""Dates are counted in days, times in microseconds."""
FIRST = (datetime.min - EPOCH) // MICROSECOND
LAST = (datetime.max - EPOCH) // MICROSECOND
DIRECTIVES = set("dmbYHMSfzj%")
"""What the form of a date may name. Two digits of a year would depend on a guess."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""What `%b` reads, in any language that the computer is set to."""
NAMED = re.compile("|".join(MONTHS), re.IGNORECASE)
MOST_DIGITS = 18  # of a count: it fits 64 bits
LARGEST_COUNT = 10**MOST_DIGITS - 1
SPACED = re.compile(r"\s/|/\s")
"""A blank beside the slash. Python 3.12 reads a fraction there, and Python 3.11 none. It is refused,
so that both agree.
"""
HUGE_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4,}\s*$")


def parse_number(text: str) -> Fraction:
    """The exact number that a text denotes: 0.1 is one tenth.

    >>> parse_number("0.1"), parse_number("1/3")
    (Fraction(1, 10), Fraction(1, 3))

    Raises:
        ValueError: if it denotes none, has a blank beside its slash, or has an exponent of four
            digits or more, which would take too long to expand.
    """
    if HUGE_EXPONENT.search(text):
        raise ValueError("a number out of all range")
    if "_" in text or SPACED.search(text):
        raise ValueError("no number")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError("no number") from None


def within_floats(number: Fraction) -> Fraction:
    """The number, if a float can hold it.

    Raises:
        ValueError: if none can.
    """
    try:
        float(number)
    except OverflowError:
        raise ValueError("a number out of all range") from None
    return number


def parse_moment(text: str) -> Fraction:
    """The days since 1970 of an ISO date or time. Without a zone it is UTC.

    >>> parse_moment("1970-01-11"), parse_moment("1970-01-01T14:00:00+02:00")
    (Fraction(10, 1), Fraction(1, 2))

    Raises:
        ValueError: if it denotes none.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError("a time out of all range") from None
    return Fraction((moment - EPOCH) // MICROSECOND, CODES_A_DAY["timestamp"])


def read_form(text: str, form: str) -> datetime:
    """The date or time of a text in a form of `strptime`, with English names of months.

    >>> read_form("29-FEB-2024", "%d-%b-%Y")
    datetime.datetime(2024, 2, 29, 0, 0)

    Raises:
        ValueError: if it is none.
    """
    if "%b" in form:
        text = NAMED.sub(lambda name: f"{MONTHS.index(name[0].lower()) + 1}", text)
        form = form.replace("%b", "%m")
    return datetime.strptime(text, form)


def check_date_format(form: str) -> str:
    """A form of texts of dates or times (see `read_form`), with numbers and short English names of
    months. A month without a day is read as its first day.

    >>> check_date_format("%d.%m.%Y"), check_date_format("%b-%Y")
    ('%d.%m.%Y', '%b-%Y')

    Raises:
        ValueError: if it names anything else, or no month of a year.
    """
    if unknown := sorted(set(re.findall("%(.?)", form)) - DIRECTIVES):
        raise ValueError(
            f"expected directives of {', '.join(f'%{one}' for one in sorted(DIRECTIVES))}; "
            f"%{unknown[0]} is none",
        )
    example = datetime(2024, 2, 29 if "%d" in form or "%j" in form else 1, 12, 34, tzinfo=UTC)
    try:
        day = read_form(example.strftime(form.replace("%b", "Feb")), form).date()
    except (ValueError, re.error):
        day = None
    if day != example.date():
        raise ValueError("expected a form with year and month, such as %d.%m.%Y or %b-%Y")
    return form


def parse_quantity(text: str) -> Fraction:
    """The number that a text denotes; for a date or time, its days since 1970.

    >>> parse_quantity("0.5"), parse_quantity("1970-01-11")
    (Fraction(1, 2), Fraction(10, 1))

    Raises:
        ValueError: if it denotes neither.
    """
    try:
        return parse_number(text)
    except ValueError:
        return parse_moment(text)


def write_moment(code: int, calendar: Calendar) -> str:
    """A date by its days, or a time by its microseconds since 1970, as ISO; out of range, the
    nearest possible one.

    >>> write_moment(10, "date"), write_moment(-500_000, "timestamp")
    ('1970-01-11', '1969-12-31T23:59:59.500000')
    """
    moment = EPOCH + timedelta(
        microseconds=min(
            max(code * (CODES_A_DAY["timestamp"] // CODES_A_DAY[calendar]), FIRST),
            LAST,
        ),
    )
    return date.isoformat(moment) if calendar == "date" else moment.isoformat()
