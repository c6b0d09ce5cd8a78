"""Files of spreadsheets and statistics programs, and others of one table that Arrow reads, as tables in memory."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import lines_left_out, option_of
from tclose_spark.io.storage.stores import Place, opened
from tclose_spark.runfile.spec import Input

Rows = Sequence[Sequence[Any]]
NAMES = {"excel": "an Excel", "stata": "a Stata", "spss": "an SPSS", "sas": "a SAS"}
"""Formats that packages of the extra `formats` read."""
OPTIONS = {"excel": ("sheet", "skip_rows", "skip_footer", "header")}
"""The options of a format; the others here have none."""


def read_file(file: Place, source: Input) -> pa.Table:
    """The table in a file. Columns of whole numbers are integers, whatever type the file gives them. Codes with labels
    are these labels, if all of a column have one; codes that users declared missing are missing.

    Raises:
        ConfigurationError: if the package for its format is missing.
        InputError: if it cannot be read as its format.
    """
    return read_by(READERS[source.format], file, source)


def read_by(reader: Callable[[Place, Input], Any], file: Place, source: Input) -> Any:
    """What a function of this module reads. See `read_file` for errors."""
    known = OPTIONS.get(source.format, ())
    for key in source.options:
        if key.lower() not in known:
            expected = f"expected one of {', '.join(known)}" if known else "its files have no options"
            raise ConfigurationError(f"input.options.{key}: format {source.format} has no such option; {expected}")
    try:
        return reader(file, source)
    except (ConfigurationError, InputError):
        raise
    except ImportError:
        raise ConfigurationError(
            f"input.path: {file.name} is {NAMES[source.format]} file: pip install 'tclose-spark[formats]'"
        ) from None
    except Exception as error:  # its text may hold values of people
        raise problems.not_of_format(source, type(error).__name__) from None


def cells(file: Place, source: Input) -> tuple[Rows, Sequence[str]]:
    """(the cells of a workbook's first sheet, or of the option `sheet`; the names of all). Empty cells are ""."""
    from python_calamine import CalamineWorkbook

    with file.open("rb") as content:
        book, sheet = CalamineWorkbook.from_filelike(content), option_of(source, "sheet")
        if sheet and sheet not in book.sheet_names:
            raise InputError(
                f"input.options.sheet: {file.name} has no such sheet; it has {', '.join(book.sheet_names)}"
            )
        found = book.get_sheet_by_name(sheet) if sheet else book.get_sheet_by_index(0)
        return found.to_python(skip_empty_area=False), book.sheet_names


def _excel(file: Place, source: Input) -> pa.Table:
    below = cells(file, source)[0][lines_left_out(source, "skip_rows") :]
    held = [row for row in below if any(cell != "" for cell in row)]
    if not held:
        raise InputError(f"input.path: {file.name} has no rows")
    header, *rows = held[: len(held) - lines_left_out(source, "skip_footer")]
    columns = [[None if cell == "" else cell for cell in column] for column in zip(*rows, strict=True)]
    used = [place for place, name in enumerate(header) if name != "" or any(c is not None for c in columns[place])]
    names = [_text(header[place]) or f"_{place}" for place in used]
    return pa.table([_column(columns[place]) if rows else pa.nulls(0, pa.string()) for place in used], names)


def _statistics(file: Place, source: Input) -> pa.Table:
    import pyreadstat

    kinds = {"stata": "dta", "spss": "sav", "sas": "sas7bdat"}
    kind = {"por": "por", "xpt": "xport"}.get(file.name.lower().rpartition(".")[2], kinds[source.format])
    with file.open("rb") as content:
        columns, about = getattr(pyreadstat, f"read_{kind}")(content, output_format="dict")
    labels = about.variable_value_labels
    return pa.table([_labelled(column, labels.get(name, {})) for name, column in columns.items()], [*columns])


def _labelled(column: Sequence[Any], labels: Mapping[Any, str]) -> pa.Array:
    """A column of codes as their labels, if all have one. Empty text is missing, as these programs have it."""
    values = [None if value == "" or value != value else value for value in column]
    present = {value for value in values if value is not None}
    if not labels or not present <= labels.keys():
        return _column(values)
    return pa.array([labels.get(value) for value in values], pa.string())


def _column(values: list[Any]) -> pa.Array:
    """A column of the type that all its values have, or of text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        whole = all(value is None or value == int(value) for value in values)
        return pa.array([None if v is None else int(v) if whole else float(v) for v in values])
    if kinds <= {dt.date, dt.datetime}:
        is_date = all(not isinstance(v, dt.datetime) or v.time() == dt.time() for v in values if v is not None)
        return pa.array(values, pa.date32() if is_date else pa.timestamp("us"))
    if len(kinds) == 1 and kinds <= {bool, str}:
        return pa.array(values)
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _json(file: Place, source: Input) -> pa.Table:
    from pyarrow import json as arrow_json

    with file.open("rb") as content:
        start = content.read(1 << 12).lstrip()
        content.seek(0)
        return pa.Table.from_pylist(json.load(content)) if start.startswith(b"[") else arrow_json.read_json(content)


def _arrow(file: Place, source: Input) -> pa.Table:
    return import_module(f"pyarrow.{source.format}").read_table(opened(file))


READERS = {"excel": _excel, "jsonl": _json, "feather": _arrow, "orc": _arrow}
READERS |= dict.fromkeys(("stata", "spss", "sas"), _statistics)
