"""`suggest` from Python: a first run file for any table."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tclose_spark.api.errors import translate_errors
from tclose_spark.api.specs import Table
from tclose_spark.api.work import working
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.suggestion import SAMPLE, Suggestion, release_name, require_t, suggestion_from_facts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tclose_spark.suggesting.facts import TableFacts


def suggest(
    table: Table,
    *,
    sample: int | None = SAMPLE,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    file: str | PathLike[str] | None = None,
    name: str = "table",
    k: int | None = None,
    t: str | float = "0.2",
) -> Suggestion:
    """A first run file for a table that nobody has described: what each of its columns may be, and why.

    >>> suggestion = suggest("people.csv")  # doctest: +SKIP
    >>> suggestion.roles["zip"]  # doctest: +SKIP
    'quasi-identifier'
    >>> suggestion.write("people.yaml")  # doctest: +SKIP

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, a path, or the name of a table in the catalog.
    sample: rows that are looked at closely, None for all; missing and different values are counted in the whole table.
    format, options: of a path, as in a run file; by default what the path says.
    file: where the run file is to be, which its paths are relative to.
    name: what the run file calls a table in memory.

    Raises:
        InputError: if the table cannot be read, is empty, or has no two columns that a release could be made of.
        ConfigurationError: if a setting is wrong.
    """
    path = fspath(table) if isinstance(table, str | PathLike) else ""
    with translate_errors():
        require_t(str(t))
        if k is not None and k < 2:
            raise ConfigurationError(f"k={k}: expected at least 2")
    with working("tclose suggest", table, path) as spark:
        gathered, source = _gathered(spark, path, table, sample, format, options or {}, name)
        return suggestion_from_facts(gathered, source, Path(file or f"{release_name(source)}.yaml"), k, str(t))


def _gathered(
    spark: SparkSession,
    path: str,
    table: Table,
    sample: int | None,
    format: str | None,
    options: Mapping[str, str],
    name: str,
) -> tuple[TableFacts, Input]:
    """The facts of a table, and where it is."""
    from tclose_spark.io.input.damaged_text import SourceTable, translate_read_errors
    from tclose_spark.io.input.frames import as_dataframe
    from tclose_spark.io.input.typed import source_of
    from tclose_spark.suggesting.gathering import gather_facts
    from tclose_spark.suggesting.opening import open_unknown_table, with_plain_names

    if path:
        opened = open_unknown_table(spark, source_of(path, format, options))
    else:
        frame = as_dataframe(spark, table)
        opened = with_plain_names(SourceTable(frame, Input(path=name, format="table"), frame.columns))
    with translate_read_errors(opened):
        return gather_facts(opened.table, sample), opened.source
