"""Opens a table that nobody has described, and finds names that a release can have."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import Any

from tclose_spark.engine.protocol import OpenedTable, Session
from tclose_spark.engine.sources import checked, frame_table, read_table
from tclose_spark.engine.tables import (
    schema_of,
)
from tclose_spark.errors import InputError
from tclose_spark.io.input.files import unread
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.tables.check_columns import plain_name
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.header_lines import steps
from tclose_spark.table.column_names.names import is_name
from tclose_spark.table.columns.spark_types import MALFORMED

DELTA_FORBIDS = frozenset(" ,;{}()\n\t=")


def open_unknown_table(session: Session, source: Input) -> OpenedTable:
    """The table, with the options that its file needs in its source (`completed`). New names are in
    the `columns` of its source.

    Raises:
        InputError: if it cannot be read, or its header may be a record.
    """
    try:
        source = completed(source, may_leave_out=True)
        table = read_table(session, source)
        names = [name for name in schema_of(table).names if name != MALFORMED]
    except InputError as error:
        raise unread(error, source) from None
    header = source.format == "csv" and source.options.get("header", "").lower() == "true"
    odd = [place for place, name in enumerate(names) if not is_name(name)]
    if header and 2 * len({*odd} - steps(names)) >= len(names):
        raise InputError(
            f"input.path: the first line of {source.path} looks like a record, not like column "
            "names; if it is one, give --option header=false"
        )
    opened = OpenedTable(table, source, names)
    return _with_plain_names(checked(opened))


def open_frame(session: Session, table: Any, source: Input) -> OpenedTable:
    """A table in memory, under the name that a source gives it, as `open_unknown_table` opens
    others.
    """
    frame = frame_table(session, table)
    return _with_plain_names(OpenedTable(frame, source, schema_of(frame).names))


def _with_plain_names(opened: OpenedTable) -> OpenedTable:
    """The table whose source has new names for columns that Delta cannot hold."""
    columns = dict[str, str]()
    taken = {name.lower() for name in opened.columns}
    for name in opened.columns:
        new_name = plain_name(name)
        if (
            new_name != name
            and [other.lower() for other in opened.columns].count(name.lower()) == 1
        ):
            new = next(
                made
                for made in chain([new_name], (f"{new_name}_{i}" for i in count(2)))
                if made.lower() not in taken
            )
            columns[name] = new
            taken.add(new.lower())
    return (
        replace(opened, source=opened.source.model_copy(update={"columns": columns}))
        if columns
        else opened
    )
