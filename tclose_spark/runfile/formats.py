"""The formats of inputs: the endings of files' names by which they are known, and the options that
each takes. Spark's readers pass over others without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Format = Literal[
    "csv",
    "parquet",
    "delta",
    "table",
    "excel",
    "stata",
    "spss",
    "sas",
    "jsonl",
    "feather",
    "orc",
]
ENDINGS: dict[Format, tuple[str, ...]] = {
    "csv": (".csv", ".csv.gz", ".txt", ".tsv", ".tab", ".zip", ".gz", ".bz2"),
    "parquet": (".parquet",),
    "delta": (".delta",),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "stata": (".dta",),
    "spss": (".sav", ".zsav", ".por"),
    "sas": (".sas7bdat", ".xpt"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "feather": (".feather", ".arrow"),
    "orc": (".orc",),
}


def format_of_name(path: str) -> Format | None:
    """The format of a table by the ending of its path; None if that shows none.

    >>> format_of_name("people.CSV"), format_of_name("people/"), format_of_name("s3://bucket/people.xlsx")
    ('csv', None, 'excel')
    """
    bare = path.rstrip("/").lower()
    return next((kind for kind, endings in ENDINGS.items() if bare.endswith(endings)), None)


OF_TEXT_FILES = ("decimal", "thousands", "currency", "skip_rows", "skip_footer")
"""Options of this package for CSV files."""
FILES = ("pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter")
TYPES = (
    "dateFormat",
    "enableDateTimeParsingFallback",
    "locale",
    "nanValue",
    "negativeInf",
    "positiveInf",
    "preferDate",
    "samplingRatio",
    "timeZone",
    "timestampFormat",
)
"""Options of Spark's CSV reader that concern columns whose types it infers. Without these, all
columns are text.
"""
CSV = (
    "header",
    "sep",
    "delimiter",
    "encoding",
    "charset",
    "quote",
    "escape",
    "charToEscapeQuoteEscaping",
    "unescapedQuoteHandling",
    "comment",
    "lineSep",
    "multiLine",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "nullValue",
    "emptyValue",
    "maxColumns",
    "maxCharsPerColumn",
    "inferSchema",
)
VERSIONS = ("versionAsOf", "timestampAsOf")
OPTIONS: Mapping[Format, tuple[str, ...]] = {
    "csv": (*CSV, *TYPES, *OF_TEXT_FILES, *FILES),
    "parquet": ("mergeSchema", "datetimeRebaseMode", "int96RebaseMode", "basePath", *FILES),
    "delta": VERSIONS,
    "table": VERSIONS,
    "excel": ("sheet", "skip_rows", "skip_footer", "header"),
}
"""By format; the others have none. Tables of a catalog may have more, which their own readers
know.
"""
NO_OPTIONS_OF_TABLES = (*OF_TEXT_FILES, "sheet")


def known_options(format: Format, given: Mapping[str, str]) -> dict[str, str]:
    """The options by the names that the readers know, which have any case in a run file.

    Raises:
        ValueError: naming an option that the format does not have, or that would change nothing.

    >>> known_options("delta", {"versionasof": "3"})
    {'versionAsOf': '3'}
    """
    known = OPTIONS.get(format, ())
    names = {name.lower(): name for name in known}
    if format == "table":
        names |= {
            key.lower(): key for key in given if key.lower() not in {*names, *NO_OPTIONS_OF_TABLES}
        }
    made: dict[str, str] = {}
    for key, value in given.items():
        name = names.get(key.lower())
        if name is None:
            raise ValueError(f"{key} is no option of format {format}; {_expected(format, known)}")
        if name in made:
            raise ValueError(f"{key} is there twice, but for case; expected one")
        made[name] = value
    _require_use(format, made)
    return made


def _expected(format: Format, known: tuple[str, ...]) -> str:
    if format in ("csv", "parquet"):
        return "docs/inputs.md has those that it has"
    return f"expected one of {', '.join(known)}" if known else "it has no options"


def _require_use(format: Format, given: Mapping[str, str]) -> None:
    """Raises ValueError if an option changes nothing, or has a value that no reader takes."""
    if format == "csv" and given.get("inferSchema", "").lower() != "true":
        unused = [name for name in TYPES if name in given]
        if unused:
            raise ValueError(
                f"{unused[0]} needs inferSchema: true, because other CSV columns are text",
            )
    for one, other in (("sep", "delimiter"), ("encoding", "charset")):
        if one in given and other in given:
            raise ValueError(f"{one} and {other} are the same option; expected one of them")
    version = given.get("versionAsOf", "0")
    if format == "delta" and not (version.isascii() and version.isdigit()):
        raise ValueError(f"versionAsOf is {version!r}; expected the number of a version")
    header = given.get("header", "true")
    if format == "excel" and header.lower() not in ("true", "false"):
        raise ValueError(f"header is {header!r}; expected true or false")
