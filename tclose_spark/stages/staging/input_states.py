"""Whether the tables that a run reads changed since they were profiled."""

from __future__ import annotations

from tclose_spark.engine.sources import commit_of, input_state
from tclose_spark.errors import InputError
from tclose_spark.io.input.table_argument import source_of
from tclose_spark.io.run import Run


def state_of_inputs(run: Run) -> str | None:
    """A value that changes whenever the input or the table of the population does; None if one has no such value (see
    `input_state`).

    Raises:
        InputError: if the table of the population does not exist.
    """
    sources, population = [run.spec.input], run.spec.privacy.population
    if population is not None and population.table is not None:
        try:
            sources.append(source_of(population.table, population.format, {}))
        except InputError as error:
            raise InputError(f"privacy.population.table: {error}", values=error.values) from None
    states = [input_state(run.session, source, commit_of(run.session, source)) for source in sources]
    known = [state for state in states if state is not None]
    return " ".join(known) if len(known) == len(states) else None
