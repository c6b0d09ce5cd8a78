"""Checks that each column of the run file is in the input, with a type and a name that can be
released.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from tclose_spark.errors import InputError
from tclose_spark.runfile.attributes import ROLES, Attributes, QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.names import MOST_NAMES, are_names, instead_of_each, shown
from tclose_spark.table.columns.spark_types import (
    MALFORMED,
    how_to_flatten,
    is_unsupported,
    type_name,
    why_unreadable,
)
from tclose_spark.table.people import OWNERS

SUPPRESSED = "suppressed"
"""The column of `linked` that marks suppressed rows."""
NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
TEMPORAL = {"date": pa.types.is_date, "timestamp": pa.types.is_timestamp}


def check_columns(schema: pa.Schema, spec: ReleaseSpec) -> None:
    """Raises InputError, with all problems, unless the table has every column of the spec in a type
    that can be released, and no column without a role.
    """
    attributes = spec.attributes
    names = [name for name in schema.names if name != MALFORMED]
    listed = [(f"attributes.{place}: ", column) for place, column in _listed_columns(attributes)]
    columns = [column for _, column in listed]
    absent = [(key, column) for key, column in listed if column not in names]
    told = instead_of_each([column for _, column in absent], names, columns)
    problems = [
        f"{key}column {column!r} is not in the input; {end}"
        for (key, column), end in zip(absent, told, strict=False)
    ]
    if not absent or are_names(names, columns):
        problems += _unlisted(names, set(columns), attributes.drop_others)
        for key, column in listed:
            if column in names and column in attributes.inputs:
                problems += [
                    key + problem for problem in _column_problems(schema, column, names, attributes)
                ]
    problems += _made_names(spec)
    for role, column in attributes.beside_rows.items():
        if column not in attributes.insensitive:
            expected = "text or numbers" if role == "weight" else "text, numbers or dates"
            problems += _unpublished_problems(schema, role, column, expected)
    problems += _text_problems(schema, attributes)
    if problems:
        raise InputError("\n".join(problems))


def _listed_columns(attributes: Attributes) -> Iterator[tuple[str, str]]:
    """The place of each column in the run file, below `attributes`."""
    for role in ROLES:
        columns = getattr(attributes, role)
        for column in columns:
            yield f"{role}.{column}" if isinstance(columns, Mapping) else role, column
    yield from attributes.beside_rows.items()


def _unlisted(columns: Sequence[str], listed: Collection[str], drop_others: bool) -> Iterator[str]:
    """The problem of columns without a role."""
    others = [shown(place, name) for place, name in enumerate(columns) if name not in listed]
    if others and not drop_others:
        one = len(others) == 1
        names = (
            others[0]
            if one
            else f"columns {', '.join(o.removeprefix('column ') for o in others[:MOST_NAMES])}"
        )
        more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
        yield (
            f"attributes: {names}{more} of the input {'is' if one else 'are'} in no list of "
            f"attributes; give {'it' if one else 'each'} a role, or set attributes.drop_others: "
            "true to leave such columns out"
        )


def _column_problems(
    schema: pa.Schema,
    column: str,
    names: Sequence[str],
    attributes: Attributes,
) -> Iterator[str]:
    """The problems of an existing column."""
    quasi = attributes.quasi_identifiers.get(column)
    if [name.lower() for name in names].count(column.lower()) > 1:
        yield (
            f"column {column!r}: the input has a duplicate, several columns of this name but for "
            "case; rename them"
        )
        return
    field = schema.field(column)
    if why_unreadable(field):
        yield f"column {column!r} is {why_unreadable(field)}"
        return
    if set(column) & set(" ,;{}()\n\t="):
        yield (
            f"column {column!r}: a Delta table cannot hold this name; rename it (no blanks or , ; "
            f"{{ }} ( ) =): input.columns: {{{column!r}: {plain_name(column)!r}}}"
        )
    if is_unsupported(field.type):
        yield (
            f"column {column!r} is of type {type_name(field)}, which cannot be released; "
            f"{how_to_flatten(type_name(field))}"
        )
    elif (
        quasi is not None
        and (wanted := _wanted(quasi)) is not None
        and not any(is_a(field.type) for is_a in wanted[0])
    ):
        yield f"quasi-identifier {column!r} is of type {type_name(field)}; expected {wanted[1]}"
    elif pa.types.is_binary(field.type) and column not in (
        *attributes.insensitive_attributes,
        *attributes.pseudonyms,
    ):
        yield f"column {column!r} is of type {type_name(field)}; expected single values"


def _unpublished_problems(
    schema: pa.Schema,
    role: str,
    column: str,
    expected: str,
) -> Iterator[str]:
    """The problems of a column that is read and not published. expected: its types in words."""
    if column not in schema.names:
        return
    key = f"attributes.{role}: column {column!r}"
    lower = [name.lower() for name in schema.names]
    if lower.count(column.lower()) > 1:
        yield f"{key}: the input has several columns of this name but for case; rename them"
    elif is_unsupported(schema.field(column).type) or why_unreadable(schema.field(column)):
        yield f"{key} is of type {type_name(schema.field(column))}; expected {expected}"


def _text_problems(schema: pa.Schema, attributes: Attributes) -> Iterator[str]:
    """The problems of columns with text options that are not text."""
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(attributes, role).items():
            at = schema.get_field_index(name)
            if (
                settings.text is not None
                and at >= 0
                and not pa.types.is_string(schema.field(at).type)
            ):
                yield (
                    f"attributes.{role}.{name}.text: the column is of type "
                    f"{type_name(schema.field(at))}; expected text, or no such key"
                )


def _wanted(quasi: QuasiIdentifier) -> tuple[Sequence[Callable[[pa.DataType], bool]], str] | None:
    """Tests of the allowed types of a quasi-identifier's column, including text, and their names;
    None for any type.
    """
    if quasi.calendar is not None:
        called, other = (
            ("dates", "timestamp") if quasi.calendar == "date" else ("timestamps", "date")
        )
        expected = f"{called}, or type: {other}, numeric or categorical"
        written = (
            (pa.types.is_string,)
            if quasi.date_format is None
            else (pa.types.is_string, pa.types.is_integer)
        )
        return (TEMPORAL[quasi.calendar], *written), expected
    if quasi.reads_numbers:
        return (*NUMERIC, pa.types.is_string), "numbers, or type: categorical"
    return None


def plain_name(name: str) -> str:
    """A name that Delta can hold, for one that it cannot."""
    plain = re.sub(r"[ ,;{}()\n\t=]+", "_", name)
    return name if plain == name else plain.strip("_") or "column"


def check_readable(field: pa.Field) -> None:
    """Raises InputError if the column's values could not be read from the files: see `reading`."""
    if why_unreadable(field):
        raise InputError(f"column {field.name!r} is {why_unreadable(field)}")


def _made_names(spec: ReleaseSpec) -> Iterator[str]:
    """The problem of a column with the name of a made one: a bound, or a column of `linked`."""
    attributes = spec.attributes
    made = []
    for name, quasi in attributes.quasi_identifiers.items():
        made += [f"{name}_min", f"{name}_max"] if quasi.numeric_output == "bounds" else []
        made += [f"{name}_raw"] if spec.output.keep_linked else []
    made += [SUPPRESSED] if spec.output.keep_linked and spec.privacy.suppression_limit else []
    for role in attributes.owners:
        made += [OWNERS[role], SUPPRESSED]
    made = list(dict.fromkeys(made))
    published = {name.lower(): name for name in attributes.published}
    lower = [name.lower() for name in made]
    for column in (published.get(name, made[i]) for i, name in enumerate(lower)):
        if column.lower() in published or lower.count(column.lower()) > 1:
            yield (
                f"column {column!r}: the release makes a column of this name (up to case) from "
                "another; rename it"
            )
