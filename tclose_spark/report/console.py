"""The summary of a release for a terminal, a notebook, or a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import collected, words_in
from tclose_spark.requirements.closeness import CLOSENESS
from tclose_spark.requirements.figures import ClassesAndRows
from tclose_spark.requirements.size import size_line
from tclose_spark.requirements.wording import entries_in


def certificate_lines(
    certificate: Certificate,
    public: str,
    internal: str,
    codebook: Iterable[Mapping[str, str]] = (),
) -> list[str]:
    """The verdict, unprotected attributes, figures, and the paths of files in the folders `public`
    and `internal`.

    codebook: the rows of `codebook.csv`, which have the precision of each quasi-identifier.
    """
    figures = [
        *_figures(certificate),
        *_precision(certificate.utility.ncp_by_quasi_identifier, codebook),
        ("fingerprint", certificate.release.fingerprint),
        ("release", f"{public}/release"),
        *((name, f"{public}/{name}") for name in certificate.release.tables or ()),
        ("certificate", f"{public}/certificate.json"),
        ("report", f"{public}/report.html"),
        ("evidence", internal),
    ]
    notes = [] if certificate.subjects is None else certificate.subjects.notes
    width = max(len(what) for what, _ in figures)
    return [
        *(f"note: {note}" for note in notes),
        f"{certificate.release.name}: the release {certificate.verdict}",
        *unprotected_lines(certificate),
        *[f"  {what:<{width}}  {value}" for what, value in figures],
    ]


def certificate_json(certificate: Certificate, public: str, internal: str) -> str:
    """The same as one line of JSON."""
    summary = {
        "name": certificate.release.name,
        "verdict": certificate.verdict,
        "rows": certificate.release.rows,
        "classes": certificate.release.classes,
        "fingerprint": certificate.release.fingerprint,
        "guarantees": certificate.guarantees.to_json(),
        "unprotected": sorted(certificate.unprotected),
        "utility": certificate.utility.to_json(),
        "public": public,
        "internal": internal,
    }
    return json.dumps(summary, ensure_ascii=False)


def unprotected_lines(certificate: Certificate) -> list[str]:
    """A line for each sensitive attribute without a limit."""
    return [
        f"  but {name} is unprotected: nothing limits what a class reveals about it; certain "
        f"{_certain(homogeneous)}"
        for name, homogeneous in certificate.unprotected.items()
    ]


def _figures(certificate: Certificate) -> list[tuple[str, str]]:
    release = certificate.release
    guarantees = certificate.guarantees.to_json()
    added = collected([words.lines(certificate) for words in words_in(certificate)])
    closeness: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for _, name, entries in entries_in(guarantees):
        for words, entry in entries:
            found = closeness if words.measure == CLOSENESS.measure else others
            found.append(words.line(name, entry))
    sensitive = certificate.attributes.sensitive
    loss = certificate.utility.ncp
    return [
        ("rows", f"{release.rows:,}"),
        *added["rows"],
        *added["left out"],
        ("classes", f"{release.classes:,}"),
        size_line(guarantees["k"]),
        *closeness,
        *added["closeness"],
        *(
            (f"{name} is certain", _certain(attribute.homogeneous))
            for name, attribute in sensitive.items()
        ),
        *others,
        *([] if loss is None else [("information loss (NCP)", f"{loss:.4f}")]),
        *added["loss"],
    ]


def _precision(
    quasi: Iterable[str],
    codebook: Iterable[Mapping[str, str]],
) -> Iterator[tuple[str, str]]:
    """The share of the rows at each precision, by quasi-identifier; both columns of bounds have the
    same.
    """
    precision = {row["column"]: row["precision"].replace(" of rows", "") for row in codebook}
    for name in quasi:
        if found := precision.get(name) or precision.get(f"{name}_min"):
            yield f"precision of {name}", found


def _certain(homogeneous: ClassesAndRows) -> str:
    classes = homogeneous.classes
    rows = homogeneous.rows
    return f"for {rows:,} rows, in {classes:,} classes of one value" if classes else "for no row"
