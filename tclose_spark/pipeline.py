"""The whole flow on one page: profile -> plan -> anonymize -> verify -> report -> publish.

Each stage reads what the previous one wrote to the staging area, and can run in a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.checks.verifier import Verdict
from tclose_spark.comparing.choose_k import SAMPLE_ROWS, choose_k
from tclose_spark.errors import ConfigurationError, TcloseError
from tclose_spark.in_memory.sample import table_of_its_own
<<<<<<< HEAD
from tclose_spark.io.input.input_state import commit_of, input_state
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import CERTIFICATE, LINKED, REPORT, STATE, Run
from tclose_spark.io.storage.integrity import digests
from tclose_spark.io.tables.catalog import require_replaceable
from tclose_spark.io.tables.delta import read_delta
from tclose_spark.io.tables.exports import Files, check_export, rows_of, write_export
from tclose_spark.io.tables.made_files import write_tables
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, PlanReport, method_of
from tclose_spark.report.html import render_report
from tclose_spark.report.internal import render_internal, versions
from tclose_spark.stages.anonymize import Anonymizer, Written
from tclose_spark.stages.encode import EncodedTable, Encoder
from tclose_spark.stages.insensitive import guard_insensitive
from tclose_spark.stages.observers.linked_sample import read_linked_rows
from tclose_spark.stages.observers.released_values import VALUES, PublicNames, public_labels, read_values
from tclose_spark.stages.planning_input import planning_input
from tclose_spark.stages.profile import profile_table
=======
from tclose_spark.io.run import STATE, Run
from tclose_spark.io.tables.catalog import require_replaceable
from tclose_spark.methods.method import PlanReport
from tclose_spark.stages.anonymize import write_release
from tclose_spark.stages.encode import EncodedTable
from tclose_spark.stages.planning_input import make_plan
from tclose_spark.stages.profile import profile_input
>>>>>>> main
from tclose_spark.stages.publish import (
    certificate_of,
    finish_publication,
    is_current,
    is_published,
    is_publishing,
    publish_release,
)
from tclose_spark.stages.report import require_certifiable, write_reports
from tclose_spark.stages.staged import drop_rows, encoded_table, read_columns, read_profile
from tclose_spark.stages.verify import judge_staged, require_holds, verify_finished
from tclose_spark.table.domains import Profile
from tclose_spark.usefulness.raw_versus_released import measure_raw_versus_released


def profile(run: Run) -> None:
    """Reads the input once, and stages its rows and their profile. No later stage reads the input."""
    if run.spec.output.table is not None:
        require_replaceable(run.spec.output.table, run.spark)
    finish_publication(run)
    run.begin()
    with run.stage("profile") as record:
<<<<<<< HEAD
        commit = commit_of(run.spark, run.spec.input)
        version = None if commit is None else commit.version
        state = input_state(run.spark, run.spec.input, commit)
        table = read_table(run.spark, run.spec.input, version)
        try:
            profiled, trees = profile_table(
                table, run.spec, run.hierarchies, run.staging.path(STAGED_ROWS), run.secret, version
            )
            built = run.write_hierarchies(trees)
            attributes = _attributes(run.with_hierarchies(trees), profiled)
            insensitive = guard_insensitive(table, run.spec, profiled, attributes.quasi_identifiers)
        except BaseException:
            _drop_rows(run)
            raise
        run.staging.write("profile.json", profiled.to_json())
        run.staging.write(STAGED_COLUMNS, StagedColumns.of(table, run.spec).to_json())
        record["input"] = {
            "path": run.spec.input.path,
            "rows": profiled.rows,
            "version": version,
            "state": state,
            "fingerprint": profiled.fingerprint,
        }
        record |= {"hierarchies": built} if built else {}
        record |= {"insensitive": insensitive} if insensitive else {}
        record["warnings"] = list(profile_warnings(profiled, run.spec))
        record["repeated"] = [repetition_warning(one) for one in profiled.repeated]
        for warning in record["warnings"]:
            run.announce(f"note: {warning}")


def plan(run: Run) -> PlanReport:
    """Decides how rows come into classes; returns what people read of the plan."""
    run = run.resume("plan")
    with run.stage("plan") as record:
        profiled = _profile(run)
        method, attributes = method_of(run.spec.method), _attributes(run, profiled)
        table = _encoded(run, profiled)
        chosen = _chosen_k(run, profiled, table)
        if chosen is not None:
            record["k"] = chosen
            run = run.with_k(chosen["k"])
        given = planning_input(run.spec, attributes, table, lambda line: run.announce(f"{'plan':<10} {line}"))
        made = method.make_plan(given)
        report = made.report()
        report = report if chosen is None else replace(report, details={**report.details, "k": chosen})
        run.staging.write("plan.json", json.dumps(made.to_json()))
        run.staging.write("plan_report.json", json.dumps(asdict(report), indent=1))
        record["plan"] = dict(report.figures)
        if report.note:
            run.announce(f"{'plan':<10} {report.note}")
    return report
=======
        profile_input(run, record)


def plan(run: Run) -> PlanReport:
    """Plans how rows form classes; returns the plan in figures."""
    run.require("plan")
    with run.stage("plan") as record:
        profiled = read_profile(run)
        table = encoded_table(run, profiled)
        if run.spec.privacy.alpha is not None:
            record["k"] = _choose_k(run, profiled, table)
            run.take_k({"stages": {"plan": record}})
        return make_plan(run, profiled, table, record)
>>>>>>> main


def _choose_k(run: Run, profiled: Profile, table: EncodedTable) -> dict[str, Any]:
    """The k that is best on a sample, and why."""
    texts = [own is None for own in read_columns(run).own]
    settings, rows = run.spec.attributes.sensitive_attributes, table.sample(SAMPLE_ROWS)
    sample = table_of_its_own(profiled, rows, settings, run.hierarchies, texts)
    return choose_k(run.spec, sample, run.hierarchies, lambda line: run.announce(f"{'plan':<10} {line}")).to_json()


def anonymize(run: Run) -> None:
    """Moves every row into its class, generalizes, and writes the release to the staging area."""
    run = run.resume("anonymize")
    with run.stage("anonymize") as record:
<<<<<<< HEAD
        profiled = _profile(run)
        attributes = _attributes(run, profiled)
        plan = _plan(run, attributes)
        anonymizer = Anonymizer(run.spec, profiled, attributes, plan, _columns(run))
        written = _write(run, anonymizer)
        if anonymizer.notes_values:
            names = PublicNames.of(run.spec, attributes, read_values(read_delta(run.spark, run.staging.path(VALUES))))
            run.staging.remove(VALUES)
            if written.suppressed:
                record["hierarchies"] = run.write_hierarchies(names.hierarchies, RELEASED_HIERARCHIES)
            if written.suppressed and names.differs:
                anonymizer = Anonymizer(run.spec, profiled, attributes, plan, _columns(run), names)
                written = _write(run, anonymizer)
        run.staging.write(MINIMALITY, json.dumps(anonymizer.mechanism(), indent=1), private=True)
        run.staging.write(LINKED_SAMPLE, anonymizer.sample.to_json(), private=True)
        record |= {"written": {"raw": str(written.raw), "published": str(written.published)}, "method": written.method}


def _write(run: Run, anonymizer: Anonymizer) -> Written:
    """Writes the release, and what goes with it, to the staging area; what was observed of the rows on the way."""
    files = anonymizer.files(_staged(run))
    run.staging.remove(LINKED)
    with anonymizer.blocks_done.watched(anonymizer.plan.blocks, run.progress):
        write_tables(files, anonymizer.tables, run.staging)
    return anonymizer.written()
=======
        write_release(run, record)
>>>>>>> main


def verify(run: Run, finished: bool = False) -> Verdict:
    """Judges the staged release from its files. Judges the finished release if `finished` requests it, or if nothing of
    this configuration is staged.

    Raises:
        GuaranteeError: if a requirement does not hold.
        ConfigurationError: if there is nothing to judge.
    """
    if is_publishing(run):
        raise ConfigurationError(
            f"verify: a publication to {run.public.path()} broke off; run `tclose publish` (or `release`) to finish it"
        )
    was_finished = run.finished or run.internal.exists(STATE)
    if finished and not was_finished:
        raise ConfigurationError(f"verify: there is no finished release in {run.public.path()}")
    if finished or (was_finished and not run.is_ours("anonymize")):
        return verify_finished(run)
    if run.finished:
        run.announce("note: this judges the staged release; `tclose verify --finished` judges the finished one")
    return _verify_staged(run)


def _verify_staged(run: Run) -> Verdict:
<<<<<<< HEAD
    """Judges the staged release; writes the class table, the validation and the figures beside it."""
    run = run.resume("verify")
    state = run.state
=======
    state = run.require("verify")
>>>>>>> main
    with run.stage("verify") as record:
        verdict = judge_staged(run, state, record)
    require_holds(verdict, "the release does not meet its requirements, nothing is published")
    return verdict


def report(run: Run) -> None:
<<<<<<< HEAD
    """Writes the certificate and both reports of a release that holds."""
    run = run.resume("report")
    state = run.state
    if state["stages"]["verify"]["verdict"] != "holds":
        raise GuaranteeError("report: the staged release does not hold what was asked; there is nothing to certify")
=======
    """Writes the certificate, both reports and the exports of a release that holds."""
    state = run.require("report")
    require_certifiable(state)
>>>>>>> main
    with run.stage("report") as record:
        write_reports(run, state, record, measure_raw_versus_released)


def publish(run: Run) -> Mapping[str, Any]:
    """Publishes the verified release; returns the certificate. May be repeated."""
    return publish_release(run)


def release(run: Run, if_changed: bool = False) -> Mapping[str, Any]:
    """Runs all stages; returns the certificate. First completes a publication that broke off; without `overwrite` this
    is all. if_changed: does nothing if the finished release matches the input, run file and hierarchies.
    """
    if finish_publication(run) and not run.overwrite and is_published(run):
        return certificate_of(run)
    if if_changed and is_current(run):
        run.announce("nothing to do: the finished release matches this input, run file and hierarchies")
        return certificate_of(run)
    profile(run)
    try:
        plan(run)
        anonymize(run)
        _verify_staged(run)
    except TcloseError:
        drop_rows(run)
        raise
    report(run)
    return publish(run)
