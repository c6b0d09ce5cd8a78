"""The whole flow on one page: profile -> plan -> anonymize -> verify -> report -> publish.

Each stage reads what the one before wrote to the staging area and can run in a process of its own. Every action on
the data is visible here or one call below.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from pyspark.sql import DataFrame

from tclose_spark.checks.verifier import Verdict
from tclose_spark.comparing.choose_k import SAMPLE_ROWS, choose_k
from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.in_memory.sample import table_of_its_own
from tclose_spark.io.input.commits import commit_of
from tclose_spark.io.input.input_state import input_state
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import CERTIFICATE, LINKED, REPORT, STATE, Run
from tclose_spark.io.storage.integrity import digests
from tclose_spark.io.tables.catalog import require_replaceable
from tclose_spark.io.tables.columns import read_delta
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
from tclose_spark.stages.publish import (
    INTERNAL_REPORT,
    MINIMALITY,
    certificate_of,
    finish_publication,
    is_everywhere,
    is_published,
    is_publishing,
    list_files,
    publish_release,
)
from tclose_spark.stages.staging import StagedColumns, staged_batches
from tclose_spark.stages.verify import certify, judge, require_holds, verify_finished
from tclose_spark.stages.warnings import (
    extreme_aggregates_notes,
    mechanism_found,
    mechanism_notes,
    profile_warnings,
    repetition_warning,
)
from tclose_spark.table.domains import Profile
from tclose_spark.table.hierarchies.building import RELEASED_HIERARCHIES
from tclose_spark.table.local_rows import LocalRows
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.raw_versus_released import measure_raw_versus_released

LINKED_SAMPLE, STAGED_ROWS, STAGED_COLUMNS = "linked_sample.json", "rows", "columns.json"


def profile(run: Run) -> None:
    """Reads the input and stages its rows: domains, ranges, histogram, fingerprint in one pass; what insensitive
    columns tell in another, if there are any. No later stage reads it.
    """
    if run.spec.output.table is not None:
        require_replaceable(run.spec.output.table, run.spark)
    finish_publication(run)
    run.begin()
    with run.stage("profile") as record:
        commit = commit_of(run.spark, run.spec.input)
        version = None if commit is None else commit.version
        state = input_state(run.spark, run.spec.input, commit)
        table = read_table(run.spark, run.spec.input, version)
        try:
            profiled, trees = profile_table(
                table, run.spec, run.hierarchies, run.staging.path(STAGED_ROWS), run.secret, version
            )
            built = run.keep_hierarchies(trees)
            insensitive = guard_insensitive(table, run.spec, profiled, _attributes(run, profiled).quasi_identifiers)
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
    run.require("plan")
    with run.stage("plan") as record:
        profiled = _profile(run)
        method, attributes = method_of(run.spec.method), _attributes(run, profiled)
        table = _encoded(run, profiled)
        chosen = _chosen_k(run, profiled, table)
        if chosen is not None:
            record["k"] = chosen
            run.take_k({"stages": {"plan": record}})
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


def _chosen_k(run: Run, profiled: Profile, table: EncodedTable) -> dict[str, Any] | None:
    """The k that is best on a sample, and why; None where the run file says it."""
    if run.spec.privacy.alpha is None:
        return None
    texts = [own is None for own in _columns(run).own]
    rows = table.sample(SAMPLE_ROWS)
    sample = table_of_its_own(profiled, rows, run.spec.attributes.sensitive_attributes, run.hierarchies, texts)
    return choose_k(run.spec, sample, run.hierarchies, lambda line: run.announce(f"{'plan':<10} {line}")).to_json()


def anonymize(run: Run) -> None:
    """Moves every row into its class, generalizes, and writes the release to the staging area."""
    run.require("anonymize")
    with run.stage("anonymize") as record:
        profiled = _profile(run)
        attributes = _attributes(run, profiled)
        plan = _plan(run, attributes)
        anonymizer = Anonymizer(run.spec, profiled, attributes, plan, _columns(run))
        written = _write(run, anonymizer)
        if anonymizer.notes_values:
            names = PublicNames.of(run.spec, attributes, read_values(read_delta(run.spark, run.staging.path(VALUES))))
            run.staging.remove(VALUES)
            if written.suppressed:
                record["hierarchies"] = run.keep_hierarchies(names.hierarchies, RELEASED_HIERARCHIES)
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


def verify(run: Run, finished: bool = False) -> Verdict:
    """Judges the staged release from what was written; a finished one again, if nothing of this configuration is
    staged, or if `finished` says so.

    Raises:
        GuaranteeError: if anything that is required does not hold.
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
        run.announce(
            "note: the staged release is judged, not the finished one beside it; `tclose verify --finished` judges that"
        )
    return _verify_staged(run)


