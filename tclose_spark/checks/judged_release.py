"""A written release with all that a verdict is made from, each part measured when it is first used,
and the judges of options that add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, reduce
from itertools import chain
from typing import ClassVar, Protocol, TypeVar

import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedQuasi, RequiredMeasure, class_table
from tclose_spark.checks.classes.figures import ClassFigures, class_figures
from tclose_spark.checks.classes.tallies import count_values
from tclose_spark.checks.labels.loss import (
    LabelVocabulary,
    LossByInput,
    judged_quasi,
    losses_by_input,
    losses_without_far,
    names_of_release,
    published_columns,
)
from tclose_spark.checks.released import LeftOut, read_released, suppressed_class, whole_input
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, schema_of, write_and_read
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.figures import LossFigures, OfOption, OptionFigures
from tclose_spark.requirements.judge import JudgedAttribute, judged_attribute
from tclose_spark.runfile.options import brought_parts, own_parts
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import Counts, TupleCounts
from tclose_spark.table.fingerprint import Fingerprint

Found = TypeVar("Found")
OfClass = TypeVar("OfClass", bound=RequiredMeasure)


class ReadRows(Protocol):
    """The rows of a release: see `checks.released.ReleasedRows`."""

    @property
    def tallies(self) -> Table:
        """Of its classes."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the table `release`."""
        ...

    @property
    def missing(self) -> Mapping[str, int]:
        """The rows without a value in each column."""
        ...


class ReleaseJudge:
    """The judge's side of an option, or of a requirement of whole releases. `JudgedRelease` and
    `verify_release` call its hooks in this order; each adds nothing by default.

    apart: whether only its class connects a person's sensitive values with the other columns.
    makes: the type of its figures, if it has some.
    brought: its key, if another package brings the option.
    """

    apart = False
    makes: ClassVar[type[OptionFigures] | None] = None
    brought: str | None = None

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

    def report(self, release: JudgedRelease) -> OptionFigures | None:
        """Its figures for the certificate, of the type `makes`, if the release has some. It may
        need those of other options (`release.option`).
        """
        return None


