"""The public report: a certificate and figures of all classes as one HTML file that loads
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tclose_spark.report.certificate.attributes import CertifiedPlaces
from tclose_spark.report.certificate.guarantees import Guarantees
from tclose_spark.report.certificate.sections import Certificate, CertifiedSubjects
from tclose_spark.report.codebook import codebook_entries
from tclose_spark.report.option_words import add_all, collected, words_in
from tclose_spark.report.page import render
from tclose_spark.report.sections import (
    class_sizes,
    closeness_of_all,
    guessing_of,
    precision_of,
    worst_class,
)
from tclose_spark.report.three_questions import three_questions
from tclose_spark.requirements.closeness import CLOSENESS
from tclose_spark.requirements.figures import Figures
from tclose_spark.requirements.size import size_rows
from tclose_spark.requirements.wording import entries_in, rows_of_entries
from tclose_spark.requirements.words import BAR, MARK, GuaranteeRow
from tclose_spark.table.writing import number

NO_SUBJECTS = CertifiedSubjects(rows_are_persons=False, notes=[])


def render_report(certificate: Certificate, figures: Figures) -> str:
    """The public page of a release.

    figures: the verifier's: `extremes`, some of the largest and smallest classes; optionally
        `spreads`, histograms over all classes, with `worst`, the farthest class of each sensitive
        attribute.

    The page shows the release as holding only if every guarantee's own figures agree. It is green
    only if something limits what the release reveals about each sensitive attribute.
    """
    return render("report.html.j2", **_sections(certificate, figures))


def first_page(certificate: Certificate) -> dict[str, object]:
    """The template variables of the pages to sign: the sections of the certificate by their names,
    and what is made from them.
    """
    guarantees = certificate.guarantees
    sensitive = certificate.attributes.sensitive
    unprotected = certificate.unprotected
    tables = guarantee_tables(certificate)
    page: dict[str, object] = {
        **{name: getattr(certificate, name) for name in Certificate.model_fields},
        "certificate": certificate,
        "k": guarantees.k,
        "whole": certificate.whole,
        "holds": all(row.met is not False for rows in tables.values() for row in rows),
        "homogeneous": {name: entry.homogeneous for name, entry in sensitive.items()},
        "measured": certificate.information.attributes,
        "subjects": subjects_of(certificate),
        "spellings": [name for name, entry in sensitive.items() if entry.text is not None],
        "roles": roles_of(certificate),
        "closeness": {name: t.to_json() for name, t in guarantees.t.items()},
        "limited": [
            name
            for name, t in guarantees.t.items()
            if t.required is not None and name not in unprotected
        ],
        "MARK": MARK,
        "BAR": BAR,
        **tables,
    }
    add_all(
        words_in(certificate),
        page,
        lambda words, seen: seen.update(words.variables(certificate)),
    )
    return page


def subjects_of(certificate: Certificate) -> CertifiedSubjects:
    """Whom rows are about."""
    return certificate.subjects or NO_SUBJECTS


def guarantee_tables(certificate: Certificate) -> Mapping[str, list[GuaranteeRow]]:
    """The table `guarantees`, and those of options."""
    whole = certificate.whole
    places = {
        name: f"; {_places(entry.places)}"
        for name, entry in certificate.attributes.sensitive.items()
        if entry.places is not None
    }
    rows = [
        replace(row, meaning=row.meaning + places.get(row.attribute, ""))
        if row.name == "t-closeness"
        else row
        for row in guarantee_rows(certificate.guarantees, whole)
    ]
    every = words_in(certificate)
    return collected([{"guarantees": rows}, *(words.tables(certificate, whole) for words in every)])


def _places(places: CertifiedPlaces) -> str:
    """The places of an ordered attribute, in words."""
    if places.step is not None:
        return f"places are {number(places.size)} steps of {places.step}"
    return f"places are {number(places.size)} bins of equal width"


def _sections(certificate: Certificate, figures: Figures) -> dict[str, object]:
    """All template variables; those of all classes are empty without their figures."""
    every = words_in(certificate)
    templates = [words.parts(certificate, figures) for words in every]
    found: dict[str, object] = {
        **first_page(certificate),
        "extremes": figures.extremes,
        "sizes": None,
        "codebook": codebook_entries(certificate, figures),
        "parts": collected({place: [name] for place, name in one.items()} for one in templates),
    }
    add_all(every, found, lambda words, seen: seen.update(words.sections(certificate, figures)))
    found["questions"] = three_questions(certificate)
    spreads = figures.spreads
    utility = certificate.utility
    if not spreads:
        return found | dict.fromkeys(("distances", "worst", "precision", "guessing"), ())
    guarantees = certificate.guarantees
    sensitive = certificate.attributes.sensitive
    return found | {
        "sizes": class_sizes(spreads["sizes"], utility.smallest_class, utility.largest_class),
        "distances": [
            closeness_of_all(name, spreads["emd"][name], entry)
            for _, name, entries in entries_in(guarantees.to_json())
            for words, entry in entries
            if words.measure == CLOSENESS.measure
        ],
        "worst": [
            worst_class(name, entry, guarantees.t[name].required, certificate.whole)
            for name, entry in figures.worst.items()
        ],
        "precision": [
            precision_of(name, bins) for name, bins in spreads.get("precision", {}).items()
        ],
        "guessing": [
            guessing_of(
                name,
                spreads["guess"][name],
                spreads["gain"][name],
                entry.homogeneous.rows,
            )
            for name, entry in sensitive.items()
        ],
    }


def guarantee_rows(guarantees: Guarantees, whole: str) -> list[GuaranteeRow]:
    """A row for k, and for each requirement of a sensitive attribute. whole: what distances are
    measured from.
    """
    entries = guarantees.to_json()
    return [*size_rows(entries["k"]), *rows_of_entries(entries, whole)]


def roles_of(certificate: Certificate) -> dict[str, list[str]]:
    """The released columns by role. A quasi-identifier that is no column is published as two
    bounds.
    """
    release = certificate.release
    columns = [*release.columns]
    for of_table in (release.tables or {}).values():
        columns += of_table
    columns = [*dict.fromkeys(columns)]
    quasi = certificate.utility.ncp_by_quasi_identifier
    generalized = _in_order(
        columns,
        {
            column
            for name in quasi
            for column in ([name] if name in columns else [f"{name}_min", f"{name}_max"])
        },
    )
    roles = {
        "generalized": generalized,
        "sensitive": _in_order(columns, certificate.guarantees.t),
        "key": generalized,
    }
    for words in words_in(certificate):
        roles |= words.roles(certificate)
    taken = {column for named in roles.values() for column in named}
    return {
        **roles,
        "insensitive": [column for column in release.columns if column not in taken],
    }


def _in_order(columns: Iterable[str], chosen: Collection[str]) -> list[str]:
    return [column for column in columns if column in chosen]