def _verify_staged(run: Run) -> Verdict:
    """Judges the staged release; writes the class table, the validation and the figures beside it."""
    state = run.require("verify")
    with run.stage("verify") as record:
        run.staging.remove("classes")
        files = digests(run.staging, ["release"])
        verdict = judge(run, _profile(run), state, run.staging, run.staging.path("classes"))
        run.staging.remove("validation")
        for name, text in verdict.validation.files().items():
            run.staging.write(f"validation/{name}", text)
        run.staging.write("verification.json", json.dumps({"problems": verdict.problems, **verdict.figures}, indent=1))
        record |= {"verdict": "holds" if verdict.holds else "does not hold", "figures": verdict.figures}
        record["minimality"] = _mechanism(run)
        record["files"] = {**files, **digests(run.staging, ["classes"])}
    require_holds(verdict, "the release does not hold what was asked, nothing is published")
    return verdict


def _mechanism(run: Run) -> dict[str, Any]:
    """What the method's choices tell, without values; the console hears of it."""
    figure = json.loads(run.staging.read(MINIMALITY))
    notes, found = mechanism_notes(figure), mechanism_found(figure)
    for note in notes:
        where = f"; how far is in {run.internal.path(MINIMALITY)} (see docs/promise.md)" if figure["measured"] else ""
        run.announce(f"note: {note}{where}")
    for note in extreme_aggregates_notes(figure, public=False):
        run.announce(f"note: {note}")
    return {**found, "warnings": notes if figure["measured"] else extreme_aggregates_notes(figure, public=True)}


def report(run: Run) -> None:
    """Writes the certificate and both reports of a release that holds."""
    state = run.require("report")
    if state["stages"]["verify"]["verdict"] != "holds":
        raise GuaranteeError("report: the staged release does not hold what was asked; there is nothing to certify")
    with run.stage("report") as record:
        figures = json.loads(run.staging.read("verification.json"))
        certificate = certify(run, state, figures, run.staging)
        run.staging.write(CERTIFICATE, json.dumps(certificate, indent=2))
        page = render_report(certificate, figures)
        run.staging.write(REPORT, page)
        record["exports"] = _export(run, figures["fingerprint"])
        record["escape_formulas"] = run.spec.output.escape_formulas
        run.staging.write(INTERNAL_REPORT, _internal_page(run, state, certificate, figures), private=True)
        record["files"] = list_files(run)


def _export(run: Run, fingerprint: str) -> dict[str, Files]:
    """Writes the verified release in the other formats that are asked for; the files of each, which say its rows."""
    made: dict[str, Files] = {}
    for kind in run.spec.output.export:
        release = read_delta(run.spark, run.staging.path("release"))
        rows, hashed = rows_of(release, fingerprint, kind, run.spec.output.escape_formulas)
        made[kind] = write_export(rows, kind, run.staging)
        check_export(rows, hashed, kind, run.staging, made[kind])
    return made


def _internal_page(
    run: Run, state: Mapping[str, Any], certificate: Mapping[str, Any], figures: Mapping[str, Any]
) -> str:
    """The report that stays inside: the raw side, and the run."""
    made = {
        "state": state,
        "plan": json.loads(run.staging.read("plan_report.json")),
        "versions": versions(),
        "minimality": json.loads(run.staging.read(MINIMALITY)),
    }
    return render_internal(certificate, figures, _raw_side(run), made)


