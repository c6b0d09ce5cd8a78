"""Whether the tables that a run reads changed since they were profiled."""

from __future__ import annotations

from tclose_spark.engine.sources import commit_of, input_state
from tclose_spark.errors import InputError
from tclose_spark.io.input.files import source_of
from tclose_spark.io.input.states import Commit
from tclose_spark.io.output_folders import CERTIFICATE
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import open_folder


def state_of_inputs(run: Run, commit: Commit | None) -> str | None:
    """A value that changes whenever the input, the table of the population, or an earlier release
    in another output does; None if one has no such value (see `input_state`).

    commit: the input's, which is read or was read.

    Raises:
        InputError: if the table of the population does not exist.
    """
    state = input_state(run.session, run.spec.input, commit)
    population = run.spec.privacy.population
    after = run.spec.output.after
    if state is not None and after is not None and after != run.spec.output.path:
        public = open_folder(f"{after}/public", run.session)
        state += f" {public.sha256(CERTIFICATE) if public.exists(CERTIFICATE) else None}"
    if population is None or population.table is None:
        return state
    try:
        listed = source_of(population.table, population.format, {})
    except InputError as error:
        raise InputError(f"privacy.population.table: {error}", values=error.values) from None
    of_population = input_state(run.session, listed, commit_of(run.session, listed))
    return None if state is None or of_population is None else f"{state} {of_population}"
