"""Publication: the verified release and its evidence replace older ones.

If the file system allows it, the new public folder is made beside the old one and replaces it as a
whole, so readers see one release or the other. Otherwise (object stores, mount points) its parts
move one by one: the old certificate is removed first, and the new one is placed last. A publication
that broke off continues where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tclose_spark.engine.sources import commit_of
from tclose_spark.errors import ConfigurationError, GuaranteeError, TcloseError
from tclose_spark.io.interrupts import defer_interrupts, done
from tclose_spark.io.output_folders import (
    ATOMS,
    CERTIFICATE,
    HISTORY,
    HOUSEHOLDS,
    LINKED,
    MINIMALITY,
    PEOPLE,
    PUBLIC,
    RECORDS,
    REPORT,
    STATE,
    SUCCESSOR,
)
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    ListedFiles,
    ProfileRecord,
    PublishRecord,
    ReportRecord,
    RunState,
    VerifyRecord,
)
from tclose_spark.io.storage.folder import NEW
from tclose_spark.io.storage.folders import Folder, move
from tclose_spark.io.storage.integrity import Digests, differences, digests
from tclose_spark.io.storage.lock import is_of_lock
from tclose_spark.io.tables.exports import only_file
from tclose_spark.report.line import damage_translated
from tclose_spark.runfile.release_form import SENSITIVE_TABLES
from tclose_spark.stages.staging.resuming import sealed_pseudonyms, state_of_inputs
from tclose_spark.table.hierarchies.building import HIERARCHIES, RELEASED_HIERARCHIES

INTERNAL_REPORT = "internal_report.html"
INTERNAL = (
    "classes",
    "validation",
    "profile.json",
    "plan.json",
    "plan_report.json",
    "verification.json",
    MINIMALITY,
    HIERARCHIES,
    RELEASED_HIERARCHIES,
    LINKED,
    PEOPLE,
    HOUSEHOLDS,
    ATOMS,
    RECORDS,
    HISTORY,
)
"""The evidence that a run keeps, by its name in the staging area. `INTERNAL_REPORT` becomes
REPORT.
"""
JUDGED = ("release", *SENSITIVE_TABLES, PEOPLE, HOUSEHOLDS, ATOMS, "profile.json", MINIMALITY)
VERDICT = ("classes", "validation", "verification.json")
"""What `verify` reads in the staging area, and what it writes there. The report is made from
both.
"""


def list_files(run: Run) -> ListedFiles:
    """The SHA-256 of every staged file that will be published (`public`) or kept (`internal`), by
    path.

    Raises:
        GuaranteeError: if a file that `verify` read or wrote is not as it was.
    """
    public = digests(run.staging, PUBLIC)
    internal = digests(run.staging, INTERNAL)
    require_verified(run, (*JUDGED, *VERDICT))
    page = digests(run.staging, [INTERNAL_REPORT])[INTERNAL_REPORT]
    return ListedFiles(public=public, internal={**internal, REPORT: page})


def require_verified(run: Run, names: Sequence[str]) -> None:
    """Raises GuaranteeError if one of these staged entries, of JUDGED and VERDICT, is not as
    `verify` left it.
    """
    verified = run.state.of(VerifyRecord).files
    of_names = {path: digest for path, digest in verified.items() if path.split("/")[0] in names}
    changed = differences(of_names, digests(run.staging, names))
    if changed:
        raise GuaranteeError(
            f"{run.staging.path()} was changed after it was verified: {changed[0]}",
        )


def public_files(folder: Folder) -> dict[str, str]:
    """The SHA-256 of every file in a public folder, without the lock of a run."""
    names = folder.names() if folder.exists() else []
    return digests(folder, [name for name in names if not is_of_lock(name)])


def publish_release(run: Run) -> Mapping[str, Any]:
    """Publishes the verified release; returns the certificate. May be repeated.

    Raises:
        ConfigurationError: if nothing is ready, or if it would replace a finished release without
            `overwrite`.
        GuaranteeError: if a file does not arrive as it was verified; then nothing of this run is
            public.
    """
    finish_publication(run)
    if is_published(run):
        run.staging.remove()  # an empty folder, at most
        return certificate_of(run)
    run = run.resume("publish")
    state = run.state
    if run.finished and not (run.overwrite or state.overwrite):
        raise ConfigurationError(
            f"output: {run.public.path()} holds a finished release; give --overwrite to replace it",
        )
    require_replaceable_table(run)
    with defer_interrupts():  # an interrupt waits, so that no release is left without its evidence
        with run.stage("publish") as stage:
            note_successor(run)
            try:
                _place(run, state.of(ReportRecord).files.public)
            except TcloseError:
                run.forget("anonymize")  # whose files have left the staging area
                raise
            stage.record = PublishRecord()
        _keep(run)
        done()
    certificate = certificate_of(run)
    run.events.emit("COMPLETE", certificate)
    return certificate


def require_no_other_successor(run: Run) -> None:
    """Raises ConfigurationError if another release continues the earlier one: the two would not
    share their atoms.
    """
    internal = run.earlier
    if (
        internal is None
        or not internal.exists(SUCCESSOR)
        or run.spec.output.after == run.spec.output.path
    ):
        return
    successor = internal.read(SUCCESSOR).strip()
    if successor != run.public.path():
        raise ConfigurationError(
            f"output.after: {successor} continues the release in {run.spec.output.after} already, "
            "and a line has one next release; continue that one. If nobody has seen it, remove it "
            f"and {internal.path(SUCCESSOR)}",
        )


def note_successor(run: Run) -> None:
    """Notes in the evidence of the earlier release that this run continues it.

    Raises:
        ConfigurationError: if another release does.
    """
    require_no_other_successor(run)
    if run.earlier is not None and run.spec.output.after != run.spec.output.path:
        run.earlier.write(SUCCESSOR, run.public.path(), private=True)


def require_replaceable_table(run: Run) -> None:
    """Raises ConfigurationError if the run file names a catalog table that may not be replaced."""
    if run.spec.output.table is not None:
        from tclose_spark.io.tables.catalog import require_replaceable

        require_replaceable(run.spec.output.table, run.spark)


def certificate_of(run: Run) -> Mapping[str, Any]:
    """The certificate of the finished release.

    Raises:
        ConfigurationError: if it is damaged.
    """
    with damage_translated(run.public.path()):
        certificate: dict[str, Any] = json.loads(run.public.read(CERTIFICATE))
        certificate["verdict"]  # raises if it has none
    return certificate


def is_publishing(run: Run) -> bool:
    """Whether a publication broke off: a file that was ready has left the staging area."""
    if not run.is_staged("report"):
        return False
    listed = run.state.of(ReportRecord).files.public
    return not all(run.staging.exists(name) for name in listed)


def finish_publication(run: Run) -> bool:
    """Completes a publication, of any run file, that broke off after its certificate was public:
    moves its evidence. Returns whether there was one.
    """
    if not run.is_staged("report") or not run.finished:
        return False
    expected = run.state.of(ReportRecord).files.public.get(CERTIFICATE)
    if run.staging.exists(CERTIFICATE) or run.public.sha256(CERTIFICATE) != expected:
        return False
    with defer_interrupts():
        _keep(run)
    run.announce("note: completed a publication that broke off")
    return True


def is_published(run: Run) -> bool:
    """Whether the release of this run file is finished, and nothing newer is staged."""
    made = None if run.staging.exists(STATE) else _finished_state(run)
    return made is not None and made.configuration == run.fingerprint and is_everywhere(run, made)


def is_current(run: Run) -> bool:
    """Whether the finished release was made from this configuration, these secrets of pseudonyms
    and the current state of its inputs. False if that is unknown (see `state_of_inputs`).
    """
    made = _finished_state(run)
    state = state_of_inputs(run, commit_of(run.session, run.spec.input))
    profiled = None if made is None else made.find(ProfileRecord)
    if made is None or profiled is None or state is None:
        return False
    same = profiled.input.state == state and profiled.pseudonyms == sealed_pseudonyms(run)
    return same and made.configuration == run.fingerprint and is_everywhere(run, made)


def _finished_state(run: Run) -> RunState | None:
    """What the run of the finished release recorded; None if there is none, or it is damaged."""
    if run.finished and run.internal.exists(STATE):
        with suppress(ValueError, KeyError):
            return RunState.parse(run.internal.read(STATE))
    return None


def is_everywhere(run: Run, made: RunState) -> bool:
    """Whether the finished release with this state is in every place that the run file names."""
    output = run.spec.output
    reported = made.find(ReportRecord)
    exports = {} if reported is None else reported.exports
    if reported is None or set(exports) != set(output.export):
        return False
    if any(
        (list(files) == [only_file(kind)]) != output.one_file for kind, files in exports.items()
    ):
        return False
    if "csv" in output.export and reported.escape_formulas != output.escape_formulas:
        return False
    if run.internal.exists(LINKED) != output.keep_linked:
        return False
    if output.table is None:
        return True
    from tclose_spark.io.tables.catalog import is_same

    with suppress(ConfigurationError):  # the table does not exist
        return is_same(run.public.path("release"), output.table, run.spark)
    return False


def _place(run: Run, files: Digests) -> None:
    """Makes the staged release public, as a whole or part by part."""
    new: Folder | None = run.public.sibling(NEW)
    target = run.public if new is None else new
    target.create()
    if new is None:
        run.public.remove(CERTIFICATE)
    try:
        for name in PUBLIC[:-1]:
            _move(name, run, target, files)
        lost = differences(
            files,
            {**digests(target, PUBLIC), **digests(run.staging, [CERTIFICATE])},
        )
        if lost:
            raise GuaranteeError(
                f"the release did not arrive in {target.path()} as it was verified: {lost[0]}",
            )
        if run.spec.output.table is not None:
            from tclose_spark.io.tables.catalog import replace_table

            replace_table(target.path("release"), run.spec.output.table, run.spark)
    except TcloseError:
        for name in PUBLIC:
            target.remove(name)
        if new is not None:
            new.remove()
        raise
    _move(CERTIFICATE, run, target, files)
    if new is not None:
        run.public.replace(new)
    there = run.public.sizes()
    others = [name for name in there if name not in files and not is_of_lock(name)]
    if (
        others
        or any(name not in there for name in files)
        or run.public.sha256(CERTIFICATE) != files[CERTIFICATE]
    ):
        run.public.remove(CERTIFICATE)
        raise GuaranteeError(
            f"{run.public.path()} was changed by another program during the publication",
        )


def _move(name: str, run: Run, target: Folder, files: Digests) -> None:
    """Moves one entry out of the staging area, unless an earlier attempt moved it."""
    if run.staging.exists(name):
        move(name, run.staging, target)
    elif not any(file == name or file.startswith(f"{name}/") for file in files):
        target.remove(name)  # an older release's


def _keep(run: Run) -> None:
    """Replaces the older evidence by that of the public release, and removes the staging area."""
    state = run.state
    files = state.of(ReportRecord).files.internal
    for name in INTERNAL:
        _move(name, run, run.internal, files)
    if run.staging.exists(INTERNAL_REPORT):
        run.internal.write(REPORT, run.staging.read(INTERNAL_REPORT), private=True)
    if state.find(PublishRecord) is None:
        state = state.with_record(PublishRecord(seconds=0.0))
    run.internal.write(STATE, state.text)
    new = run.public.sibling(NEW)
    if new is not None:
        new.remove()  # the replaced release, if replacing it broke off
    for name in run.staging.names():
        if name != STATE:  # goes last: while it exists, this is repeated
            run.staging.remove(name)
    run.staging.remove()
