"""Verdicts on written releases, and on finished ones with their certificate, reports, exports and
evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any

from tclose_spark.checks.verifier import Verdict, verify_release
from tclose_spark.checks.written import Evidence, RunFiles, WrittenRelease
from tclose_spark.engine.exports import check_export, rows_of_export
from tclose_spark.engine.tables import again_if_disturbed, read_delta, schema_of, sized_shuffles
from tclose_spark.errors import ConfigurationError, GuaranteeError, UnreachableError
from tclose_spark.io.output_folders import CERTIFICATE, HISTORY, STATE
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    AnonymizeRecord,
    PlanRecord,
    ProfileRecord,
    ReportRecord,
    RunState,
    VerifyRecord,
)
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.integrity import differences, digests, strict_json
from tclose_spark.io.tables.delta_log import later_commits
from tclose_spark.io.tables.exports import export_name
from tclose_spark.io.tables.plain_parquet import parts_of, require_plain_parquet
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.line import history_of
from tclose_spark.stages.mechanism import record_mechanism, require_mechanism
from tclose_spark.stages.publish import JUDGED, VERDICT, public_files
from tclose_spark.stages.report import PAGES, certify, read_figures
from tclose_spark.stages.staging.area import read_profile
from tclose_spark.table.domains import Profile

MOST_NAMED = 5  # files that a message names
ISSUED = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
VERSION = r"(\d{1,4}!)?\d{1,4}(\.\d{1,8}){0,4}((a|b|rc|\.post|\.dev)\d{1,8})*(\+[0-9a-z.]{1,20})?"


def judge(run: Run, profiled: Profile, state: RunState, folder: Folder, classes: str) -> Verdict:
    """The verdict on the release in a folder; its class table is written to the path `classes`. A
    verdict that does not hold is not final if an executor was lost meanwhile.

    Raises:
        GuaranteeError: if it cannot be judged: it is damaged, or its table holds more than its
            rows.
    """

    def judged() -> Verdict | GuaranteeError:  # the class table of an earlier time goes first
        folder_of_classes, _, name = classes.rpartition("/")
        open_folder(folder_of_classes, run.session).remove(name)
        try:
            return _judge(run, profiled, state, folder, classes)
        except GuaranteeError as error:
            return error

    found = again_if_disturbed(
        run.session,
        judged,
        lambda one: isinstance(one, Verdict) and one.holds,
        lambda one: one.problems if isinstance(one, Verdict) else str(one),
    )
    if isinstance(found, GuaranteeError):
        raise found
    return found


def _judge(run: Run, profiled: Profile, state: RunState, folder: Folder, classes: str) -> Verdict:
    files = RunFiles(run=run, public=folder, state=state)
    versions = files.versions
    written = WrittenRelease(
        release=files.released("release", versions.commits, versions.readable),
        spec=run.spec,
        profile=profiled,
        hierarchies=run.public_hierarchies,
        evidence=Evidence.of(state),
        classes=classes,
        files=files,
    )
    return verify_release(written)


def judge_staged(run: Run, state: RunState) -> tuple[Verdict, VerifyRecord]:
    """The verdict on the staged release, and its record, with the SHA-256 of the judged files.
    Writes the class table, the validation and the figures beside it.
    """
    files = digests(run.staging, JUDGED)
    verdict = judge(run, read_profile(run), state, run.staging, run.staging.path("classes"))
    figures = verdict.figures.to_json()
    run.staging.remove("validation")
    for name, text in verdict.validation.files().items():
        run.staging.write(f"validation/{name}", text)
    run.staging.write(
        "verification.json",
        json.dumps({"problems": verdict.problems, **figures}, indent=1),
    )
    record = VerifyRecord(
        verdict="holds" if verdict.holds else "does not hold",
        figures=figures,
        minimality=record_mechanism(run),
        files={**files, **digests(run.staging, VERDICT)},
    )
    return verdict, record


def require_holds(verdict: Verdict, what: str, staged: bool = False) -> None:
    """Raises an error with all problems of a verdict, after `what`, unless it holds:
    UnreachableError if the method found no classes of a staged release within `coarsest`, else
    GuaranteeError.
    """
    if not verdict.holds:
        error = UnreachableError if staged and verdict.only_coarse else GuaranteeError
        raise error(f"{what}:\n  " + "\n  ".join(verdict.problems))


def verify_finished(run: Run, other_version: bool = False) -> Verdict:
    """Judges a finished release with its certificate, reports, exports and evidence; changes
    nothing.

    Every file must have its published SHA-256. Then the release is judged anew from its files, and
    the certificate and the report must follow from that. other_version: accepts a release of
    another version of the package, whose report, codebook and contract are not compared.

    Raises:
        GuaranteeError: if a requirement does not hold, or a file is missing, changed or foreign.
        ConfigurationError: if another configuration made it.
    """
    state = _state(run)
    if state.configuration != run.fingerprint:
        raise ConfigurationError(
            f"verify: the release in {run.public.path()} was made with another configuration; give "
            "the run file and every --set that made it",
        )
    _require_files(run, state)
    run = run.as_recorded(state, run.internal)
    profiled = _profile(run)
    with _place_of_classes(run) as classes, sized_shuffles(run.session, profiled.rows):
        verdict = judge(run, profiled, state, run.public, classes)
    require_holds(
        verdict,
        f"the finished release in {run.public.path()} does not meet its requirements",
    )
    _require_pages(run, state, verdict, other_version)
    _require_table(run)
    release = read_delta(run.session, run.public.path("release"))
    reported = state.of(ReportRecord)
    for kind, files in reported.exports.items():
        rows, hashed = rows_of_export(
            release,
            verdict.figures.fingerprint,
            kind,
            reported.escape_formulas,
        )
        if kind == "parquet":
            require_plain_parquet(
                run.public,
                parts_of(run.public, export_name(kind)),
                schema_of(release),
            )
        check_export(rows, hashed, kind, run.public, files)
    run.announce(
        f"{'verify':<10} {verdict.figures.rows:>14,} rows again: the finished release holds",
    )
    return verdict


@contextmanager
def _place_of_classes(run: Run) -> Iterator[str]:
    """The path of a class table that the body writes and reads: in `internal/`, or among temporary
    files if the output is read-only.
    """
    if not run.is_writable:
        with TemporaryDirectory(prefix="tclose_spark-") as folder:
            yield f"{folder}/recheck"
        return
    try:
        run.internal.remove("recheck")
        yield run.internal.path("recheck")
    finally:
        run.internal.remove("recheck")


def _require_table(run: Run) -> None:
    """Raises GuaranteeError unless the catalog's table, if the run file names one, has the rows of
    the release.
    """
    table = run.spec.output.table
    if table is None:
        return
    from tclose_spark.io.tables.catalog import is_same

    if not is_same(run.public.path("release"), table, run.spark):
        raise GuaranteeError(f"the table {table} is not the release in {run.public.path()}")


def _state(run: Run) -> RunState:
    """The record of a finished run.

    Raises:
        GuaranteeError: if it is gone, or cannot be read.
        ConfigurationError: if another version of the package wrote it.
    """
    try:
        found = strict_json(run.internal.read(STATE))
        if "files" in found["stages"]["report"]:
            state = RunState.read(found)
            for kind in (ProfileRecord, PlanRecord, AnonymizeRecord, VerifyRecord):
                state.of(kind)
            return state
    except (
        Exception
    ):  # missing, no text, no JSON, of another shape; a Hadoop file system raises Java's errors
        raise GuaranteeError(f"{run.internal.path(STATE)} is missing, or cannot be read") from None
    raise ConfigurationError(
        f"verify: the release in {run.public.path()} was made by an older version of tclose_spark, "
        "which kept no list of its files; release it again",
    )


def _files(run: Run, state: RunState) -> RunFiles:
    """The files of a finished run."""
    return RunFiles(run=run, public=run.public, state=state)


def _profile(run: Run) -> Profile:
    """The profile of the input.

    Raises:
        GuaranteeError: if it cannot be read.
    """
    try:
        return Profile.from_json(run.internal.read("profile.json"))
    except (ValueError, TypeError, KeyError, AttributeError, OSError):
        raise GuaranteeError(f"{run.internal.path('profile.json')} cannot be read") from None


def _require_files(run: Run, state: RunState) -> None:
    """Raises GuaranteeError unless every file of the release and of its evidence is the one that
    was published.
    """
    try:
        problems = list(_file_problems(run, state.of(ReportRecord)))
    except OSError as error:
        file = (
            getattr(error, "filename", None)
            or f"a file in {run.public.path()} or {run.internal.path()}"
        )
        raise GuaranteeError(
            f"{file} cannot be read, so the finished release cannot be judged",
        ) from None
    if not problems:
        return
    later = later_commits(run.public, "release", _files(run, state).versions.commits)
    what = f" (the table has later commits: {', '.join(later)})" if later else ""
    more = f"\n  and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
    raise GuaranteeError(
        f"the finished release in {run.public.path()} was changed after publication{what}; it is "
        "no longer the verified release:\n"
        "  " + "\n  ".join(problems[:MOST_NAMED]) + more,
    )


def _file_problems(run: Run, reported: ReportRecord) -> Iterator[str]:
    """The problems of the files of a finished run, against the list of its report stage."""
    listed = reported.files
    kept = {name.split("/")[0] for name in listed.internal}
    yield from map(run.public.path, differences(listed.public, public_files(run.public)))
    yield from map(run.internal.path, differences(listed.internal, digests(run.internal, kept)))
    ours = {"release", CERTIFICATE, *PAGES, *map(export_name, reported.exports)}
    ours |= {*run.spec.release.tables([], run.spec.attributes.sensitive_attributes)}
    for name in sorted({*listed.public, *ours}):
        if name.split("/")[0] not in ours:
            yield f"{run.public.path(name)} is no file of a release"
        elif name not in listed.public and not run.public.exists(name):
            yield f"{run.public.path(name)} is missing"


def _require_pages(run: Run, state: RunState, verdict: Verdict, other_version: bool) -> None:
    """Raises GuaranteeError unless certificate, report, codebook and contract follow from the
    verdict.
    """
    certificate = _certificate(run)
    again = certify(run, state, verdict.figures, run.public).to_json()
    compared = dict.fromkeys(("issued", "tool", "brought"))
    if {**certificate, **compared} != {**again, **compared}:
        raise GuaranteeError(
            f"the certificate in {run.public.path()} does not describe the release beside it",
        )
    same_version = _require_version(run, certificate, again, other_version)
    require_mechanism(run.internal, state)
    certified = Certificate.read(certificate)
    _require_history(run, state, certified)
    figures = read_figures(run, json.dumps(verdict.figures.to_json()))
    for name, make in PAGES.items():
        try:
            text = run.public.read(name)
        except (ValueError, OSError):
            raise GuaranteeError(f"{run.public.path(name)} is no text") from None
        if same_version and text != make(certified, figures):
            raise GuaranteeError(f"{run.public.path(name)} does not describe the release beside it")


def _require_history(run: Run, state: RunState, certificate: Certificate) -> None:
    """Raises GuaranteeError unless the history of a line follows from the certificate."""
    history = history_of(certificate, state)
    if history is None:
        return
    try:
        found = run.internal.read(HISTORY)
    except (ValueError, OSError):
        raise GuaranteeError(
            f"{run.internal.path(HISTORY)} is missing, or cannot be read",
        ) from None
    if found != history:
        raise GuaranteeError(
            f"{run.internal.path(HISTORY)} does not follow from the certificate of the release "
            "and what the run recorded",
        )


def _require_version(
    run: Run,
    certificate: Mapping[str, Any],
    again: Mapping[str, Any],
    accepted: bool,
) -> bool:
    """Whether these versions of this package, and of those that bring options, requirements and
    methods, made a certificate. again: what they make now. accepted: whether others may have made
    it.

    Raises:
        GuaranteeError: if the date or a version is none, or another version is not accepted.
    """
    theirs = _tools(certificate)
    ours = _tools(again)
    versions = [one.pop("version", None) for one in theirs]
    now = [one.pop("version") for one in ours]
    known = theirs == ours and all(
        version == other or re.fullmatch(VERSION, str(version))
        for version, other in zip(versions, now, strict=True)
    )
    if not _is_moment(certificate.get("issued")) or not known:
        raise GuaranteeError(
            f"the certificate in {run.public.path()} does not describe the release beside it: its "
            "date of issue or its tool is none",
        )
    for one, version, other in zip(ours, versions, now, strict=True):
        if version != other and not accepted:
            name = one.get("package", one["name"])
            raise GuaranteeError(
                f"the certificate in {run.public.path()} is of version {version} of {name}, and "
                f"this is {other}, which cannot compare report, codebook and contract; verify it "
                "with that version, or accept this (--other-version)",
            )
    return versions == now


def _tools(certificate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What made a certificate: this package, and what other packages brought."""
    brought = certificate.get("brought", [])
    listed = [certificate.get("tool"), *(brought if isinstance(brought, list) else [None])]
    return [dict(one) if isinstance(one, dict) else {} for one in listed]


def _is_moment(issued: Any) -> bool:
    """Whether this is the text of a date and a time as certificates have it."""
    with suppress(ValueError):
        return bool(re.fullmatch(ISSUED, str(issued)) and datetime.fromisoformat(str(issued)))
    return False


def _certificate(run: Run) -> dict[str, Any]:
    try:
        certificate: dict[str, Any] = dict(strict_json(run.public.read(CERTIFICATE)).items())
    except (ValueError, AttributeError, OSError):
        raise GuaranteeError(
            f"{run.public.path(CERTIFICATE)} is no certificate: it is no JSON object, or has a key "
            "twice",
        ) from None
    return certificate
