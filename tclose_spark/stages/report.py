"""The certificate, the two reports, the contract and the exports of a verified release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tclose_spark.engine.exports import check_export, rows_of_export, write_export
from tclose_spark.engine.tables import read_delta, schema_of
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.output_folders import (
    CERTIFICATE,
    CODEBOOK,
    CONTRACT,
    HISTORY,
    MINIMALITY,
    REPORT,
)
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    AnonymizeRecord,
    PlanFigures,
    ProfileRecord,
    ReportRecord,
    RunState,
    VerifyRecord,
)
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.tables.exports import Files
from tclose_spark.report.certificate.building import build_certificate
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.codebook import codebook_csv, codebook_entries
from tclose_spark.report.contract import contract_yaml
from tclose_spark.report.html import render_report
from tclose_spark.report.internal import MadeBy, RawFigures, render_internal, versions
from tclose_spark.report.line import history_of
from tclose_spark.report.mechanism import Mechanism
from tclose_spark.report.option_words import Certified, Optimum
from tclose_spark.requirements.figures import Figures
from tclose_spark.runfile.options import used_parts
from tclose_spark.runfile.suggested import change_notes, changes_of
from tclose_spark.stages.publish import INTERNAL_REPORT, list_files, require_verified
from tclose_spark.stages.staging.area import PLAN_REPORT, read_profile
from tclose_spark.stages.warnings import could_be_intervals, query_error_notes, query_errors
from tclose_spark.table.columns.weights import listed_totals
from tclose_spark.table.domains import Profile

PAGES: Mapping[str, Callable[[Certificate, Figures], str]] = {
    REPORT: render_report,
    CODEBOOK: lambda certificate, figures: codebook_csv(codebook_entries(certificate, figures)),
    CONTRACT: contract_yaml,
}
"""The public files that follow from the certificate and the verifier's figures."""


def require_certifiable(state: RunState) -> None:
    """Raises GuaranteeError unless the staged release holds."""
    if state.of(VerifyRecord).verdict != "holds":
        raise GuaranteeError(
            "report: the staged release does not meet its requirements; there is nothing to certify",
        )


def write_reports(
    run: Run,
    state: RunState,
    measure: Callable[[Run], RawFigures | None],
) -> ReportRecord:
    """Writes the certificate, both reports, the codebook, the contract and the exports; returns the
    exports and the SHA-256 of all files. measure: see `raw_versus_released`.
    """
    require_verified(run, ["verification.json"])
    figures = run.staged("verification.json", partial(read_figures, run))
    certificate = certify(run, state, figures, run.staging)
    run.staging.write(CERTIFICATE, json.dumps(certificate.to_json(), indent=2))
    for name, make in PAGES.items():
        run.staging.write(name, make(certificate, figures))
    history = history_of(certificate, state)
    if history is not None:
        run.staging.write(HISTORY, history, private=True)
    exports = _export(run, figures.fingerprint)
    raw = measure(run)
    intervals = could_be_intervals(run.spec.attributes)
    notes = query_error_notes(raw, figures.ncp_by_quasi_identifier, intervals)
    if raw is not None and "query_error" in raw["worth"]:
        run.detail(f"counts     {query_errors(raw['worth'])}")
    changes = changes_of(run.spec)
    for note in (*notes, *change_notes(changes)):
        run.announce(f"note: {note}")
    made = MadeBy(
        state=state,
        notes=notes,
        suggested=changes,
        plan=run.staged(PLAN_REPORT, PlanFigures.parse),
        versions=versions(),
        minimality=run.staged(MINIMALITY, Mechanism.parse),
        totals=_raw_totals(read_profile(run)),
    )
    run.staging.write(
        INTERNAL_REPORT,
        render_internal(certificate, figures, raw, made),
        private=True,
    )
    return ReportRecord(
        exports=exports,
        escape_formulas=run.spec.output.escape_formulas,
        files=list_files(run),
    )


def certify(run: Run, state: RunState, figures: Figures, folder: Folder) -> Certificate:
    """The certificate of the release in a folder. Its warnings include those of the profile
    (`certified_warnings`), and what the choices of the method reveal.
    """
    profiled = state.of(ProfileRecord)
    mechanism = state.of(VerifyRecord).minimality
    work = state.of(AnonymizeRecord).method
    made = Certified(
        spec=run.spec,
        figures=figures,
        columns=schema_of(read_delta(run.session, folder.path("release"))).names,
        rows=profiled.input.rows,
        version=profiled.input.version,
        warnings=[*profiled.repeated, *mechanism.warnings],
        subjects=profiled.subjects.public,
        optimum=Optimum(work["optimum"], work["loss"]) if "optimum" in work else None,
    )
    return build_certificate(made, run.public_hierarchies)


def read_figures(run: Run, text: str) -> Figures:
    """The figures that the verifier wrote.

    Raises:
        ValueError: if these are none.
    """
    makes = [judge.makes for judge in used_parts(run.spec, "judge")]
    return Figures.read(json.loads(text), [kind for kind in makes if kind is not None])


def _export(run: Run, fingerprint: str) -> dict[str, Files]:
    """Writes the verified release in the requested formats; the files of each, with their rows."""
    made: dict[str, Files] = {}
    release = read_delta(run.session, run.staging.path("release"))
    for kind in run.spec.output.export:
        rows, hashed = rows_of_export(release, fingerprint, kind, run.spec.output.escape_formulas)
        made[kind] = write_export(rows, kind, run.staging, run.spec.output.one_file)
        check_export(rows, hashed, kind, run.staging, made[kind])
    return made


def _raw_totals(profile: Profile) -> dict[str, Any]:
    """The sums of the raw weights by sensitive attribute; empty without weights."""
    return {
        domain.name: listed_totals(
            {
                value: n
                for value, n, rows in zip(domain.values, totals, domain.counts, strict=True)
                if rows
            },
        )
        for domain, totals in zip(profile.sensitive, profile.weights, strict=False)
    }
