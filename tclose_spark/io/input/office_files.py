"""Files of one table that this process reads as a whole: of spreadsheets, statistics programs, JSON
and Arrow.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.cell_values import column_of, span_text
from tclose_spark.io.input.json_files import read_json
from tclose_spark.io.input.notes import note
from tclose_spark.io.input.workbooks import read_workbook
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import Place, opened
from tclose_spark.runfile.spec import Input

KINDS = {"stata": "dta", "spss": "sav", "sas": "sas7bdat"}
OTHER_KINDS = {"por": "por", "xpt": "xport"}
"""The readers of pyreadstat, by format, and by the endings of a format's other files."""
STATA_BEGINS = dt.datetime(1960, 1, 1)
SECONDS_OF_A_DAY = 86400


def read_statistics(file: Place, source: Input) -> pa.Table:
    """The table in a file. Codes with labels are these labels, if each code of a column has one of
    its own. Empty text is missing, as these programs have it.

    A time is text by its hours, which may be 24 and more, or negative. A time of Stata beyond a day
    is a moment.
    """
    reader = _reader_of(file, source)
    columns, about = _read(reader, file)
    times = [
        name
        for name, column in columns.items()
        if any(isinstance(value, dt.time) for value in column)
    ]
    if times:  # pyreadstat leaves whole days out of them
        numbers, _ = _read(reader, file, usecols=times, disable_datetime_conversion=True)
        columns |= {name: _times(numbers[name], source.format == "stata") for name in times}
    labels = about.variable_value_labels
    arrays = [
        _labelled(column, labels.get(name, {}), name, file.name) for name, column in columns.items()
    ]
    return pa.table(arrays, [*columns])


def variable_labels(file: Place, source: Input) -> dict[str, str]:
    """What a file says of its columns, by name. Columns without a label are left out."""
    with file.open("rb") as content:
        _, about = _reader_of(file, source)(content, metadataonly=True)
    return {name: label for name, label in about.column_names_to_labels.items() if label}


def _reader_of(file: Place, source: Input) -> Callable[..., Any]:
    import pyreadstat

    ending = file.name.lower().rpartition(".")[2]
    return getattr(pyreadstat, f"read_{OTHER_KINDS.get(ending, KINDS[source.format])}")  # type: ignore[no-any-return]


def _read(reader: Callable[..., Any], file: Place, **options: Any) -> tuple[dict[str, Any], Any]:
    """(columns by name, what the file says of them)."""
    with file.open("rb") as content:
        columns, about = reader(content, output_format="dict", **options)
    return columns, about


def _times(values: Sequence[float | None], of_stata: bool) -> list[Any]:
    """Times in seconds, or in milliseconds of Stata's clock, as texts or moments."""
    seconds = [
        None if value is None or value != value else value / (1000 if of_stata else 1)
        for value in values
    ]
    is_of_days = all(value is None or 0 <= value < SECONDS_OF_A_DAY for value in seconds)
    spans = [None if value is None else dt.timedelta(seconds=value) for value in seconds]
    if of_stata and not is_of_days:
        return [None if span is None else STATA_BEGINS + span for span in spans]
    return [None if span is None else span_text(span) for span in spans]


def _labelled(column: Sequence[Any], labels: Mapping[Any, str], name: str, file: str) -> pa.Array:
    """A column of codes as their labels, if each has one of its own."""
    values = [None if value == "" or value != value else value for value in column]
    present = {value for value in values if value is not None}
    if not labels or not present <= labels.keys():
        return column_of(values)
    if len({labels[value] for value in present}) < len(present):
        note(
            f"column {name!r} of {file} has codes that share a value label, so it is read as its "
            "codes"
        )
        return column_of(values)
    return pa.array([labels.get(value) for value in values], pa.string())


NAMES = {"excel": "an Excel", "stata": "a Stata", "spss": "an SPSS", "sas": "a SAS"}
"""Formats that packages of the extra `formats` read."""


def read_file(file: Place, source: Input) -> pa.Table:
    """The table in a file. Columns of whole numbers are integers, whatever type the file gives
    them.

    Raises:
        ConfigurationError: if the package for its format is missing.
        InputError: if it cannot be read as its format.
    """
    return read_by(READERS[source.format], file, source)


def read_by(reader: Callable[[Place, Input], Any], file: Place, source: Input) -> Any:
    """What a reader reads. See `read_file` for errors."""
    try:
        return reader(file, source)
    except (ConfigurationError, InputError):
        raise
    except ImportError:
        raise ConfigurationError(
            f"input.path: {file.name} is {NAMES[source.format]} file: pip install "
            "'tclose-spark[formats]'"
        ) from None
    except Exception as error:  # its text may hold values of people
        raise problems.not_of_format(source, type(error).__name__) from None


def labels_of(source: Input) -> dict[str, str]:
    """The labels of variables in a file of Stata, SPSS or SAS, by column; none of other files. See
    `read_file` for errors.
    """
    labels: dict[str, str] = (
        read_by(variable_labels, place_of(source.path), source) if source.format in KINDS else {}
    )
    return labels


def _arrow(file: Place, source: Input) -> pa.Table:
    return import_module(f"pyarrow.{source.format}").read_table(opened(file))


READERS = {"excel": read_workbook, "jsonl": read_json, "feather": _arrow, "orc": _arrow}
READERS |= dict.fromkeys(KINDS, read_statistics)
