"""Opens an undescribed table: guesses its separator, and checks its header."""

from __future__ import annotations

from itertools import chain, count

from pyspark.sql import SparkSession

from tclose_spark.errors import InputError
from tclose_spark.io.input.damaged_text import SourceTable, checked, translate_read_errors
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.input.typed import unread
from tclose_spark.io.tables.columns import MALFORMED, plain_name, quoted
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.names import SEPARATORS, is_name


def open_unknown_table(spark: SparkSession, source: Input) -> SourceTable:
    """The table; a CSV file without a given separator is read with that of its header.

    Raises:
        InputError: if it cannot be read, or its header may be a record.
    """
    try:
        table = read_table(spark, source)
        names = [name for name in table.columns if name != MALFORMED]
        separator = _separator(names[0]) if len(names) == 1 else None
        if source.format == "csv" and separator and not {"sep", "delimiter"} & {key.lower() for key in source.options}:
            return open_unknown_table(
                spark, source.model_copy(update={"options": {**source.options, "sep": separator}})
            )
    except InputError as error:
        raise unread(error, source) from None
    header = source.format == "csv" and source.options.get("header", "").lower() == "true"
    if header and 2 * sum(not is_name(name) for name in names) > len(names):
        raise InputError(
            f"input.path: the first line of {source.path} looks like a record, not like column names; if it is one, "
            "give --option header=false"
        )
    opened = SourceTable(table, source, names)
    with translate_read_errors(opened):
        return with_plain_names(SourceTable(checked(opened), source, names))


def with_plain_names(opened: SourceTable) -> SourceTable:
    """The table with names that Delta can hold; the source's `columns` has the renamed ones."""
    columns, taken = {}, {name.lower() for name in opened.table.columns}
    for name in opened.table.columns:
        plain = plain_name(name)
        if plain != name and [other.lower() for other in opened.table.columns].count(name.lower()) == 1:
            new = next(made for made in chain([plain], (f"{plain}_{i}" for i in count(2))) if made.lower() not in taken)
            columns[name] = new
            taken.add(new.lower())
    if not columns:
        return opened
    table = opened.table.select(*[quoted(name).alias(columns.get(name, name)) for name in opened.table.columns])
    return SourceTable(table, opened.source.model_copy(update={"columns": columns}), table.columns)


def _separator(header: str) -> str | None:
    """The separator in a header that was read as one name."""
    most = max(SEPARATORS, key=header.count)
    return most if header.count(most) else None
