"""Whether the tables of a release in another form have the rows of the input, in classes that
hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.labels.loss import published_columns
from tclose_spark.checks.written import WrittenRelease, WrittenTable
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import GuaranteeError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.options.forms.tables import FormedRows, read_formed
from tclose_spark.options.forms.words import FormsFigures
from tclose_spark.runfile.release_form import GROUP, RELEASE

GROUP_OF_ROWS = JudgedQuasi(
    GROUP,
    (GROUP,),
    LabelLoss(numeric=False, span=Fraction(0), distinct=0, hierarchy=None, sets=False),
    covers=False,
)
"""The number of a class in place of labels. It covers no values."""


class FormsJudge(ReleaseJudge):
    """tables: those of sensitive values by name, if they are not in `release`. rows: of all
    tables.
    """

    apart = True
    makes = FormsFigures
    tables: Mapping[str, WrittenTable]
    rows: FormedRows

    def open(self, written: WrittenRelease) -> None:
        names = self.spec.release.tables([], self.spec.attributes.sensitive_attributes)
        self.tables = {name: written.run_files.released(name) for name in names}

    def published(self, columns: set[str]) -> set[str]:
        columns = columns | {GROUP} if self.spec.release.is_exact else columns
        return (
            columns - {*self.spec.attributes.sensitive_attributes}
            if self.spec.release.is_split
            else columns
        )

    def fields(self) -> Mapping[str, pa.Field]:
        found: dict[str, pa.Field] = {}
        labels = [column for columns in published_columns(self.spec).values() for column in columns]
        for name, columns in self.spec.release.tables(
            labels, self.spec.attributes.sensitive_attributes
        ).items():
            schema = schema_of(self.tables[name][0])
            if schema.names != columns:
                raise GuaranteeError(
                    f"the table {name!r} has missing or unexpected columns; nothing is published"
                )
            found |= {field.name: field for field in schema}
        return found

    def key(self, labels: Sequence[str]) -> list[str]:
        return self.spec.release.key(labels)

    def read(self, release: JudgedRelease) -> FormedRows:
        self.rows = read_formed(release.written.release, self.tables, self.spec)
        return self.rows

    def quasi(self) -> list[JudgedQuasi] | None:
        return [GROUP_OF_ROWS] if self.spec.release.is_exact else None

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        """A line on each part of the rows that is not that of the input in these classes, and, if
        quasi-identifiers are exact, on each sensitive attribute of which a class has one value.
        """
        recorded = release.written.evidence.written.projections
        for name, found in self.rows.projections.items():
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
        return FormsFigures(
            fingerprints={name: str(self.rows.projections[name]) for name in self.tables}
        )
