"""Where a run that broke off continues: at its first stage that is not finished, if nothing changed
that it depends on.

Beside its configuration, a staged run depends on the tables that it reads, on the secrets, and on
where and how its output is written.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from tclose_spark.engine.sources import commit_of, input_state
from tclose_spark.errors import InputError
from tclose_spark.io.input.files import source_of
from tclose_spark.io.input.states import Commit
from tclose_spark.io.output_folders import CERTIFICATE
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ORDER, ProfileRecord
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.stages.staging.area import has_rows
from tclose_spark.table.columns.pseudonyms import PseudonymKeys
from tclose_spark.version import __version__


def stage_to_resume(run: Run) -> str:
    """The first stage that is not finished, or the first one if the staged run cannot be continued.
    Announces which and why.

    A staged run can be continued if this version made it, and it has this configuration, these
    secrets and output (`sealed_settings`), the current state of the inputs (see `state_of_inputs`),
    and its rows.
    """
    why = _why_not(run)
    if why is not None:
        run.announce(f"resume     begins with {ORDER[0]}: {why}")
        return ORDER[0]
    done = run.state.done
    stage = next(name for name in ORDER if name not in done)
    run.announce(f"resume     continues with {stage}: {', '.join(done)} done before")
    return stage


def _why_not(run: Run) -> str | None:
    """Why the staged run cannot be continued; None if it can."""
    if not run.is_staged(ORDER[0]):
        return "no run is staged whose profile is finished"
    made = run.state
    if made.version != __version__:
        return "the staged run was made by another version of tclose_spark"
    if not run.is_ours(ORDER[0]):
        return "the staged run was made with another configuration"
    if tuple(made.done) == ORDER:
        return "the staged run was published"
    profiled = made.of(ProfileRecord)
    if profiled.sealed != sealed_settings(run):
        return "a secret or the output has other settings than those of the staged run"
    if not has_rows(run):
        return "the staged run failed, so its rows were removed"
    state = state_of_inputs(run, commit_of(run.session, run.spec.input))
    if state is None:
        return "this input has no files or versions that show whether it changed"
    if profiled.input.state != state:
        return "the input has changed since it was read"
    return None


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


def sealed_secret(secret: str) -> str:
    """A keyed hash that is equal for equal secrets of runs, whose hashes of people can be
    compared.
    """
    return hmac.new(secret.encode(), b"people", hashlib.sha256).hexdigest()


def sealed_pseudonyms(run: Run) -> dict[str, str]:
    """By column with a pseudonym, a keyed hash that is equal for equal secrets, and reveals none.

    Raises:
        ConfigurationError: if a secret is missing or too short.
    """
    keys = PseudonymKeys.of(run.spec.attributes.pseudonyms, run.secret).keys
    return {
        column: hmac.digest(key, b"sealed", "sha256").hex() for column, (key, _) in keys.items()
    }


def sealed_settings(run: Run) -> str:
    """A keyed hash of the secrets and of the run file's `output`. It is equal for equal ones, and
    reveals none.

    Raises:
        ConfigurationError: if the secret of a pseudonym is missing or too short.
    """
    text = json.dumps(
        [sealed_pseudonyms(run), run.spec.output.model_dump(mode="json")],
        sort_keys=True,
    )
    return hmac.new(run.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
