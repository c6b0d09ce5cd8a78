"""Where a run that broke off continues: at its first stage that is not finished."""

from __future__ import annotations

from tclose_spark.engine.sources import commit_of
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ORDER, ProfileRecord
from tclose_spark.stages.staging.area import has_rows
from tclose_spark.stages.staging.input_states import state_of_inputs
from tclose_spark.stages.staging.sealed_settings import sealed_settings
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
