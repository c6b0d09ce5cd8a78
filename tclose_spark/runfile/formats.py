"""The formats of inputs, and the endings of files' names by which they are known."""

from __future__ import annotations

from typing import Literal

Format = Literal[
    "csv", "parquet", "delta", "table", "excel", "stata", "spss", "sas", "jsonl", "feather", "orc"
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
