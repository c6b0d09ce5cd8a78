"""Whether the tables of a release in another form have the rows of the input, in classes that
hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.layout import FormedRows
from tclose_spark.options.forms.words import FormsFigures
from tclose_spark.runfile.release_form import RELEASE


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
