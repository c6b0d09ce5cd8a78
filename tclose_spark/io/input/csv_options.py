"""The options for reading a CSV file, and their consequences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.text_files import is_zip
from tclose_spark.runfile.spec import Input

THOUSANDS = (".", ",", "'", "\u2019", " ", "\u00a0", "\u202f")
"""What may stand between groups of three digits."""
CURRENCIES = ("$", "\u20ac", "\u00a3", "\u00a5", "EUR", "USD", "GBP", "CHF", "%")
"""What may stand before or after an amount, and the sign of percentages."""
SIGNS = ("quote", "escape", "comment", "charToEscapeQuoteEscaping")
"""Options that are one character."""
BLANKS = " \u00a0"
"""Blanks between an amount and its currency."""


@dataclass(frozen=True)
class Numerals:
    """How numbers are written: the decimal mark, and the mark of thousands and the currency if
    there are any.

    >>> german = Numerals(",", ".")
    >>> [bool(re.search(german.pattern, text)) for text in ("1.234,50", "12", "-0,5", "1.23", "01.234")]
    [True, True, True, False, False]
    >>> [bool(re.search(Numerals(currency="$").pattern, text)) for text in ("$5", "-$5.50", "$-5", "5 $", "$", "$$5")]
    [True, True, True, True, False, False]
    """

    decimal: str = "."
    thousands: str = ""
    currency: str = ""

    @property
    def others(self) -> str:
        """The signs that are left out of a number."""
        return self.thousands + (self.currency + BLANKS if self.currency else "")

    @property
    def pattern(self) -> str:
        """What a number matches (RE2, Java, Python)."""
        groups = rf"[1-9][0-9]{{0,2}}([{self.thousands}][0-9]{{3}})+|" if self.thousands else ""
        number = rf"({groups}[0-9]+)([{self.decimal}][0-9]+)?"
        sign = "[+-]?"
        if not self.currency:
            return f"^{sign}{number}$"
        currency = re.escape(self.currency)
        return f"^({sign}({currency}[{BLANKS}]?)?|{currency}[{BLANKS}]?{sign}){number}([{BLANKS}]?{currency})?$"

    def read(self, value: str | Decimal) -> str | Decimal:
        """A text as Python writes the number, if it is one in this form; other values as they are.

        >>> Numerals(",", ".").read("1.000"), Numerals(",", ".").read("1.5")
        ('1000', '1.5')
        """
        if not isinstance(value, str) or not re.search(self.pattern, value):
            return value
        return value.translate(str.maketrans(self.decimal, ".", self.others))


def numerals_of(source: Input) -> Numerals | None:
    """How numbers are written; None if as in Python.

    Raises:
        ConfigurationError: naming an option with another mark.
    """
    decimal = option_of(source, "decimal") or "."
    thousands = option_of(source, "thousands")
    currency = option_of(source, "currency")
    for key, mark, marks in (
        ("decimal", decimal, (".", ",")),
        ("thousands", thousands, ("", *THOUSANDS)),
        ("currency", currency, ("", *CURRENCIES)),
    ):
        if mark not in marks:
            raise ConfigurationError(
                f"input.options.{key}: {mark!r}; expected one of {' '.join(map(repr, marks))}",
            )
    if decimal == thousands:
        raise ConfigurationError(
            f"input.options.thousands: {thousands!r} is the decimal mark; expected another",
        )
    made = Numerals(decimal, thousands, currency)
    return None if made == Numerals() else made


def require_single_signs(source: Input) -> None:
    """Raises ConfigurationError unless options that are one sign for a reader are one at most."""
    for key in SIGNS:
        given = option_of(source, key)
        if len(given) > 1 or "\ud800" <= given <= "\udfff":
            raise ConfigurationError(f"input.options.{key}: {given!r}; expected one character")


def lines_left_out(source: Input, key: str) -> int:
    """The lines that `skip_rows` or `skip_footer` leaves out.

    Raises:
        ConfigurationError: if it is no number of lines.
    """
    given = option_of(source, key) or "0"
    if not re.fullmatch("[0-9]{1,6}", given):
        raise ConfigurationError(f"input.options.{key}: {given!r}; expected a number of lines")
    return int(given)


def is_read_here(source: Input) -> bool:
    """Whether this process reads the input, also for Spark, whose reader does not have its format
    or options.
    """
    if source.format != "csv":
        return source.format not in ("parquet", "delta", "table")
    left_out = any(lines_left_out(source, key) for key in ("skip_rows", "skip_footer"))
    infers = option_of(source, "inferSchema").lower() == "true"
    return is_zip(source.path) or left_out or (infers and numerals_of(source) is not None)


def csv_options(source: Input) -> dict[str, str]:
    """The options, with those that the encoding needs. Lines end at a byte 10, which UTF-16 also
    has inside characters.
    """
    options = {"escape": option_of(source, "quote") or '"', **source.options}
    wide = is_wide(encoding_of(source))
    return (
        {"multiLine": "true", **options} if wide and not option_of(source, "lineSep") else options
    )


def option_of(source: Input, *names: str) -> str:
    """The value of an option, whose name may have any case; empty if it is not given."""
    given = {key.lower(): value for key, value in source.options.items()}
    return next((given[name.lower()] for name in names if name.lower() in given), "")


def encoding_of(source: Input) -> str:
    """The encoding by its usual name: UTF-8 for utf8.

    Raises:
        ConfigurationError: if it is no name.
    """
    given = option_of(source, "encoding", "charset") or "UTF-8"
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9 ._:+()-]*", given):
        raise ConfigurationError(
            "input.options.encoding: no name of an encoding; expected one such as windows-1252",
        )
    return (
        re.sub(
            r"^UTF[-_]?(8|16|32)[-_]?(LE|BE)?$",
            lambda match: f"UTF-{match[1]}{match[2] or ''}",
            given.upper(),
        )
        if given[:3].upper() == "UTF"
        else given
    )


def is_wide(encoding: str) -> bool:
    """Whether every character of an encoding has several bytes."""
    return encoding.startswith(("UTF-16", "UTF-32"))


def as_bytes(source: Input) -> dict[str, str]:
    """The options to read every byte as one character."""
    options = {
        key: value
        for key, value in csv_options(source).items()
        if key.lower() not in ("encoding", "charset", "inferschema")
    }
    return {**options, "encoding": "ISO-8859-1"}


def is_utf8(source: Input) -> bool:
    """Whether reading as ISO-8859-1 distinguishes all bytes: UTF-8, with options that are the same
    in both.
    """
    return encoding_of(source) == "UTF-8" and all(
        value.isascii() for value in source.options.values()
    )


def how_to_set_encoding(source: Input) -> str:
    """The remedy for text that is not in the encoding, as the end of a message."""
    if option_of(source, "encoding", "charset"):
        return "set input.options.encoding to the file's own, or write the file in UTF-8"
    return "set input.options.encoding to the file's own (such as windows-1252 or ISO-8859-1)"