class JudgedRelease:
    """What is measured of a release. Judges of options add to it, and read it."""

    def __init__(
        self, written: WrittenRelease, judges: Sequence[ReleaseJudge], held: ExitStack
    ) -> None:
        """held: of tables, until the verdict is made."""
        self.written = written
        self.judges = judges
        self.held = held
        self.spec = written.spec
        self.table = written.release[0]
        self.names = list(self.spec.attributes.sensitive_attributes)
        self.reported: dict[ReleaseJudge, OptionFigures | None] = {}

    def report_of(self, judge: ReleaseJudge) -> OptionFigures | None:
        """The figures of a judge, which makes them once."""
        if judge not in self.reported:
            self.reported[judge] = judge.report(self)
        return self.reported[judge]

    def option(self, kind: type[OfOption]) -> OfOption | None:
        """The figures of an option; None if the run does not use it."""
        every = (self.report_of(judge) for judge in self.judges if judge.makes is kind)
        return next((found for found in every if isinstance(found, kind)), None)

    @property
    def reports(self) -> list[tuple[ReleaseJudge, OptionFigures]]:
        """All of these, each with its judge."""
        return [
            (judge, found) for judge in self.judges if (found := self.report_of(judge)) is not None
        ]

    def measure_of(self, kind: type[OfClass]) -> OfClass:
        """What is measured of each class by an option that the run uses."""
        return next(one for one in self.measures if isinstance(one, kind))

    def first(self, hook: Callable[[ReleaseJudge], Found | None]) -> Found | None:
        """What the first judge that answers a hook returns."""
        return next((found for judge in self.judges if (found := hook(judge)) is not None), None)

    def all_of(self, hook: Callable[[ReleaseJudge], Sequence[Found]]) -> list[Found]:
        """What all judges return."""
        return [*chain.from_iterable(map(hook, self.judges))]

    @cached_property
    def fields(self) -> dict[str, pa.Field]:
        """The columns of all tables."""
        own = {field.name: field for field in schema_of(self.table)}
        return reduce(lambda found, judge: {**found, **judge.fields()}, self.judges, own)

    def require_columns(self) -> None:
        """Raises GuaranteeError unless each table has the columns that it must have, and no
        others.
        """
        attributes = self.spec.attributes
        released = schema_of(self.table).names
        columns = [column for pair in published_columns(self.spec).values() for column in pair]
        expected = {*columns, *attributes.beside, *self.names}
        for judge in self.judges:
            expected = judge.published(expected)
        # A pseudonym may have the name of one.
        private = chain.from_iterable(judge.private() for judge in self.judges)
        for column in (
            *attributes.direct_identifiers,
            *(column for column in private if column not in expected),
        ):
            if column in released:
                raise GuaranteeError(
                    f"the direct identifier {column!r} is in the release; nothing is published"
                )
        if odd := sorted(expected ^ set(released)):
            raise GuaranteeError(
                f"{len(odd)} columns of the release are missing or unexpected, the first is "
                f"{odd[0]!r}; nothing is published"
            )
        assert self.fields, "the columns of other tables are compared, too"

    @cached_property
    def texts(self) -> list[str]:
        """The columns of text."""
        return [name for name, kind in self.fields.items() if pa.types.is_string(kind.type)]

    @cached_property
    def labels(self) -> list[str]:
        """The columns that all rows of a class share."""
        labels = [column for columns in published_columns(self.spec).values() for column in columns]
        return self.first(lambda judge: judge.key(labels)) or labels

    @cached_property
    def rows(self) -> ReadRows:
        """The rows, read from the files."""
        rows = self.first(lambda judge: judge.read(self))
        return rows or read_released(*self.written.release, self.labels, self.names)

    @cached_property
    def tallies(self) -> Table:
        """The rows of each class by tuple of sensitive values."""
        return self.held.enter_context(keep(self.rows.tallies))

    @cached_property
    def named(self) -> dict[str, LabelVocabulary]:
        """What the labels of each quasi-identifier name; empty if there are no labels."""
        return {} if self._in_place is not None else names_of_release(self.tallies, self.spec)

    @cached_property
    def _in_place(self) -> list[JudgedQuasi] | None:
        return self.first(lambda judge: judge.quasi())

    @cached_property
    def quasi(self) -> list[JudgedQuasi]:
        """The quasi-identifiers, with the loss of their labels."""
        trees = self.written.hierarchies
        spec = self.spec
        return self._in_place or judged_quasi(spec, self.named, trees, spec.aggregates)

    @property
    def labelled(self) -> list[JudgedQuasi]:
        """Those that are published as labels or aggregates."""
        return self.quasi if self.named else []

    @cached_property
    def _counted(self) -> tuple[list[Counts], TupleCounts | None]:
        counts, tuples = count_values(self.tallies, self.names)
        if not any(counts):
            raise GuaranteeError("the release has no rows; nothing is published")
        return counts, tuples

    @property
    def counts(self) -> list[Counts]:
        """The rows with each value, by sensitive attribute."""
        return self._counted[0]

    @property
    def tuple_counts(self) -> TupleCounts | None:
        """The rows with each tuple of values; None if there are too many."""
        return self._counted[1]

    @cached_property
    def left(self) -> LeftOut:
        """The rows of the input that the release lacks."""
        return LeftOut.of(self.written.evidence.left_out, self.written.profile, self.counts)

    @property
    def shows_left_out(self) -> bool:
        """Whether the counts of the values of suppressed rows follow from the certificate, which
        then has the input's distribution.
        """
        return self.left.rows > 0 and self.spec.privacy.of == "input"

    @cached_property
    def suppressed(self) -> ClassFigures | None:
        """The figures of the suppressed rows as one class, if their distribution is public."""
        if not self.shows_left_out or self.left.unexplained:
            return None
        known = self.first(lambda judge: judge.left_out_class(self))
        return known or suppressed_class(self.left, self.spec.privacy.k, self.attributes)

    def attributes_with(self, counts: Sequence[Counts]) -> list[JudgedAttribute]:
        """The sensitive attributes, with these counts of the whole table."""
        trees = self.written.hierarchies
        settings = self.spec.attributes.sensitive_attributes
        with judgeable():
            return [
                judged_attribute(name, one, rows_of, trees.get(name), name in self.texts)
                for (name, one), rows_of in zip(settings.items(), counts, strict=True)
            ]

    @cached_property
    def attributes(self) -> list[JudgedAttribute]:
        """The sensitive attributes, compared with what classes are compared with."""
        return self.attributes_with(
            whole_input(self.left, self.counts) if self.shows_left_out else self.counts
        )

    @cached_property
    def more_attributes(self) -> list[JudgedAttribute]:
        """Tuples of them."""
        return self.all_of(lambda judge: judge.attributes(self))

    @property
    def judged(self) -> list[JudgedAttribute]:
        """All of both."""
        return [*self.attributes, *self.more_attributes]

    @cached_property
    def of_whole(self) -> list[JudgedAttribute]:
        """All of them, with what is required of the distance from the whole table."""
        return reduce(lambda found, judge: judge.of_whole(found), self.judges, self.judged)

    @cached_property
    def measures(self) -> list[RequiredMeasure]:
        """What else is measured of each class."""
        return self.all_of(lambda judge: judge.measures(self))

    @cached_property
    def classes(self) -> Table:
        """The class table, written."""
        measures = self.measures
        source = [
            *(table for judge in self.judges if (table := judge.tallies()) is not None),
            self.tallies,
        ][0]
        made = class_table(source, self.quasi, self.judged, measures)
        made = reduce(lambda classes, judge: judge.extended(self, classes), self.judges, made)
        return write_and_read(made, self.written.classes)

    @cached_property
    def _by_input(self) -> list[LossByInput]:
        return losses_by_input(self.labelled, self.written.profile) if self.labelled else []

    @cached_property
    def _without_far(self) -> list[LossByInput]:
        comparable = self.labelled and not self.spec.aggregates and not self.left.rows
        return losses_without_far(self.labelled, self.written.profile) if comparable else []

    @property
    def losses_by_input(self) -> Sequence[float]:
        """The loss of each quasi-identifier over the range of the input."""
        return self.figures.more_losses[: len(self._by_input)]

    @property
    def losses_without_far(self) -> Sequence[float]:
        """The loss of each quasi-identifier with numbers far outside, over the range without
        them.
        """
        return self.figures.more_losses[len(self._by_input) :]

    @property
    def loss(self) -> LossFigures:
        """The information loss. Exact quasi-identifiers lose nothing."""
        if self.spec.release.is_exact:
            exact = dict.fromkeys(self.spec.attributes.quasi_identifiers, 0.0)
            return LossFigures(ncp=0.0, ncp_by_quasi_identifier=exact)
        losses = self.figures.losses
        return LossFigures(
            ncp=self.figures.ncp if losses else None,
            ncp_by_quasi_identifier={q.name: losses.get(q.name) for q in self.quasi},
        )

    @cached_property
    def figures(self) -> ClassFigures:
        """The figures of the class table."""
        k = self.spec.privacy.k
        return class_figures(
            self.classes,
            k,
            self.quasi,
            self.of_whole,
            suppressed=self.left.rows,
            more_losses=[*self._by_input, *self._without_far],
            more=[criterion for one in self.measures for criterion in one.criteria(k)],
        )


@contextmanager
def judgeable() -> Iterator[None]:
    """Raises GuaranteeError for values that cannot be judged."""
    try:
        yield
    except InputError as error:
        raise GuaranteeError(
            f"the release cannot be judged: {error}", values=error.values
        ) from None


def judges_of(spec: ReleaseSpec) -> list[ReleaseJudge]:
    """The judges of the options and requirements that a run uses."""
    judges: list[ReleaseJudge] = [made(spec) for made in own_parts(spec, "judge")]
    for key, made in brought_parts([one.key for one in spec.brought], "judge").items():
        judge: ReleaseJudge = made(spec)
        judge.brought = key
        judges.append(judge)
    return judges
