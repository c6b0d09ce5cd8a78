"""Special uniques and cells below a threshold, found in the caller's process from the different
rows and their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from rich.table import Table as RichTable
from rich.text import Text

from tclose_spark.auditing.options import DEFAULTS
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.texts import MOST_LINES, number_text, table_lines
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, select
from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.disclosure.rare_cells import RareCells, rare_cells
from tclose_spark.measures.disclosure.special_uniques import (
    Integers,
    SpecialUniques,
    special_uniques,
)
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import group_equal

MOST_CLASSES = 1_000_000


def check_uniques(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if there is nothing to search for, or people are counted."""
    size = question.special_uniques
    if size is not None and size < 1:
        raise ConfigurationError(
            f"--special-uniques: found {size}; expected at least 1 quasi-identifier",
        )
    if size is not None and question.persons:
        raise ConfigurationError(
            "--special-uniques and --person: special uniques are rows, and a person with "
            "several rows may be unique by values that no row has alone; leave out one of the "
            "two",
        )


def add_uniques(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the special uniques, if the question is about them."""
    size = table.question.special_uniques
    most = table.question.combinations
    if size is None:
        return result
    found = find_special_uniques(table.tallies, table.question, size, most)
    return replace(result, special_uniques=found, notes=(*result.notes, *_notes(found, most)))


def _notes(found: SpecialUniques | None, combinations: int) -> list[str]:
    """A note if not all special uniques were searched for."""
    if found is None:
        return [f"special uniques are not measured: there are more than {MOST_CLASSES:,} classes"]
    if found.complete:
        return []
    return [
        f"special uniques of more than {found.searched} quasi-identifiers are not measured: there "
        f"are more than {combinations:,} combinations; --combinations examines more",
    ]


def find_special_uniques(
    tallies: Table,
    question: AuditQuestion,
    size: int,
    most: int,
) -> SpecialUniques | None:
    """The special uniques of a table by its tallies, as `special_uniques` has them; None if there
    are more than MOST_CLASSES classes.
    """
    found = class_codes(tallies, question)
    return None if found is None else special_uniques(*found, size, most)


def class_codes(
    tallies: Table,
    question: AuditQuestion,
) -> tuple[dict[str, Integers], IntArray] | None:
    """(codes of the labels of each class by quasi-identifier, its rows), both of shape (classes,);
    None if there are more than MOST_CLASSES classes. Two bounds are one quasi-identifier.
    """
    columns = {name: f"l{i}" for i, name in enumerate(question.labels)}
    schema = pa.schema(
        [*[(column, pa.string()) for column in columns.values()], ("size", pa.int64())],
    )

    def with_sizes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            classes = ClassTally.whole(batch, len(columns))
            yield pa.RecordBatch.from_arrays(
                [*classes.labels, pa.array(classes.tuples.sizes)],
                schema=schema,
            )

    counted = map_batches(select(tallies, [*columns.values(), "n"]), with_sizes, schema)
    found = collect(counted, MOST_CLASSES + 1)
    if found.num_rows > MOST_CLASSES:
        return None
    codes: dict[str, Integers] = {
        name: group_equal([found[columns[column]].combine_chunks() for column in of_quasi])[
            0
        ].astype(np.int32)
        for name, of_quasi in question.columns.items()
    }
    return codes, found["size"].to_numpy()


def uniques_lines(found: SpecialUniques) -> Iterator[RichTable | Text]:
    """The rows by size of their MSUs, the part of each quasi-identifier, and frequent
    combinations.
    """
    sizes = [
        [f"{size} of {len(found.columns)}", f"{n:,}"]
        for size, n in enumerate(found.by_size, start=1)
    ]
    title = "Special uniques (rows: unique by so many quasi-identifiers, not by fewer of them)"
    yield from table_lines(title, ["quasi-identifiers", "rows"], sizes)
    shares = [[one.name, f"{one.uniques:,}", f"{one.share:.3f}"] for one in found.columns]
    title = "Quasi-identifiers that make rows unique (uniques: MSUs with it; share: of scores)"
    yield from table_lines(title, ["quasi-identifier", "uniques", "share"], shares)
    frequent = [[", ".join(one.columns), f"{one.rows:,}"] for one in found.frequent]
    yield from table_lines(
        "Combinations that make most rows unique",
        ["quasi-identifiers", "rows"],
        frequent,
    )
    yield Text(
        f"{found.unique:,} of {found.rows:,} rows are unique by at most {found.searched} "
        f"quasi-identifiers; SUDA score {number_text(found.highest)} at most, "
        f"{number_text(found.mean)} on average; {found.combinations:,} combinations examined",
    )


def check_cells(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if options on cells contradict one another."""
    if question.cells is None:
        if question.levels is not None or ",".join(map(str, question.below)) != DEFAULTS["below"]:
            raise ConfigurationError(
                "--below and --levels are of cells; give --cells, too, such as --cells 3",
            )
        return
    if len(question.below) not in (1, question.cells):
        raise ConfigurationError(
            f"--below: found {len(question.below)} thresholds; expected one, or one for each "
            f"of the {question.cells} sizes of --cells",
        )
    if question.persons:
        raise ConfigurationError(
            "--cells and --person: cells are of rows, and a person may have several; leave "
            "out one of the two",
        )
    if question.levels and not any(question.levels.values()):
        raise ConfigurationError(
            "--levels: all are 0, which leaves out every quasi-identifier; expected one above 0",
        )
    wrong = sorted(
        set(question.levels or question.quasi_identifiers) ^ set(question.quasi_identifiers),
    )
    if wrong:
        raise ConfigurationError(
            f"--levels: found {'a' if wrong[0] in (question.levels or {}) else 'no'} level of "
            f"{wrong[0]!r}; expected one for each quasi-identifier, and 0 for those to leave "
            "out",
        )


def add_cells(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the cells of combinations, if the question is about them."""
    question = table.question
    if question.cells is None:
        return result
    counted = class_codes(table.tallies, question)
    if counted is None:
        note = f"cells are not counted: there are more than {MOST_CLASSES:,} classes"
        return replace(result, notes=(*result.notes, note))
    size = min(question.cells, len(question.quasi_identifiers))
    below = (question.below * size)[:size]
    found = rare_cells(*counted, below, question.levels, question.combinations)
    return replace(
        result,
        cells=found,
        notes=(*result.notes, *_left_notes(found, question.combinations)),
    )


def _left_notes(found: RareCells, most: int) -> list[str]:
    """A note for each size of which combinations were left out."""
    return [
        f"cells of {one.combinations:,} combinations of {one.size} quasi-identifiers are not "
        f"counted, all those among {', '.join(one.among)}: there are more than {most:,} "
        "combinations; --combinations examines more"
        for one in found.left
    ]


def cell_lines(found: RareCells) -> Iterator[RichTable | Text]:
    """The worst combinations, and the part of each quasi-identifier."""
    thresholds = ", ".join(f"{n:,} of size {size}" for size, n in enumerate(found.below, start=1))
    below = f"{found.below[0]:,} rows" if len(set(found.below)) == 1 else thresholds
    figures = [
        [
            ", ".join(one.columns),
            *(f"{n:,}" for n in (one.cells, one.smallest, one.rare_cells, one.rare_rows)),
        ]
        for one in found.combinations
    ]
    title = f"Cells of combinations (rare: below {below}; rows: in rare cells)"
    yield from table_lines(
        title,
        ["quasi-identifiers", "cells", "smallest", "rare", "rows"],
        figures[:MOST_LINES],
    )
    if len(figures) > MOST_LINES:
        yield Text(
            f"({len(figures) - MOST_LINES:,} combinations with fewer such rows are left out; "
            "--json has all)",
        )
    shares = [[one.name, f"{one.rare_cells:,}"] for one in found.columns]
    yield from table_lines(
        "Quasi-identifiers by rare cells that they take part in",
        ["quasi-identifier", "rare"],
        shares,
    )
    yield Text(
        f"{found.rare_rows:,} of {found.rows:,} rows are in a rare cell; {found.rare_cells:,} rare "
        f"cells in {len(found.combinations):,} combinations",
    )
