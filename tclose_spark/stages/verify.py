"""Verdicts on written releases."""

from __future__ import annotations

import json

from tclose_spark.checks.verifier import Verdict, verify_release
from tclose_spark.checks.written import Evidence, RunFiles, WrittenRelease
from tclose_spark.engine.tables import again_if_disturbed
from tclose_spark.errors import GuaranteeError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import RunState, VerifyRecord
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.integrity import digests
from tclose_spark.stages.mechanism import record_mechanism
from tclose_spark.stages.publish import JUDGED, VERDICT
from tclose_spark.stages.staging.area import read_profile
from tclose_spark.table.domains import Profile


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
        "verification.json", json.dumps({"problems": verdict.problems, **figures}, indent=1)
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
