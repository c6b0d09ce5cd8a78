"""The codebook of a release: what each published column is, and what was done to it, in words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from tclose_spark.report.certificate.attributes import QuasiIdentifierEntry
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import words_in
from tclose_spark.report.page import percent
from tclose_spark.requirements.figures import Figures, PrecisionBin
from tclose_spark.table.writing import number

INTERVALS = {"numeric": "number", "date": "date", "timestamp": "time"}
"""What the intervals of a quasi-identifier are of, by its type."""

INSTANT = "timestamp"
"""Spark's type of a time that had a zone."""


@dataclass(frozen=True, kw_only=True)
class CodebookEntry:
    """A column of the release.

    type: as Spark names it.
    form: what its values are.
    precision: the share of the rows at each precision.
    missing: the rows without a value.
    treatment: what was done to the column.
    """

    column: str
    role: str
    type: str
    form: str
    precision: str
    missing: int
    treatment: str


def codebook_entries(certificate: Certificate, figures: Figures) -> list[CodebookEntry]:
    """An entry for each column, in the order of the release.

    figures: the verifier's, with the type and the missing values of each column (none without
        them), and optionally `spreads`.
    """
    words = {column: (role, *rest) for role, column, *rest in _described(certificate)}
    spreads = figures.spreads.get("precision", {})
    entries = []
    for column, found in figures.columns.items():
        role, name, form, treatment = words.get(column, INSENSITIVE)
        entries.append(
            CodebookEntry(
                column=column,
                role=role,
                type=found.type,
                form=f"{form}, in UTC" if found.type == INSTANT else form,
                precision=_precision(spreads.get(name, ())),
                missing=found.missing,
                treatment=treatment,
            ),
        )
    return entries


def codebook_csv(entries: Sequence[CodebookEntry]) -> str:
    """The codebook as CSV with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text,
        [field.name for field in fields(CodebookEntry)],
        lineterminator="\n",
    )
    writer.writeheader()
    writer.writerows(map(asdict, entries))
    return text.getvalue()


UNCHANGED = "a value of the input"
PLACES = {
    "anatomy": " for its class",
    "permutation": ", the value of some person of its class, perhaps of another one",
}
"""Where sensitive values are published, by `release.form`."""
INSENSITIVE = (
    "insensitive attribute",
    "",
    UNCHANGED,
    "published unchanged; no guarantee covers it",
)
Described = Iterator[tuple[str, str, str, str]]
"""(column, its quasi-identifier or none, form, treatment)."""


def _described(certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
    """(role, column, its quasi-identifier or none, form, treatment) of all columns but the
    insensitive ones. Those of options come last, and replace others.
    """
    yield from (("quasi-identifier", *one) for one in _quasi_identifiers(certificate))
    yield from (("sensitive attribute", *one) for one in _sensitive(certificate))
    for words in words_in(certificate):
        yield from words.columns(certificate)


def _quasi_identifiers(certificate: Certificate) -> Described:
    columns = certificate.release.columns
    for name, entry in certificate.attributes.quasi_identifiers.items():
        kind = INTERVALS.get(entry.type, "value")
        if name in columns:
            yield (
                name,
                name,
                _form(entry, kind),
                f"generalized to a label that covers {_covered(entry)}",
            )
        else:
            for end, which in (("min", "lowest"), ("max", "highest")):
                treatment = f"generalized to an interval that covers {_covered(entry)}"
                yield f"{name}_{end}", name, f"the {which} {kind} of an interval", treatment


def _covered(entry: QuasiIdentifierEntry) -> str:
    """The values that labels cover. A class without a known value may have any label."""
    if entry.missing == "any":
        return "all known values of its class; a missing value could be any"
    return "all values of its class"


def _form(entry: QuasiIdentifierEntry, kind: str) -> str:
    if entry.hierarchy is not None:
        return "a value, a group of values from its hierarchy, or * (any value)"
    if kind != "value":
        zone = "; in UTC, if the input has a zone" if kind == "time" else ""
        return f"a {kind}, an interval of {kind}s [lowest, highest], or * (any value){zone}"
    if entry.generalization == "set":
        return "a value, a set of values {a, b}, or * (any value)"
    return "a value, or * (any value)"


def _sensitive(certificate: Certificate) -> Described:
    where = PLACES.get(certificate.release.form or "", "")
    for name, entry in certificate.attributes.sensitive.items():
        t = certificate.guarantees.t.get(name)
        close = "no limit on its distance from the table"
        if t is not None and t.required is not None:
            of = entry.places
            places = "" if of is None else f", between {number(of.size)} places"
            close = (
                f"in each class at most {number(t.required)} from its distribution in the table "
                f"({t.distance}{places})"
            )
        merged = "published unchanged" if entry.text is None else "spellings were merged"
        yield name, "", UNCHANGED, f"{merged}{where}; {close}"


def _precision(bins: Sequence[PrecisionBin]) -> str:
    """The share of the rows at each precision, finest first."""
    rows = sum(each["rows"] for each in bins)
    return "; ".join(
        f"{each['precision']}: {percent(each['rows'] / rows)} of rows" for each in bins
    )
