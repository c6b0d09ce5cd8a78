"""Opens the tables of an audit, at paths or in memory, with the columns of its question.

Tasks find the greatest row of a table among their rows, and the caller among theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.engine.protocol import OpenedTable, Session
from tclose_spark.engine.sources import (
    RunColumns,
    checked,
    errors_translated,
    open_table,
    read_table,
)
from tclose_spark.engine.tables import schema_of
from tclose_spark.runfile.spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class AuditTables:
    """The tables of an audit: at paths or in memory, and then opened.

    table: the one that is judged.
    reference: the one whose distribution classes are compared with; the domain is the union of
        both.
    background: people that an adversary knows, by their raw quasi-identifiers.
    population: a row for each person of the population, if the question says that a table is it.
    earlier: earlier releases of the same people, oldest first, to judge together with the table.
    raw: the table that was released, to link with the table.
    """

    table: Any
    reference: Any = None
    background: Any = None
    population: Any = None
    earlier: Sequence[Any] = ()
    raw: Any = None


@contextmanager
def opened_tables(
    session: Session,
    question: AuditQuestion,
    tables: AuditTables,
    kind: str | None,
    options: Mapping[str, str],
) -> Iterator[tuple[AuditQuestion, AuditTables]]:
    """The question, over people if the table has the column of the run file's person; and the
    tables, opened. Read errors are raised as InputError.

    kind: the table's format, if its path does not show it. options: of Spark's reader, for all
        tables.
    """
    changed = RunColumns(question.renamed, question.missing_values)

    def opened(given: Any, columns: Sequence[str], kind: str | None = None) -> OpenedTable:
        return open_table(session, given, columns, kind, options, changed)

    if question.unjudged_person is not None:
        there = opened(
            tables.table,
            [*question.labels, question.unjudged_person.column],
            kind,
        ).table
        question = question.judging_people(schema_of(there).names)
    sensitive = list(question.sensitive_attributes)
    known = [*question.quasi_identifiers, *question.persons]
    of_others = {
        "reference": sensitive,
        "background": known,
        "population": known,
        "raw": [*known, *sensitive],
    }
    given = {name: getattr(tables, name) for name in of_others}
    others = {name: opened(one, of_others[name]) for name, one in given.items() if one is not None}
    columns = [*question.labels, *sensitive, *question.persons, *question.weights]
    with_households = [*columns, *question.households]
    table = opened(tables.table, with_households, kind)
    earlier = [opened(one, columns) for one in tables.earlier]
    with errors_translated(table, *others.values(), *earlier):
        found = {name: one.table for name, one in others.items()}
        yield (
            question,
            AuditTables(table=table.table, earlier=[one.table for one in earlier], **found),
        )


def open_source(session: Session, spec: ReleaseSpec, columns: Sequence[str]) -> OpenedTable:
    """The input of a run file, checked for damaged text in these columns."""
    table = read_table(session, spec.input, columns=columns, codes=spec.missing_values)
    return checked(OpenedTable(table, spec.input, columns))


SortKey = tuple[tuple[bool, Any], ...]
"""The values of a row, each after whether it is there: missing values are least."""


def greatest(columns: Sequence[pa.Array]) -> SortKey:
    """The values of the row that is greatest in the first column, of these in the second, and so
    on.

    >>> values_of(greatest([pa.array([1, 2, 2]), pa.array(["c", None, "a"])]))
    [2, 'a']
    """
    rows = pa.array(np.arange(len(columns[0])))
    for column in columns:
        held = column.take(rows)
        most = pc.max(held)
        rows = rows.filter(pc.equal(held, most)) if most.is_valid else rows
    found = [column[rows[0].as_py()].as_py() for column in columns]
    return tuple((value is not None, value) for value in found)


def values_of(key: SortKey) -> list[Any]:
    """The values of the row."""
    return [value for _, value in key]
