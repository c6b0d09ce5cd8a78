"""Cells below a threshold, found in the caller's process from the different rows and their
counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.options import DEFAULTS
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.parts.special_uniques import MOST_CLASSES, class_codes
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.texts import MOST_LINES, table_lines
from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.disclosure.rare_cells import RareCells, rare_cells


def check_cells(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if options on cells contradict one another."""
    if question.cells is None:
        if question.levels is not None or ",".join(map(str, question.below)) != DEFAULTS["below"]:
            raise ConfigurationError(
                "--below and --levels are of cells; give --cells, too, such as --cells 3"
            )
        return
    if len(question.below) not in (1, question.cells):
        raise ConfigurationError(
            f"--below: found {len(question.below)} thresholds; expected one, or one for each "
            f"of the {question.cells} sizes of --cells"
        )
    if question.persons:
        raise ConfigurationError(
            "--cells and --person: cells are of rows, and a person may have several; leave "
            "out one of the two"
        )
    if question.levels and not any(question.levels.values()):
        raise ConfigurationError(
            "--levels: all are 0, which leaves out every quasi-identifier; expected one above 0"
        )
    wrong = sorted(
        set(question.levels or question.quasi_identifiers) ^ set(question.quasi_identifiers)
    )
    if wrong:
        raise ConfigurationError(
            f"--levels: found {'a' if wrong[0] in (question.levels or {}) else 'no'} level of "
            f"{wrong[0]!r}; expected one for each quasi-identifier, and 0 for those to leave "
            "out"
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
        result, cells=found, notes=(*result.notes, *_left_notes(found, question.combinations))
    )


def _left_notes(found: RareCells, most: int) -> list[str]:
    """A note for each size of which combinations were left out."""
    return [
        f"cells of {one.combinations:,} combinations of {one.size} quasi-identifiers are not "
        f"counted, all those among {', '.join(one.among)}: there are more than {most:,} "
        "combinations; --combinations examines more"
        for one in found.left
    ]


def cell_lines(found: RareCells) -> Iterator[Table | Text]:
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
        title, ["quasi-identifiers", "cells", "smallest", "rare", "rows"], figures[:MOST_LINES]
    )
    if len(figures) > MOST_LINES:
        yield Text(
            f"({len(figures) - MOST_LINES:,} combinations with fewer such rows are left out; "
            "--json has all)"
        )
    shares = [[one.name, f"{one.rare_cells:,}"] for one in found.columns]
    yield from table_lines(
        "Quasi-identifiers by rare cells that they take part in",
        ["quasi-identifier", "rare"],
        shares,
    )
    yield Text(
        f"{found.rare_rows:,} of {found.rows:,} rows are in a rare cell; {found.rare_cells:,} rare "
        f"cells in {len(found.combinations):,} combinations"
    )
