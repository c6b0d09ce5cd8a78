"""Whether the tables of a release in another form than one table of labels have the rows of the
input, in classes that hold (see `release`).

`FormsWords` describes the form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.layout import FormedRows
from tclose_spark.report.certificate.attributes import QuasiIdentifierEntry
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.runfile.release_form import COUNT, GROUP, RELEASE
from tclose_spark.runfile.spec import ReleaseSpec


@dataclass(frozen=True)
class FormsFigures(OptionFigures):
    """fingerprints: of the tables of sensitive values, by name."""

    fingerprints: Mapping[str, str]


class FormsWords(OptionWords):
    """The column of a class's number, the tables of sensitive values with their fingerprints, and
    the blocks that are published apart.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        form = made.spec.release
        attributes = made.spec.attributes
        labels = [column for column in made.columns if column not in attributes.beside]
        tables = form.tables(labels, attributes.sensitive_attributes)
        release = certificate.release
        release.form = form.form
        if tables:
            release.tables = tables
            release.fingerprints = made.figures.of(FormsFigures).fingerprints
        if form.together:
            release.together = [[*block] for block in form.together]
        certificate.warnings[:0] = _warnings(made.spec)
        if form.is_exact:
            release.group = GROUP
            certificate.utility.optimum = None
            certificate.attributes.quasi_identifiers = {
                name: QuasiIdentifierEntry.read(
                    {"type": quasi.type, "exact": True, **made.figures.quasi_identifiers[name]},
                )
                for name, quasi in attributes.quasi_identifiers.items()
            }

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        group = certificate.release.group
        return {} if group is None else {"key": [group]}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        release = certificate.release
        for name, entry in certificate.attributes.quasi_identifiers.items():
            if entry.exact:
                treatment = "published as it is; only its class connects it with sensitive values"
                yield "quasi-identifier", name, name, "a value of the input", treatment
        if release.group is not None:
            treatment = (
                "a keyed hash of what is published of the class; rows with one number are a class"
            )
            yield "class", release.group, "", "the number of a class", treatment
        if release.tables is not None:
            treatment = "how many rows of the class have the values of a row of the table"
            yield "class", COUNT, "", "a number of rows", treatment


def _warnings(spec: ReleaseSpec) -> list[str]:
    """About exact quasi-identifiers, and about values that may not be those of their row."""
    form = spec.release
    found = []
    if form.is_exact:
        found.append(
            f"{', '.join(spec.attributes.quasi_identifiers)}: published as they are (release.form: "
            f"{form.form}), so who is in the table is disclosed, with these values; sensitive "
            "values are known by class only",
        )
    if form.form == "permutation":
        found.append(
            f"{', '.join(spec.attributes.sensitive_attributes)}: a row's value is that of some "
            "person of its class, perhaps of another one (release.form: permutation)",
        )
    return found


class FormsJudge(ReleaseJudge):
    """See `FormLayout`."""

    apart = True
    makes = FormsFigures

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        """A line on each part of the rows that is not that of the input in these classes, and, if
        quasi-identifiers are exact, on each sensitive attribute of which a class has one value.
        """
        recorded = release.written.evidence.written.projections
        for name, found in formed_rows(release).projections.items():
            if str(found) != recorded.get(name):
                what = "quasi-identifiers" if name == RELEASE else "sensitive values"
                yield f"{name}: the {what} of the classes are not those of the input's rows in them"
        for name, one in release.figures.homogeneous.items() if self.spec.release.is_exact else ():
            if one.classes:
                yield (
                    f"{name}: {one.classes} classes ({one.rows} rows) have one value, which is "
                    "certain for everybody in them, and exact quasi-identifiers say who that is; "
                    "lower t, require l, or use generalization"
                )

    def report(self, release: JudgedRelease) -> FormsFigures:
        rows = formed_rows(release)
        own = [name for name in rows.tables if name != RELEASE]
        return FormsFigures(fingerprints={name: str(rows.projections[name]) for name in own})


def formed_rows(release: JudgedRelease) -> FormedRows:
    """The rows of a release in another form than one table of labels."""
    assert isinstance(release.rows, FormedRows)
    return release.rows
