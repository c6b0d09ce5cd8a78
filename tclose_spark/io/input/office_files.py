"""Files of one table that this process reads as a whole: of spreadsheets, statistics programs, JSON
and Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.json_files import read_json
from tclose_spark.io.input.statistics_files import KINDS, read_statistics, variable_labels
from tclose_spark.io.input.workbooks import read_workbook
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import Place, opened
from tclose_spark.runfile.spec import Input

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
