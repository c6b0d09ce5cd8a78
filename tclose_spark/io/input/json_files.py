"""Files of JSON objects, in an array or one after another, as tables in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tclose_spark.errors import InputError
from tclose_spark.io.input.cell_values import LARGEST
from tclose_spark.io.input.notes import note_zones
from tclose_spark.io.storage.stores import Place
from tclose_spark.runfile.spec import Input

MOST_DIGITS = 10**38
"""No decimal reaches it."""
BLANKS = re.compile(r"[ \t\n\r]*")
NAMES = {
    bool: "true or false",
    int: "number",
    float: "number",
    str: "text",
    dict: "object",
    list: "array",
}


def read_json(file: Place, source: Input) -> pa.Table:
    """The table in a file: a row for each object, a column for each of their names. A name that an
    object lacks is missing in its row. Texts stay texts. Whole numbers keep all digits.

    Raises:
        InputError: if there are no objects, or an object has a name twice, or a column's values are
            of several types.
    """
    with file.open("rb") as content:
        text = content.read().decode("utf-8-sig")
    rows = list(_objects(text, file.name))
    if not rows:
        raise InputError(f"input.path: {file.name} has no rows")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(
        {name: _column([row.get(name) for row in rows], name, file.name) for name in names}
    )


def _objects(text: str, file: str) -> Iterator[dict[str, Any]]:
    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise InputError(f"input.path: {file} has an object with a name twice; rename one")
        return made

    decoder = json.JSONDecoder(object_pairs_hook=read)
    place = _after_blanks(text, 0)
    while place < len(text):
        found, place = decoder.raw_decode(text, place)
        for one in found if isinstance(found, list) else [found]:
            if not isinstance(one, dict):
                raise InputError(
                    f"input.path: {file} has values that are no objects; expected an object for "
                    "each row"
                )
            yield one
        place = _after_blanks(text, place)


def _after_blanks(text: str, place: int) -> int:
    found = BLANKS.match(text, place)
    return place if found is None else found.end()


def _column(values: Sequence[Any], name: str, file: str) -> pa.Array:
    """A column of the type that all its values have."""
    kinds = {type(value) for value in values if value is not None}
    if len({NAMES[kind] for kind in kinds}) > 1:
        found = " and ".join(sorted({NAMES[kind] for kind in kinds}))
        raise InputError(
            f"input.path: column {name!r} of {file} has values of several types, {found}; write "
            "one type"
        )
    if kinds == {str}:
        note_zones(file, (value for value in values if value is not None))
    if int in kinds:
        return _numbers(values, name, file)
    return pa.array(values)


def _numbers(values: Sequence[Any], name: str, file: str) -> pa.Array:
    """Numbers of which some are whole: integers or decimals if all are, else doubles.

    Raises:
        InputError: if a whole number would lose digits.
    """
    whole = [value for value in values if isinstance(value, int)]
    largest = max(abs(value) for value in whole)
    if len(whole) == sum(value is not None for value in values) and largest < MOST_DIGITS:
        return pa.array(values, pa.int64() if largest < LARGEST else pa.decimal128(38, 0))
    if any(_loses_digits(value) for value in whole):
        raise InputError(
            f"input.path: column {name!r} of {file} has whole numbers of more digits than its type "
            "holds; write them as text"
        )
    return pa.array([None if value is None else float(value) for value in values])


def _loses_digits(value: int) -> bool:
    try:
        return int(float(value)) != value
    except OverflowError:
        return True
