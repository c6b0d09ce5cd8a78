"""`tclose_spark.suggest`: a first run file for any table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from tclose_spark.api.arguments import Number, Table, number_of_rows, path_of, reader_options
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.session import Log, announcer, choose, on_engine, working
from tclose_spark.api.signatures import verb
from tclose_spark.io.input.arrow_frames import read_once
from tclose_spark.io.input.files import as_typed, source_of
from tclose_spark.io.input.office_files import labels_of_variables
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.choosing import SMALLER
from tclose_spark.suggesting.dictionary import Given, read_dictionary
from tclose_spark.suggesting.facts import TableFacts
from tclose_spark.suggesting.suggestion import (
    SAMPLE,
    Suggestion,
    release_name,
    require_valid,
    suggestion_from_facts,
)
from tclose_spark.suggesting.views import HEADING, column_line, summary_lines

__all__ = ["run_file_of", "suggest", "summary_lines"]


def run_file_of(table: str, format: str | None, options: Mapping[str, str]) -> Path:
    """The run file of a table at a path, if no other is named."""
    return Path(f"{release_name(source_of(table, format, options))}.yaml")


@verb
def suggest(
    table: Table,
    *,
    sample: int | Literal["all"] | None = SAMPLE,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    file: str | PathLike[str] | None = None,
    name: str = "table",
    dictionary: Given = None,
    k: int | None = None,
    t: Number = "0.2",
    trial: bool = True,
    log: Log | None = None,
    engine: str | None = None,
) -> Suggestion:
    """A first run file for a table that nobody has described: what each of its columns may be, and
    why.

    >>> suggestion = suggest("people.csv")  # doctest: +SKIP
    >>> suggestion.roles["zip"]  # doctest: +SKIP
    'quasi-identifier'
    >>> suggestion.write("people.yaml")  # doctest: +SKIP

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, a path, or the name of a table
        in the catalog.
    sample: rows to examine closely, or `all`; missing and different values are counted in the whole
        table.
    format, options: of a path, as in a run file; by default what the path says.
    file: the place of the run file, which its paths are relative to.
    name: of a table in memory, in the run file.
    dictionary: what the columns are: texts by column, or the path of a CSV file, of a data package
        or table schema (JSON), or of a data contract (YAML). Labels of Stata, SPSS and SAS files
        count without it.
    trial: carry the run file out in memory on some 20,000 rows of the sample, and note the expected
        figures in it.
    log: takes a line about each column.
    engine: see `release`.

    Raises:
        InputError: if the table cannot be read, is empty, or has no two columns that a release
            could be made of; or if the dictionary cannot be read, has a name twice, or has none of
            the columns.
        ConfigurationError: if a setting is wrong.
    """
    most = number_of_rows(sample)
    path = path_of(table)
    require_valid(k, str(t))
    source = (
        source_of(path, format, reader_options(options))
        if path
        else Input(path=name, format="table")
    )
    held = None if path else read_once(table)
    described = read_dictionary(dictionary, Path(source.path).name)

    def work(on: str) -> tuple[TableFacts, Input]:
        with working("tclose suggest", held, path, on) as session, as_typed():
            from tclose_spark.engine.sources import errors_translated
            from tclose_spark.suggesting.gathering import (
                gather_described,
                open_frame,
                open_unknown_table,
            )

            opened = (
                open_unknown_table(session, source) if path else open_frame(session, held, source)
            )
            of_columns = described.of_table(opened.columns, labels_of_variables(opened.source))
            with errors_translated(opened):
                return gather_described(opened, most, k, of_columns), opened.source

    asked = asked_engine(engine)
    facts, renamed = on_engine(choose("suggest", asked, table=held, source=source), work)
    announce = announcer(log)
    run_file = Path(file or f"{release_name(source)}.yaml")
    suggestion = suggestion_from_facts(facts, renamed, run_file, k, str(t))
    for line in (HEADING, *map(column_line, suggestion.columns)):
        announce(line)
    if not trial or not suggestion.choice.sensitive:
        return suggestion
    from tclose_spark.suggesting.trial import largest_useful, try_suggestion

    smaller = (suggestion_from_facts(facts, renamed, run_file, k, str(t), size) for size in SMALLER)
    with TemporaryDirectory(prefix="tclose_spark-") as folder:
        useful = largest_useful([suggestion, *smaller], facts, folder)
        return replace(useful, tried=try_suggestion(useful, useful.spec, facts, folder))
