"""The judge's side of an option, or of a requirement of whole releases: what it adds to a verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedQuasi, RequiredMeasure
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.engine.protocol import Table
from tclose_spark.io.run import Run
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.options import used_parts
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import Counts

if TYPE_CHECKING:
    from tclose_spark.checks.judged_release import JudgedRelease, ReadRows
    from tclose_spark.checks.written import RunFiles, WrittenRelease


class ReleaseJudge:
    """The hooks that `JudgedRelease` and `verify_release` call, in this order. Each adds nothing by default.

    apart: whether only its class connects a person's sensitive values with the other columns.
    """

    apart = False

    def __init__(self, spec: ReleaseSpec) -> None:
        self.spec = spec

    def open(self, written: WrittenRelease) -> None:
        """Reads further tables.

        Raises:
            GuaranteeError: if one is missing, or is not what was recorded.
        """

    def published(self, columns: set[str]) -> set[str]:
        """The columns that the table `release` must have. columns: without this option."""
        return columns

    def private(self) -> Iterable[str]:
        """Columns of the input that no release may have."""
        return ()

    def fields(self) -> Mapping[str, pa.Field]:
        """The columns of further public tables.

        Raises:
            GuaranteeError: if a table has others than it must have.
        """
        return {}

    def key(self, labels: Sequence[str]) -> list[str] | None:
        """The columns that all rows of a class share, if these are not the labels."""
        return None

    def read(self, release: JudgedRelease) -> ReadRows | None:
        """The rows, if they are in several tables."""
        return None

    def quasi(self) -> list[JudgedQuasi] | None:
        """What is judged in place of the labels."""
        return None

    def compared(self, release: JudgedRelease) -> Sequence[Counts] | None:
        """The distributions that classes are compared with, by attribute, if they are not those of the release."""
        return None

    def attributes(self, release: JudgedRelease) -> list[JudgedAttribute]:
        """Further attributes, such as tuples of others."""
        return []

    def measures(self, release: JudgedRelease) -> list[RequiredMeasure]:
        """What else is measured of each class."""
        return []

    def tallies(self) -> Table | None:
        """The tallies with all that `measures` need."""
        return None

    def of_whole(self, attributes: list[JudgedAttribute]) -> list[JudgedAttribute]:
        """The attributes with what is required of their distance from the whole table."""
        return attributes

    def extended(self, release: JudgedRelease, classes: Table) -> Table:
        """The class table with columns that depend on several classes."""
        return classes

    def measure(self, release: JudgedRelease) -> None:
        """Measures what else the verdict needs.

        Raises:
            GuaranteeError: if the release has values that it may not have.
        """

    def left_out_class(self, release: JudgedRelease) -> ClassFigures | None:
        """The figures of the rows that are left out as one class, if their tally is known."""
        return None

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        """A line on each thing that does not hold."""
        return iter(())

    def expectations(self, release: JudgedRelease) -> list[Expectation]:
        """Requirements on the class table."""
        return []

    def report(self, release: JudgedRelease, figures: dict[str, Any]) -> Iterable[str]:
        """Adds figures for the certificate; returns the problems that follow from them."""
        return ()

    def record(self, run: Run, record: dict[str, Any]) -> None:
        """Records what later stages need of a staged release. record: of the stage."""

    def require_certified(self, files: RunFiles, certificate: Mapping[str, Any]) -> None:
        """Raises GuaranteeError if the evidence of a finished release does not fit its certificate."""


def judges_of(spec: ReleaseSpec) -> list[ReleaseJudge]:
    """The judges of the options and requirements that a run uses."""
    return [made(spec) for made in used_parts(spec, "judge")]
