"""Columns of drawn tables, and their facts as `gather` finds them, without Spark."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tclose_spark.suggesting.facts import ColumnFacts, Kind, TableFacts, WholeCounts, facts_of
from tclose_spark.suggesting.unique_share import value_codes
from tclose_spark.table.columns.patterns import ISO_DATE, ISO_TIME, count_dates

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


KINDS: dict[type, Kind] = {str: "text", float: "decimal"}
TYPES = {"text": pa.string(), "decimal": pa.float64(), "integer": pa.int64()}


def is_number(value: Any) -> bool:
    if isinstance(value, str):
        return (
            bool(NUMBER.fullmatch(value))
            and len(re.sub("[^0-9]|^0+", "", re.sub("[eE].*", "", value))) <= 15
        )
    return math.isfinite(value)


def facts(name: str, values: Sequence[Any], unusable: str = "") -> ColumnFacts:
    """The facts of a table's column of which the sample is all rows."""
    present = [value for value in values if value is not None]
    kind = next(
        (kind for of, kind in KINDS.items() if any(isinstance(value, of) for value in present)),
        "integer",
    )
    whole = WholeCounts(
        rows=len(values),
        missing=len(values) - len(present),
        distinct=len(set(present)),
        not_numbers=sum(not is_number(value) for value in present),
        numerals=sum(is_number(value) for value in present),
        marked=0,
        iso_dates=sum(bool(re.fullmatch(ISO_DATE, str(value))) for value in present),
        formatted=count_dates(
            pa.array(map(str, present), pa.string()),
            pa.array([1] * len(present), pa.int64()),
        ),
        iso_times=sum(bool(re.fullmatch(ISO_TIME, str(value))) for value in present),
    )
    return replace(facts_of(name, kind, pa.array(values, TYPES[kind]), whole), unusable=unusable)


def gathered(table: pa.Table) -> TableFacts:
    """What `gather` finds of a table whose every row is looked at; its columns are numbers or
    texts.
    """
    found = [facts(name, table[name].to_pylist()) for name in table.column_names]
    codes = {name: value_codes(table[name]) for name in table.column_names}
    return TableFacts(table.num_rows, tuple(found), codes, table)
