"""The table of the population that a run file names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclose_spark.checks.labels.known_people import normal_texts, with_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.sources import errors_translated, open_table
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run


@contextmanager
def opened_population(run: Run) -> Iterator[Table | None]:
    """The people of the population, by their raw quasi-identifiers; None if the run file names no
    table of them.

    A row is a person, unless the table has the column of `attributes.person`.

    Raises:
        InputError: if it cannot be read.
    """
    population = run.spec.privacy.population
    quasi = run.spec.attributes.quasi_identifiers
    if population is None or population.table is None:
        yield None
        return
    persons = [column for role, column in run.spec.attributes.owners.items() if role == "person"]
    known = [*quasi, *persons]
    try:
        reading = (run.spec.input.columns, run.spec.missing_values)
        opened = open_table(run.session, population.table, known, population.format, {}, *reading)
    except InputError as error:
        raise InputError(f"privacy.population.table: {error}", values=error.values) from None
    with errors_translated(opened):
        listed = normal_texts(opened.table, known, quasi)
        for column in persons:
            if column in schema_of(listed).names:
                listed = with_people(
                    listed, column, "the table of the population", "privacy.population.table"
                )
        yield listed
