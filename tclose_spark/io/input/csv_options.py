"""The options for reading a CSV file, and their consequences."""

from __future__ import annotations

import re

from tclose_spark.runfile.spec import Input


def csv_options(source: Input) -> dict[str, str]:
    """The options, with those that the encoding needs. Lines end at a byte 10, which UTF-16 also has inside
    characters.
    """
    options = {"escape": '"', **source.options}
    wide = encoding_of(source).startswith(("UTF-16", "UTF-32"))
    return {"multiLine": "true", **options} if wide and not option_of(source, "lineSep") else options


def option_of(source: Input, *names: str) -> str:
    """The value of an option, whose name may have any case; empty if it is not given."""
    given = {key.lower(): value for key, value in source.options.items()}
    return next((given[name.lower()] for name in names if name.lower() in given), "")


def encoding_of(source: Input) -> str:
    """The encoding by its usual name: UTF-8 for utf8."""
    given = option_of(source, "encoding", "charset") or "UTF-8"
    return (
        re.sub(r"^UTF[-_]?(8|16|32)[-_]?(LE|BE)?$", lambda match: f"UTF-{match[1]}{match[2] or ''}", given.upper())
        if given[:3].upper() == "UTF"
        else given
    )


def as_bytes(source: Input) -> dict[str, str]:
    """The options to read every byte as one character."""
    options = {
        key: value
        for key, value in csv_options(source).items()
        if key.lower() not in ("encoding", "charset", "inferschema")
    }
    return {**options, "encoding": "ISO-8859-1"}


def is_utf8(source: Input) -> bool:
    """Whether reading as ISO-8859-1 distinguishes all bytes: UTF-8, with options that are the same in both."""
    return encoding_of(source) == "UTF-8" and all(value.isascii() for value in source.options.values())


def how_to_set_encoding(source: Input) -> str:
    """The remedy for text that is not in the encoding, as the end of a message."""
    if option_of(source, "encoding", "charset"):
        return "set input.options.encoding to the file's own, or write the file in UTF-8"
    return "set input.options.encoding to the file's own (such as windows-1252 or ISO-8859-1)"
