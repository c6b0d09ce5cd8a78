"""A written release with all that a verdict is made from, each part measured when it is first used,
and the judges of options that add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import chain
from typing import ClassVar, TypeVar

import pyarrow as pa

from tclose_spark.checks.classes.class_table import (
    ClassRequirements,
    JudgedQuasi,
    RequiredMeasure,
    class_table,
)
from tclose_spark.checks.classes.figures import ClassFigures, class_figures
from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.classes.tallies import count_values
from tclose_spark.checks.classes.tuples import joint_attributes
from tclose_spark.checks.labels.loss import (
    LabelVocabulary,
    LossByInput,
    judged_quasi,
    losses_by_input,
    losses_without_far,
    names_of_release,
)
from tclose_spark.checks.layout import ReadRows, layout_of
from tclose_spark.checks.released import LeftOut, suppressed_class, whole_input
from tclose_spark.checks.supersets import find_supersets, without_t
from tclose_spark.checks.written import ReleasedPeople, WrittenRelease, released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, schema_of, write_and_read
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.figures import LossFigures, OfOption, OptionFigures
from tclose_spark.requirements.judge import JudgedAttribute, judged_attribute
from tclose_spark.runfile.options import brought_parts, own_parts
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import Counts, TupleCounts

Found = TypeVar("Found")
OfClass = TypeVar("OfClass", bound=RequiredMeasure)


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

    def measures(self, release: JudgedRelease) -> list[RequiredMeasure]:
        """What else is measured of each class."""
        return []

    def measure(self, release: JudgedRelease) -> None:
        """Measures what else the verdict needs.

        Raises:
            GuaranteeError: if the release has values that it may not have.
        """

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
    """What is measured of a release. Judges of options add to it, and read it.

    untried_supersets: notes on supersets that were not tried, once `classes` are made.
    """

    def __init__(
        self,
        written: WrittenRelease,
        judges: Sequence[ReleaseJudge],
        held: ExitStack,
    ) -> None:
        """held: of tables, until the verdict is made."""
        self.written = written
        self.judges = judges
        self.held = held
        self.spec = written.spec
        self.table = written.release[0]
        self.names = list(self.spec.attributes.sensitive_attributes)
        self.layout = layout_of(written)
        self.untried_supersets: list[str] = []
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

    def all_of(self, hook: Callable[[ReleaseJudge], Sequence[Found]]) -> list[Found]:
        """What all judges return."""
        return [*chain.from_iterable(map(hook, self.judges))]

    @cached_property
    def fields(self) -> dict[str, pa.Field]:
        """The columns of all tables."""
        own = {field.name: field for field in schema_of(self.table)}
        return {**own, **self.layout.fields}

    def require_columns(self) -> None:
        """Raises GuaranteeError unless each table has the columns that it must have, and no
        others.
        """
        attributes = self.spec.attributes
        released = schema_of(self.table).names
        expected = {*self.layout.columns, *attributes.beside}
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
                    f"the direct identifier {column!r} is in the release; nothing is published",
                )
        if odd := sorted(expected ^ set(released)):
            raise GuaranteeError(
                f"{len(odd)} columns of the release are missing or unexpected, the first is "
                f"{odd[0]!r}; nothing is published",
            )
        assert self.fields, "the columns of other tables are compared, too"

    @cached_property
    def texts(self) -> list[str]:
        """The columns of text."""
        return [name for name, kind in self.fields.items() if pa.types.is_string(kind.type)]

    @property
    def labels(self) -> list[str]:
        """The columns that all rows of a class share."""
        return self.layout.key

    @cached_property
    def rows(self) -> ReadRows:
        """The rows, read from the files."""
        return self.layout.read()

    @cached_property
    def tallies(self) -> Table:
        """The rows of each class by tuple of sensitive values."""
        return self.held.enter_context(keep(self.rows.tallies))

    @cached_property
    def named(self) -> dict[str, LabelVocabulary]:
        """What the labels of each quasi-identifier name; empty if there are no labels."""
        if self.layout.in_place_of_labels:
            return {}
        return names_of_release(self.tallies, self.spec)

    @cached_property
    def quasi(self) -> list[JudgedQuasi]:
        """The quasi-identifiers, with the loss of their labels."""
        trees = self.written.hierarchies
        spec = self.spec
        return self.layout.in_place_of_labels or judged_quasi(
            spec,
            self.named,
            trees,
            spec.aggregates,
        )

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
        k = self.spec.privacy.k
        if self.people is None:
            return suppressed_class(self.left, k, self.attributes)
        return self.people.suppressed_class(k, self.attributes, self.judged_people)

    @cached_property
    def people(self) -> ReleasedPeople | None:
        """Its people, from `internal/people`; None if a row is taken for a person.

        Raises:
            GuaranteeError: if that table is missing, or is not what was recorded.
        """
        if "person" not in self.spec.attributes.owners:
            return None
        table = self.written.run_files.people
        return self.held.enter_context(released_people(table, self.labels, self.names))

    @cached_property
    def judged_people(self) -> JudgedPeople:
        """What is required of the people of classes, if people are counted."""
        assert self.people is not None
        return self.people.judged(self.judged, self.shows_left_out)

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
            whole_input(self.left, self.counts) if self.shows_left_out else self.counts,
        )

    @cached_property
    def more_attributes(self) -> list[JudgedAttribute]:
        """The tuples of them that must be close (`privacy.joint`)."""
        joint = self.spec.privacy.joint or ()
        with judgeable():
            return joint_attributes(self.tuple_counts, self.attributes, joint)

    @property
    def judged(self) -> list[JudgedAttribute]:
        """All of both."""
        return [*self.attributes, *self.more_attributes]

    @cached_property
    def of_whole(self) -> list[JudgedAttribute]:
        """All of them, with what is required of the distance from the whole table: nothing, if a
        class may be close to a superset instead (`privacy.n`).
        """
        return self.judged if self.spec.privacy.n is None else without_t(self.judged)

    @cached_property
    def measures(self) -> list[RequiredMeasure]:
        """What else is measured of each class."""
        return self.all_of(lambda judge: judge.measures(self))

    @cached_property
    def classes(self) -> Table:
        """The class table, written."""
        measures = self.measures
        tallies = self.tallies if self.people is None else self.people.tallied.classes
        made = class_table(tallies, self.quasi, self.judged, measures)
        if self.spec.privacy.n is not None:
            made = self._with_supersets(made, self.spec.privacy.n)
        return write_and_read(made, self.written.classes)

    def _with_supersets(self, classes: Table, n: int) -> Table:
        """The class table with the superset that proves each class."""
        held = self.held.enter_context(keep(classes))
        found, self.untried_supersets = find_supersets(
            held,
            self.tallies,
            self.quasi,
            self.judged,
            n,
        )
        return found

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
            ClassRequirements(k, self.quasi, self.of_whole),
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
            f"the release cannot be judged: {error}",
            values=error.values,
        ) from None


def judges_of(spec: ReleaseSpec) -> list[ReleaseJudge]:
    """The judges of the options and requirements that a run uses."""
    judges: list[ReleaseJudge] = [made(spec) for made in own_parts(spec, "judge")]
    for key, made in brought_parts([one.key for one in spec.brought], "judge").items():
        judge: ReleaseJudge = made(spec)
        judge.brought = key
        judges.append(judge)
    return judges
