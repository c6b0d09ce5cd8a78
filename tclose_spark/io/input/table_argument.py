"""A table named on a command line: its place and format. Errors name the typed options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.files import is_missing
from tclose_spark.io.tables.delta_log import LOGS
from tclose_spark.runfile.formats import Format, format_of_name
from tclose_spark.runfile.loading import resolve
from tclose_spark.runfile.reader_options import known_options
from tclose_spark.runfile.spec import Input
from tclose_spark.runfile.text import meant_file

FORMATS = get_args(Format)


def source_of(path: str, format: str | None, options: Mapping[str, str]) -> Input:
    """The table at a path. Its format follows from the path unless it is given. CSV has a header
    unless an option denies it.

    Raises:
        ConfigurationError: naming the wrong option, or an option that the format does not have.
        InputError: if it does not exist.
    """
    kind: Any = format or guess_format(path)
    if kind not in FORMATS:
        raise ConfigurationError(f"--format {kind}: expected {', '.join(FORMATS)}")
    try:
        known = known_options(kind, options)
    except ValueError as error:
        raise ConfigurationError(f"--option {error}") from None
    given = {"header": "true", **known} if kind == "csv" else known
    source = Input(
        path=path if kind == "table" else resolve(path, "TABLE", Path.cwd()),
        format=kind,
        options=given,
    )
    if is_missing(source):
        raise unread(InputError(f"{source.path} does not exist{meant_file(source.path)}"), source)
    return source


def options_of(texts: Sequence[str]) -> dict[str, str]:
    """The options of a reader, typed as KEY=VALUE.

    Raises:
        ConfigurationError: if one is not.
    """
    return dict(map(_option, texts))


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(
            f"--option {text}: expected KEY=VALUE for Spark's reader, such as sep=;"
        )
    return key, value


def guess_format(path: str) -> str:
    """What a table is by its path: by its ending, delta by its log; else csv if it is a file,
    parquet if a folder, and else the name of a table in the catalog.

    >>> guess_format("people.CSV"), guess_format("s3://bucket/people"), guess_format("census.people")
    ('csv', 'delta', 'table')
    """
    if kind := format_of_name(path):
        return kind
    if (Path(path) / LOGS).is_dir():
        return "delta"
    if Path(path).is_dir():
        return "csv" if any(Path(path).glob("*.csv")) else "parquet"
    if Path(path).is_file():
        return "csv"
    return "delta" if "/" in path else "table"


@contextmanager
def as_typed() -> Iterator[None]:
    """Replaces keys of a run file in errors by the typed options."""
    try:
        yield
    except InputError as error:
        text = (
            str(error)
            .removeprefix("input.path: ")
            .replace("input.format: ", "--format ")
            .replace("input.format", "--format")
            .replace("input.options (", "--option (")
        )
        text = re.sub(
            r"input\.options\.(\w+)(: )?",
            lambda key: f"--option {key[1]}{'=' if key[2] else ''}",
            text,
        )
        error.args = (
            re.sub(r"\.missing: (lowest|leaf).*", r"\g<0> (with --sensitive: missing=\1)", text),
        )
        raise


def unread(error: InputError, source: Input) -> InputError:
    """The error of a table that could not be read, with its assumed format."""
    hint = (
        " (neither a file nor a table of the catalog)"
        if source.format == "table"
        else f" (read as {source.format}; --format says another)"
    )
    return InputError(str(error) + hint)
