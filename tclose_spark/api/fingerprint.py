"""`tclose_spark.fingerprint`: of any table, to compare with that of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.api.arguments import Table, path_of, reader_options
from tclose_spark.api.audit import held_table
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.session import choose, on_engine, working
from tclose_spark.api.signatures import verb
from tclose_spark.engine.sources import errors_translated, open_table
from tclose_spark.io.input.files import as_typed, source_of
from tclose_spark.runfile.spec import FRAME, Input


@verb
def fingerprint(
    table: Table,
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    engine: str | None = None,
) -> str:
    """The fingerprint of a table's rows, as the certificate of a release has it
    (`release.fingerprint`).

        tclose_spark.fingerprint(received) == certificate["release"]["fingerprint"]

    It does not depend on the order of rows. It depends on the order of columns, not on their names,
    and on whether a column has text, integers or other numbers. It has no secret: that of a raw
    table confirms a guess of its rows.

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, or a path (Parquet, Delta; a CSV
        has text only).
    format, options: of the table if its path does not name its format, and for Spark's reader.
    engine: see `release`.

    Raises:
        InputError: if the table cannot be read.
    """
    path = path_of(table)
    how = reader_options(options)
    with as_typed():
        source = source_of(path, format, how) if path else Input(path=FRAME, format="table")
        held = held_table(table)

    def work(on: str) -> str:
        from tclose_spark.engine.exports import fingerprint_of

        with working("tclose fingerprint", held, path, on) as session, as_typed():
            opened = open_table(session, held, (), format, how)
            with errors_translated(opened):
                return str(fingerprint_of(opened.table))

    return on_engine(
        choose("fingerprint", asked_engine(engine), table=None if path else held, source=source),
        work,
    )