def _raw_side(run: Run) -> dict[str, Any] | None:
    """What raw rows tell, and what is published of them; None where none could be drawn."""
    profiled = _profile(run)
    linked = read_linked_rows(run.staging.read(LINKED_SAMPLE), profiled)
    if linked is None:
        return None
    rows = Rows.concatenate([linked.rows, linked.suppressed])
    whole = LocalRows(rows, profiled.distinct_rows) if len(rows) == profiled.rows else _encoded(run, profiled)
    trees = public_labels(run.spec, run.hierarchies, run.public_hierarchies)
    attributes = ResolvedAttributes.of(run.spec.attributes, profiled, trees, run.spec.privacy.n)
    return measure_raw_versus_released(linked, profiled, attributes, run.spec, whole.frequencies).to_json()


def publish(run: Run) -> Mapping[str, Any]:
    """Makes what was verified public, the certificate with it or last; returns the certificate. May be repeated."""
    return publish_release(run)


def release(run: Run, if_changed: bool = False) -> Mapping[str, Any]:
    """All stages; returns the certificate. if_changed: none, where the finished release is one of this very input, run
    file and hierarchies. A publication that broke off is finished first; without `overwrite` that is all.
    """
    if finish_publication(run) and not run.overwrite and is_published(run):
        return certificate_of(run)
    if if_changed and _is_current(run):
        run.announce("nothing to do: the finished release is one of this input, run file and hierarchies")
        return certificate_of(run)
    profile(run)
    try:
        plan(run)
        anonymize(run)
        _verify_staged(run)
    except TcloseError:
        _drop_rows(run)
        raise
    report(run)
    return publish(run)


def _is_current(run: Run) -> bool:
    """Whether the finished release was made of this input as it is now, by this configuration. Of an input whose state
    cannot be told (see `input_state`) none is.
    """
    if not run.finished or not run.internal.exists(STATE):
        return False
    made = json.loads(run.internal.read(STATE))
    state = input_state(run.spark, run.spec.input, commit_of(run.spark, run.spec.input))
    same = state is not None and made["stages"]["profile"]["input"].get("state") == state
    return bool(same and made["configuration"] == run.fingerprint) and is_everywhere(run, made)


def _drop_rows(run: Run) -> None:
    """Removes the staged rows where nothing follows that would need them. The error that ended the work is what counts:
    tasks may still write there, and then what is left is removed by the next run.
    """
    with suppress(Exception):
        run.staging.remove(STAGED_ROWS)
        run.staging.remove(LINKED_SAMPLE)


def _profile(run: Run) -> Profile:
    """The profile that was staged.

    Raises:
        ConfigurationError: if another version of the package wrote it.
    """
    try:
        return Profile.from_json(run.staging.read("profile.json"))
    except (KeyError, TypeError):
        raise ConfigurationError(
            f"what is staged in {run.staging.path()} was made by another version of tclose_spark; begin again with "
            "`tclose profile`"
        ) from None


def _attributes(run: Run, profiled: Profile) -> ResolvedAttributes:
    return ResolvedAttributes.of(run.spec.attributes, profiled, run.hierarchies, run.spec.privacy.n)


def _plan(run: Run, attributes: ResolvedAttributes) -> Plan:
    return method_of(run.spec.method).read_plan(
        json.loads(run.staging.read("plan.json")), attributes, run.spec.privacy.k, run.spec.method
    )


def _encoded(run: Run, profiled: Profile) -> EncodedTable:
    return EncodedTable(_staged(run), Encoder.of(profiled, _columns(run)), profiled)


def _columns(run: Run) -> StagedColumns:
    return StagedColumns.from_json(run.staging.read(STAGED_COLUMNS))


def _staged(run: Run) -> DataFrame:
    """The rows as the profile staged them.

    Raises:
        ConfigurationError: if they are gone.
    """
    if not run.staging.exists(STAGED_ROWS):
        raise ConfigurationError(
            f"the rows that were staged in {run.staging.path()} are gone, as they are when a release could not be "
            "made; begin again with `tclose profile`"
        )
    return staged_batches(run.spark, run.staging.path(STAGED_ROWS))
