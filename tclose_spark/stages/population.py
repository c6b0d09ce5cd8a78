"""The table of the population that a run file names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclose_spark.checks.labels.fitting import normal_texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.sources import errors_translated, open_table
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run


@contextmanager
def opened_population(run: Run) -> Iterator[Table | None]:
    """The people of the population, by their raw quasi-identifiers; None if the run file names no table of them.

    Raises:
        InputError: if it cannot be read.
    """
    population, quasi = run.spec.privacy.population, run.spec.attributes.quasi_identifiers
    if population is None or population.table is None:
        yield None
        return
    try:
        opened = open_table(run.session, population.table, list(quasi), population.format, {}, run.spec.input.columns)
    except InputError as error:
        raise InputError(f"privacy.population.table: {error}", values=error.values) from None
    with errors_translated(opened):
        yield normal_texts(opened.table, list(quasi), quasi)
