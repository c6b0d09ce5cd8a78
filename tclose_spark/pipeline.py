"""The whole flow on one page: profile -> plan -> anonymize -> verify -> report -> publish.

Each stage reads what the one before wrote to the staging area and can run in a process of its own. Every action on
the data is visible here or one call below.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from pyspark.sql import DataFrame

from tclose_spark.checks.verifier import Evidence, Verdict, verify_release
from tclose_spark.compare.choosing import SAMPLE_ROWS, choose_k
from tclose_spark.compare.raw_side import measure_raw_side
from tclose_spark.compare.sample import table_of_its_own
from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.io.catalog import is_same, replace_table, require_replaceable
from tclose_spark.io.commits import commit_of
from tclose_spark.io.delta_log import LOG, lost_files, stray_files
from tclose_spark.io.exports import EXPORT_NAMES, Files, check_export, export_name, holds_files, write_export
from tclose_spark.io.input_state import input_state
from tclose_spark.io.interrupts import done, held
from tclose_spark.io.made_files import write_tables
from tclose_spark.io.reading import read_table
from tclose_spark.io.run import CERTIFICATE, STATE, Run
from tclose_spark.io.shuffles import sized_shuffles
from tclose_spark.io.storage import Folder, move
from tclose_spark.io.tables import read_delta
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, PlanningInput, PlanReport, method_of, require_supersets
from tclose_spark.report.certificate import build_certificate
from tclose_spark.report.html import render_report
from tclose_spark.report.internal import render_internal, versions
from tclose_spark.runfile.spec import EXPORTS
from tclose_spark.stages.anonymize import LINKED, Anonymizer
from tclose_spark.stages.encode import EncodedTable, Encoder
from tclose_spark.stages.insensitive import guard_insensitive
from tclose_spark.stages.linked_sample import read_linked
from tclose_spark.stages.profile import profile_table
from tclose_spark.stages.staging import StagedColumns, staged_batches
from tclose_spark.stages.warnings import profile_warnings
from tclose_spark.table.building import HIERARCHIES, built_columns
from tclose_spark.table.domains import Profile
from tclose_spark.table.held import HeldRows
from tclose_spark.table.rows import Rows

MINIMALITY = "minimality.json"
LINKED_SAMPLE, REPORT, INTERNAL_REPORT = "linked_sample.json", "report.html", "internal_report.html"
STAGED_ROWS, STAGED_COLUMNS = "rows", "columns.json"
MADE_PUBLIC = ("release", REPORT)
ALWAYS_KEPT = (
    "classes",
    "validation",
    "profile.json",
    "plan.json",
    "plan_report.json",
    "verification.json",
    MINIMALITY,
)
KEPT_INTERNAL = (LINKED, *ALWAYS_KEPT, HIERARCHIES)


def profile(run: Run) -> None:
    """Reads the input and stages its rows: domains, ranges, histogram, fingerprint in one pass; what insensitive
    columns tell in another, if there are any. No later stage reads it.
    """
    if run.spec.output.table is not None:
        require_replaceable(run.spec.output.table, run.spark)
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
        require_supersets(attributes, run.spec.privacy.k)
        given = PlanningInput(
            attributes=attributes,
            k=run.spec.privacy.k,
            settings=run.spec.method,
            sample=table.sample(method.sample_rows(run.spec.method)),
            counts=table.counts,
            frequencies=table.frequencies,
            most_suppressed=run.spec.privacy.most_suppressed(profiled.rows),
            of=run.spec.privacy.of,
            log=lambda line: run.announce(f"{'plan':<10} {line}"),
        )
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
        files = anonymizer.files(_staged(run))
        run.staging.remove(LINKED)
        with anonymizer.blocks_done.watched(plan.blocks, run.progress):
            write_tables(files, anonymizer.tables, run.staging)
        written = anonymizer.written()
        chosen = anonymizer.minimality.figure(profiled, run.spec.privacy.k, written.published.rows)
        run.staging.write(MINIMALITY, json.dumps(chosen, indent=1), private=True)
        run.staging.write(LINKED_SAMPLE, anonymizer.sample.to_json(), private=True)
        record |= {"written": {"raw": str(written.raw), "published": str(written.published)}, "method": written.method}


def verify(run: Run, finished: bool = False) -> Verdict:
    """Judges the staged release from what was written; a finished one again, if nothing of this configuration is
    staged, or if `finished` says so.

    Raises:
        GuaranteeError: if anything that is required does not hold.
        ConfigurationError: if there is nothing to judge.
    """
    if finished and not run.finished:
        raise ConfigurationError(f"verify: there is no finished release in {run.public.path()}")
    if finished or (run.finished and not run.is_ours("anonymize")):
        return _verify_again(run)
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
        verdict = _judge(run, _profile(run), state, run.staging, run.staging.path("classes"))
        run.staging.remove("validation")
        for name, text in verdict.validation.files().items():
            run.staging.write(f"validation/{name}", text)
        run.staging.write("verification.json", json.dumps({"problems": verdict.problems, **verdict.figures}, indent=1))
        record |= {"verdict": "holds" if verdict.holds else "does not hold", "figures": verdict.figures}
        record["minimality"] = _minimality(run)
    _require_holds(verdict, "the release does not hold what was asked, nothing is published")
    return verdict


def _verify_again(run: Run) -> Verdict:
    """Judges a finished release and its certificate; nothing of it is changed."""
    state = json.loads(run.internal.read(STATE))
    if state["configuration"] != run.fingerprint:
        raise ConfigurationError(f"verify: the release in {run.public.path()} was made with another configuration")
    run.take_k(state)
    run.take_hierarchies(state, run.internal)
    profiled = Profile.from_json(run.internal.read("profile.json"))
    try:
        run.internal.remove("recheck")
        with sized_shuffles(run.spark, profiled.rows):
            verdict = _judge(run, profiled, state, run.public, run.internal.path("recheck"))
    finally:
        run.internal.remove("recheck")
    _require_holds(verdict, f"the finished release in {run.public.path()} does not hold what was asked")
    certificate, again = _certificate(run), _certify(run, state, verdict.figures, run.public)
    if {**certificate, "issued": None, "tool": None} != {**again, "issued": None, "tool": None}:
        raise GuaranteeError(f"the certificate in {run.public.path()} does not describe the release beside it")
    if hashlib.sha256(run.public.read(REPORT).encode()).hexdigest() != state["stages"]["report"]["report"]:
        raise GuaranteeError(f"the report in {run.public.path()} is not the one that was published")
    if run.spec.output.table is not None and not is_same(run.public.path("release"), run.spec.output.table, run.spark):
        raise GuaranteeError(f"the table {run.spec.output.table} is not the release in {run.public.path()}")
    _check_exports(run, state, verdict.figures["fingerprint"])
    run.announce(f"{'verify':<10} {verdict.figures['rows']:>14,} rows again: the finished release holds")
    return verdict


def _judge(run: Run, profiled: Profile, state: Mapping[str, Any], folder: Folder, classes: str) -> Verdict:
    """The verdict on the release in a folder."""
    if not folder.exists(f"release/{LOG}"):
        raise GuaranteeError(f"there is no release in {folder.path('release')}")
    strays = stray_files(folder, "release")
    if strays:
        raise GuaranteeError(f"{folder.path('release')} holds {len(strays)} files that its log does not list")
    stages = state["stages"]
    evidence = Evidence(stages["profile"]["input"]["fingerprint"], **stages["anonymize"]["written"])
    release, path = read_delta(run.spark, folder.path("release")), folder.path("release")
    return verify_release(release, path, run.spec, profiled, run.hierarchies, evidence, classes)


def _minimality(run: Run) -> dict[str, Any]:
    """What the method's choices tell of those left in wide classes, at worst and without values; the console hears of
    it.
    """
    minimality = json.loads(run.staging.read(MINIMALITY))
    if not minimality["measured"]:
        run.announce(f"note: what the method's choices tell is not measured: {minimality['why']}")
        return {"measured": False}
    if minimality["left_out"]:
        run.announce(
            f"note: what the method's choices tell is not measured for {', '.join(minimality['left_out'])}: too many "
            "values"
        )
    if minimality["worst"] is None:
        return {"measured": True, "worst": None}
    worst = {key: x for key, x in minimality["worst"].items() if key not in ("value", "sensitive_value")}
    run.announce(
        f"note: the {worst['sensitive_attribute']} of people of some {worst['quasi_identifier']} who are left in wide "
        "classes follows from how classes are chosen, beyond what these classes say; how far is in "
        f"{run.internal.path(MINIMALITY)} (see docs/promise.md)"
    )
    return {"measured": True, "worst": worst}


def _require_holds(verdict: Verdict, what: str) -> None:
    if not verdict.holds:
        raise GuaranteeError(f"{what}:\n  " + "\n  ".join(verdict.problems))


def _certify(run: Run, state: Mapping[str, Any], figures: Mapping[str, Any], folder: Folder) -> dict[str, Any]:
    """The certificate of the release in a folder."""
    source = state["stages"]["profile"]["input"]
    columns = read_delta(run.spark, folder.path("release")).columns
    return build_certificate(run.spec, run.hierarchies, figures, source["rows"], source["version"], columns)


def report(run: Run) -> None:
    """Writes the certificate and both reports of a release that holds."""
    state = run.require("report")
    if state["stages"]["verify"]["verdict"] != "holds":
        raise GuaranteeError("report: the staged release does not hold what was asked; there is nothing to certify")
    with run.stage("report") as record:
        figures = json.loads(run.staging.read("verification.json"))
        certificate = _certify(run, state, figures, run.staging)
        run.staging.write(CERTIFICATE, json.dumps(certificate, indent=2))
        page = render_report(certificate, figures)
        run.staging.write(REPORT, page)
        record["report"] = hashlib.sha256(page.encode()).hexdigest()
        record["exports"] = _export(run, figures["fingerprint"])
        run.staging.write(INTERNAL_REPORT, _internal_page(run, state, certificate, figures), private=True)


def _export(run: Run, fingerprint: str) -> dict[str, Files]:
    """Writes the verified release in the other formats that are asked for; the files of each, which say its rows."""
    made: dict[str, Files] = {}
    for kind in run.spec.output.export:
        release = read_delta(run.spark, run.staging.path("release"))
        made[kind] = write_export(release, kind, run.staging)
        check_export(release, fingerprint, kind, run.staging, made[kind])
    return made


def _check_exports(run: Run, state: Mapping[str, Any], fingerprint: str) -> None:
    """Raises GuaranteeError unless the exports of a finished release are those that were written."""
    exports, release = state["stages"]["report"].get("exports", {}), read_delta(run.spark, run.public.path("release"))
    for kind in EXPORTS:
        if kind in exports:
            check_export(release, fingerprint, kind, run.public, exports[kind])
        elif run.public.exists(export_name(kind)):
            raise GuaranteeError(f"{run.public.path(export_name(kind))} was not made with the release beside it")


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
    linked = read_linked(run.staging.read(LINKED_SAMPLE), profiled)
    if linked is None:
        return None
    rows = Rows.concatenate([linked.rows, linked.suppressed])
    whole = HeldRows(rows, profiled.distinct_rows) if len(rows) == profiled.rows else _encoded(run, profiled)
    return measure_raw_side(linked, profiled, _attributes(run, profiled), run.spec, whole.frequencies).to_json()


def publish(run: Run) -> Mapping[str, Any]:
    """Moves what was verified to its public place, the certificate last; returns the certificate. May be repeated."""
    if _is_published(run):
        run.staging.remove()
        return _certificate(run)
    state = run.require("publish")
    if run.finished and not (run.overwrite or state["overwrite"]):
        raise ConfigurationError(
            f"output: {run.public.path()} holds a finished release; give --overwrite to replace it"
        )
    if run.spec.output.table is not None:
        require_replaceable(run.spec.output.table, run.spark)
    with held():  # an interrupt waits, so that no release lies there without its certificate
        with run.stage("publish"):
            run.public.create()
            run.public.remove(CERTIFICATE)
            for name in (*MADE_PUBLIC, *EXPORT_NAMES):
                _move(run, name, public=True)
            for name in KEPT_INTERNAL:
                _move(run, name, public=False)
            if run.staging.exists(INTERNAL_REPORT):
                run.internal.write(REPORT, run.staging.read(INTERNAL_REPORT), private=True)
            try:
                _require_arrived(run, state["stages"]["report"]["exports"])
                if run.spec.output.table is not None:
                    replace_table(run.public.path("release"), run.spec.output.table, run.spark)
            except TcloseError:
                for name in (*MADE_PUBLIC, *EXPORT_NAMES):
                    run.public.remove(name)
                raise
        run.internal.write(STATE, json.dumps(run.state, indent=1))
        move(CERTIFICATE, run.staging, run.public)
        done()
        run.staging.remove()
    certificate = _certificate(run)
    run.tell("COMPLETE", certificate)
    return certificate


def _require_arrived(run: Run, exports: Mapping[str, Any]) -> None:
    """Raises GuaranteeError if files of the release or of its exports are not whole in their public place."""
    lost = lost_files(run.public, "release")
    lost += [export_name(kind) for kind, files in exports.items() if not holds_files(run.public, kind, files)]
    if lost:
        raise GuaranteeError(
            f"{len(lost)} files of the release did not arrive whole in {run.public.path()}; it is removed again"
        )


def _is_published(run: Run) -> bool:
    """Whether this configuration's release is finished already, by a publish that was done or broke off at its very
    end.
    """
    if not run.finished or not run.internal.exists(STATE):
        return False
    if run.staging.exists(STATE) and not (run.is_staged("publish") and not run.staging.exists(CERTIFICATE)):
        return False
    made = json.loads(run.internal.read(STATE))
    return bool(made["configuration"] == run.fingerprint) and _is_placed(run, made)


def _is_placed(run: Run, made: Mapping[str, Any]) -> bool:
    """Whether the finished release, with this state, is everywhere where the run file wants it."""
    output = run.spec.output
    if set(made["stages"]["report"].get("exports", ())) != set(output.export):
        return False
    if run.internal.exists(LINKED) != output.keep_linked:
        return False
    with suppress(ConfigurationError):  # of a table that is not there
        return output.table is None or is_same(run.public.path("release"), output.table, run.spark)
    return False


def _move(run: Run, name: str, public: bool) -> None:
    """Moves one thing out of the staging area; one that an interrupted publish moved already stays where it is."""
    target = run.public if public else run.internal
    if run.staging.exists(name):
        move(name, run.staging, target)
    elif name not in _made(run):
        target.remove(name)  # an older run's


def _made(run: Run) -> set[str]:
    """Of what not every run makes, what this one does."""
    exports = map(export_name, run.spec.output.export)
    linked = {LINKED} if run.spec.output.keep_linked else set()
    built = {HIERARCHIES} if built_columns(run.spec.attributes) else set()
    return {*MADE_PUBLIC, *ALWAYS_KEPT, *exports, *linked, *built}


def _certificate(run: Run) -> Mapping[str, Any]:
    certificate: dict[str, Any] = json.loads(run.public.read(CERTIFICATE))
    return certificate


def release(run: Run, if_changed: bool = False) -> Mapping[str, Any]:
    """All stages; returns the certificate. if_changed: none, where the finished release is one of this very input, run
    file and hierarchies.
    """
    if if_changed and _is_current(run):
        run.announce("nothing to do: the finished release is one of this input, run file and hierarchies")
        return _certificate(run)
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
    return bool(same and made["configuration"] == run.fingerprint) and _is_placed(run, made)


def _drop_rows(run: Run) -> None:
    """Removes the staged rows where nothing follows that would need them. The error that ended the work is what counts:
    tasks may still write there, and then what is left is removed by the next run.
    """
    with suppress(Exception):
        run.staging.remove(STAGED_ROWS)
        run.staging.remove(LINKED_SAMPLE)


def _profile(run: Run) -> Profile:
    return Profile.from_json(run.staging.read("profile.json"))


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
