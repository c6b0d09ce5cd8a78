"""The whole flow on one page: profile -> plan -> anonymize -> verify -> report -> publish.

Each stage reads what the previous one wrote to the staging area, and can run in a process of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.checks.validation import begin_import
from tclose_spark.checks.verifier import Verdict
from tclose_spark.comparing.choose_k import SAMPLE_ROWS, choose_k
from tclose_spark.errors import (
    ConfigurationError,
    DamagedStagingError,
    GuaranteeError,
    SameInputError,
    TcloseError,
)
from tclose_spark.in_memory.sample import table_of_its_own
from tclose_spark.io.output_folders import STATE
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ORDER, ChosenKRecord, PlanRecord
from tclose_spark.kernels.caching import has_kernels
from tclose_spark.kernels.progress import announce_compiling
from tclose_spark.methods.method import PlanReport
from tclose_spark.stages.anonymize import write_release
from tclose_spark.stages.planning_input import make_plan
from tclose_spark.stages.profile import profile_input
from tclose_spark.stages.publish import (
    certificate_of,
    finish_publication,
    is_current,
    is_published,
    is_publishing,
    publish_release,
    require_replaceable_table,
)
from tclose_spark.stages.report import require_certifiable, write_reports
from tclose_spark.stages.staging.area import drop_rows, encoded_table, read_columns, read_profile
from tclose_spark.stages.staging.encode import EncodedTable
from tclose_spark.stages.staging.resuming import stage_to_resume
from tclose_spark.stages.verify import judge_staged, require_holds, verify_finished
from tclose_spark.table.domains import Profile
from tclose_spark.usefulness.raw_versus_released import raw_versus_released

NO_KERNELS = (
    "kernels    none are compiled here yet: this release compiles them once, in about half a "
    "minute of CPU"
)


def profile(run: Run) -> None:
    """Reads the input once, and stages its rows and their profile. No later stage reads the
    input.
    """
    require_replaceable_table(run)
    finish_publication(run)
    run.begin()
    try:
        with run.stage("profile") as stage:
            stage.record = profile_input(run)
    except TcloseError:
        run.discard()
        raise


def plan(run: Run) -> PlanReport:
    """Plans how rows form classes; returns the plan in figures."""
    run = run.resume("plan")
    with run.stage("plan") as stage:
        if not has_kernels():
            run.announce(NO_KERNELS)
            announce_compiling(run.announce)
        profiled = read_profile(run)
        table = encoded_table(run, profiled)
        chosen = None
        if run.spec.privacy.alpha is not None:
            chosen = _choose_k(run, profiled, table)
            run = run.with_k(chosen.k)
        report = make_plan(run, profiled, table, chosen)
        record = PlanRecord(plan=report.figures)
        stage.record = record if chosen is None else record.model_copy(update={"k": chosen})
        return report


def _choose_k(run: Run, profiled: Profile, table: EncodedTable) -> ChosenKRecord:
    """The k that is best on a sample, and why."""
    texts = [own is None for own in read_columns(run).own]
    settings = run.spec.attributes.sensitive_attributes
    rows = table.sample(SAMPLE_ROWS)
    sample = table_of_its_own(profiled, rows, settings, run.hierarchies, texts)
    chosen = choose_k(
        run.spec,
        sample,
        run.hierarchies,
        lambda line: run.announce(f"{'plan':<10} {line}"),
    )
    return ChosenKRecord.read(chosen.to_json())


def anonymize(run: Run) -> None:
    """Moves every row into its class, generalizes, and writes the release to the staging area."""
    run = run.resume("anonymize")
    with run.stage("anonymize") as stage:
        stage.record = write_release(run)


def verify(run: Run, finished: bool = False, other_version: bool = False) -> Verdict:
    """Judges the staged release from its files. Judges the finished release if `finished` requests
    it, or if nothing of this configuration is staged. other_version: see `verify_finished`.

    Raises:
        GuaranteeError: if a requirement does not hold.
        ConfigurationError: if there is nothing to judge.
    """
    if is_publishing(run):
        raise ConfigurationError(
            f"verify: a publication to {run.public.path()} broke off; run `tclose publish` (or "
            "`release`) to finish it",
        )
    was_finished = run.finished or run.internal.exists(STATE)
    if finished and not was_finished:
        raise ConfigurationError(f"verify: there is no finished release in {run.public.path()}")
    if finished or (was_finished and not run.is_ours("anonymize")):
        return verify_finished(run, other_version)
    if run.finished:
        run.announce(
            "note: this judges the staged release; `tclose verify --finished` judges the finished "
            "one",
        )
    return _verify_staged(run)


def _verify_staged(run: Run) -> Verdict:
    run = run.resume("verify")
    with run.stage("verify") as stage:
        verdict, stage.record = judge_staged(run, run.state)
    require_holds(
        verdict,
        "the release does not meet its requirements, nothing is published",
        staged=True,
    )
    return verdict


def report(run: Run) -> None:
    """Writes the certificate, both reports and the exports of a release that holds."""
    run = run.resume("report")
    state = run.state
    require_certifiable(state)
    with run.stage("report") as stage:
        stage.record = write_reports(run, state, raw_versus_released)


def publish(run: Run) -> Mapping[str, Any]:
    """Publishes the verified release; returns the certificate. May be repeated."""
    return publish_release(run)


def release(run: Run, if_changed: bool = False, resume: bool = False) -> Mapping[str, Any]:
    """Runs all stages; returns the certificate. First completes a publication that broke off;
    without `overwrite` this is all.

    if_changed: does nothing if the finished release matches the input, run file and hierarchies.
    resume: continues a run that broke off, where `stage_to_resume` permits it.
    """
    repeats = resume or run.spec.output.after is not None  # a line grows by one release a month
    if (
        finish_publication(run)
        and is_published(run)
        and (not run.overwrite or (repeats and is_current(run)))
    ):
        return certificate_of(run)
    continues = run.spec.output.after is not None
    if (if_changed or (continues and run.overwrite)) and is_current(run):
        certificate = certificate_of(run)
        more = ", so the line has no further release" if continues else ""
        run.announce(
            "nothing to do: the finished release matches this input, run file and "
            f"hierarchies{more}",
        )
        return certificate
    first = ORDER.index(stage_to_resume(run) if resume else ORDER[0])
    begin_import()
    try:
        return _from_stage(run, first)
    except SameInputError:
        if not continues or run.spec.output.after != run.spec.output.path:
            raise
        run.announce(
            "nothing to do: the release before was made from these rows, so the line has no "
            "further release",
        )
        return certificate_of(run)
    except DamagedStagingError as error:
        if first == 0:
            raise
        run.announce(f"resume     begins again with {ORDER[0]}: {error}")
        return _from_stage(run, 0)


def _from_stage(run: Run, first: int) -> Mapping[str, Any]:
    """Runs the stages from this one on, by its place; returns the certificate."""
    if first == 0:
        profile(run)
    try:
        for stage in (plan, anonymize, _verify_staged, report)[max(first - 1, 0) :]:
            stage(run)
    except GuaranteeError:
        drop_rows(run)  # the figures of the classes stay, for whoever looks for the reason
        raise
    except TcloseError:
        run.discard()
        raise
    return publish(run)
