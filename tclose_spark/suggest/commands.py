"""`tclose suggest`: from what is typed to what is printed and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.driver import start_early
from tclose_spark.io.typed import as_typed, source_of, unread
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.spec import Input
from tclose_spark.suggest.suggestion import SAMPLE, Suggestion, name_of, suggest_for
from tclose_spark.table.names import SEPARATORS, is_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tclose_spark.io.reading import Opened

Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class SuggestArguments:
    """What the command is given, as it is typed."""

    table: str
    output: Path | None = None
    sample: str = str(SAMPLE)
    format: str | None = None
    options: Sequence[str] = ()
    k: int | None = None
    t: str = "0.2"
    overwrite: bool = False


def run_suggest(given: SuggestArguments, announce: Announce) -> tuple[Suggestion, Path]:
    """Looks at the table, says each column as it is looked at, and writes the run file."""
    from tclose_spark.suggest.console import HEADING, column_line, summary_lines

    most, source = read_sample(given.sample), source_of(given.table, given.format, given.options)
    _check_t(given.t)
    file = given.output or Path(f"{name_of(source)}.yaml")
    if file.exists() and not given.overwrite:
        raise ConfigurationError(f"--output: {file} exists already; give another path, or --overwrite")
    start_early(source.path)
    from tclose_spark.io.reading import explained
    from tclose_spark.io.session import get_session

    with as_typed():
        opened, source = _opened(get_session("tclose suggest"), source)
        with explained(opened):
            announce(HEADING)
            suggestion = suggest_for(
                opened.table,
                source,
                file=file,
                sample=most,
                k=given.k,
                t=given.t,
                look=lambda facts: announce(column_line(facts)),
            )
    for line in summary_lines(suggestion):
        announce(line)
    return suggestion, suggestion.write(file, given.overwrite)


def read_sample(text: str) -> int | None:
    """How many rows `--sample` asks for; None for all.

    Raises:
        ConfigurationError: if it is neither a number nor `all`.
    """
    if text == "all":
        return None
    if not text.isdecimal() or not int(text):
        raise ConfigurationError(f"--sample {text}: expected a number of rows, or all")
    return int(text)


def _check_t(text: str) -> None:
    try:
        SensitiveAttribute.model_validate({"t": text})
    except ValidationError:
        raise ConfigurationError(f"--t {text}: expected a number above 0 and at most 1, or measure") from None


def _opened(spark: SparkSession, source: Input) -> tuple[Opened, Input]:
    """The table, and where from: of a CSV file with the separator that its header has, where none is given.

    Raises:
        InputError: if it cannot be read, or its header may be a record.
    """
    from tclose_spark.io.reading import Opened, checked, explained, read_table
    from tclose_spark.io.tables import MALFORMED

    try:
        table = read_table(spark, source)
        names = [name for name in table.columns if name != MALFORMED]
        separator = _separator(names[0]) if len(names) == 1 else None
        if source.format == "csv" and separator and not {"sep", "delimiter"} & {key.lower() for key in source.options}:
            return _opened(spark, source.model_copy(update={"options": {**source.options, "sep": separator}}))
    except InputError as error:
        raise unread(error, source) from None
    header = source.format == "csv" and source.options.get("header", "").lower() == "true"
    if header and 2 * sum(not is_name(name) for name in names) > len(names):
        raise InputError(
            f"input.path: the first line of {source.path} looks like a record and not like names of columns; if it is "
            "one, give --option header=false"
        )
    opened = Opened(table, source, names)
    with explained(opened):
        return Opened(checked(opened), source, names), source


def _separator(header: str) -> str | None:
    """What separates the fields of a header that was read as one name."""
    most = max(SEPARATORS, key=header.count)
    return most if header.count(most) else None
