"""The figures of a class table: each guarantee with the class that comes closest to breaking it,
and utility.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import chain
from operator import add
from typing import Any

import pyarrow as pa

from tclose_spark.checks.classes.class_table import (
    ClassRequirements,
    JudgedQuasi,
    RequiredMeasure,
)
from tclose_spark.checks.classes.partial_figures import (
    BILLIONTHS,
    DistanceHistogram,
    FigureHistogram,
    FigureRequest,
    Key,
    Loss,
    PartialFigures,
    PrecisionHistogram,
    ShareHistogram,
    SizeHistogram,
)
from tclose_spark.checks.classes.people import MOST_ROWS
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import Criterion, Guarantee, WorstClass
from tclose_spark.requirements.figures import ClassesAndRows
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import columns_of, criteria_of, fields_of
from tclose_spark.requirements.size import SizeJudge
from tclose_spark.table.arrays import FloatArray, Mapper

PARTS = pa.schema([("part", pa.binary())])
"""Figures of the classes of each task, pickled."""


@dataclass(frozen=True, kw_only=True)
class PeopleOfClasses:
    """Figures of the people of classes.

    share: the largest share that one of them has of the rows of a class. in_classes: people, once
        in each class.
    """

    share: Fraction
    in_classes: int


@dataclass(frozen=True, kw_only=True)
class ClassFigures:
    """Figures of all classes together.

    rows: of the classes; suppressed rows count in discernibility and losses only.
    losses: mean information loss over rows, by quasi-identifier; without those that are unknown.
    released_losses: the same over the rows of the classes only.
    homogeneous, similar, unlike: by sensitive attribute; see `PartialFigures.counts`.
    more_losses: means like `losses`, of the additional losses that were requested.
    more: guarantees for the additional criteria that were requested.
    coarse: (classes, their rows, the coarsest label) with labels coarser than allowed, by
        quasi-identifier; only where there are any.
    extremes: the largest and the smallest classes, for the report: `size`, `labels`, and `emd` by
        sensitive attribute.
    histograms: of class figures, as plain values: `sizes`, and by attribute or quasi-identifier
        `emd`, `guess`, `gain` and `precision`.
    guessed: by sensitive attribute, the share of rows with the most frequent value of their class.
    people: if they are counted.
    """

    rows: int
    classes: int
    smallest: int
    largest: int
    discernibility: int
    losses: Mapping[str, float]
    released_losses: Mapping[str, float]
    homogeneous: Mapping[str, ClassesAndRows]
    guarantees: tuple[Guarantee, ...]
    similar: Mapping[str, ClassesAndRows] = field(default_factory=dict)
    unlike: Mapping[str, ClassesAndRows] = field(default_factory=dict)
    more_losses: tuple[float, ...] = ()
    more: tuple[Guarantee, ...] = ()
    coarse: Mapping[str, tuple[int, int, Fraction | float]] = field(default_factory=dict)
    extremes: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    histograms: Mapping[str, Any] = field(default_factory=dict)
    guessed: Mapping[str, float] = field(default_factory=dict)
    people: PeopleOfClasses | None = None

    @property
    def chance(self) -> tuple[float, float]:
        """The chance to pick a row of a person among the rows of a class: the largest, and the mean
        over the rows, or the people if they are counted, of each class.
        """
        if self.people is not None:
            return float(self.people.share), self.classes / self.people.in_classes
        return 1 / self.smallest, self.classes / self.rows

    @property
    def ncp(self) -> float:
        """Mean information loss over rows and quasi-identifiers."""
        return sum(self.losses.values()) / len(self.losses)

    @property
    def released_ncp(self) -> float:
        """Mean information loss over the rows of the classes and quasi-identifiers."""
        return sum(self.released_losses.values()) / len(self.released_losses)

    @property
    def broken(self) -> list[Guarantee]:
        """The guarantees that do not hold."""
        return [g for g in (*self.guarantees, *self.more) if not g.holds]

    def of(self, measure: str, attribute: str | None = None) -> Guarantee | None:
        """The guarantee of this measure, if there is one."""
        every = (*self.guarantees, *self.more)
        return next((g for g in every if (g.measure, g.attribute) == (measure, attribute)), None)


@dataclass(frozen=True)
class PublishedLoss:
    """The loss of a class in a quasi-identifier as the class table has it: by published labels (a
    `Loss`).
    """

    name: str

    def of(self, classes: pa.RecordBatch) -> FloatArray:
        """See Loss."""
        losses: FloatArray = classes["losses"].field(self.name).to_numpy()
        return losses


def class_figures(
    classes: Table,
    required: ClassRequirements,
    suppressed: int = 0,
    more_losses: Sequence[Loss] = (),
    more: Sequence[Criterion] = (),
) -> ClassFigures:
    """The figures of a class table. Tasks compute those of the classes that they read; the driver
    adds them up.

    suppressed: rows in no class. Each loses 1 of every quasi-identifier, and counts n in the
        discernibility.
    more_losses: additional measures of loss; a suppressed row loses 1.
    more: additional criteria.
    """
    counts_people = MOST_ROWS in schema_of(classes).names
    request = _request(required, more_losses, more, counts_people)
    parts = collect(map_batches(select(classes, request.columns), _partial(request), PARTS))[
        "part"
    ].to_pylist()
    return _assemble(request, reduce(add, map(pickle.loads, parts)), suppressed, len(more))


def figures_of_suppressed(
    rows: int,
    k: int,
    attributes: Sequence[JudgedAttribute],
    marginals: Mapping[str, Histograms],
    units: Sequence[RequiredMeasure] = (),
    of_units: Sequence[pa.Array] = (),
) -> ClassFigures:
    """The figures of the suppressed rows as one class, with the guarantees of every class and
    without losses.

    marginals: see `Classes`. units, of_units: what is required over others than rows, and its
        columns.
    """
    fields = [*fields_of(attributes), *chain.from_iterable(unit.fields() for unit in units)]
    measured = zip(
        (name for name, _ in fields),
        (*columns_of(attributes, marginals), *of_units),
        strict=True,
    )
    columns: dict[str, Any] = {
        "quasi_identifiers": [{"are": "suppressed"}],
        "size": [rows],
        **dict(measured),
    }
    request = _request(ClassRequirements(k, [], attributes, units))
    return _assemble(request, request.partial(pa.RecordBatch.from_pydict(columns)), 0, 0)


def _partial(request: FigureRequest) -> Mapper:
    """One row for each task that has classes."""

    def partial(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [request.partial(batch) for batch in batches if batch.num_rows]
        if parts:
            yield pa.RecordBatch.from_pydict(
                {"part": [pickle.dumps(reduce(add, parts))]},
                schema=PARTS,
            )

    return partial


def _request(
    required: ClassRequirements,
    more_losses: Sequence[Loss] = (),
    more: Sequence[Criterion] = (),
    counts_people: bool = False,
) -> FigureRequest:
    """All that is required, and all that is reported without a requirement. `more` is at the end of
    the criteria.

    counts_people: whether the class table does.
    """
    quasi = required.quasi
    attributes = required.attributes
    covering = [q for q in quasi if q.measured]
    of_units = chain.from_iterable(unit.criteria(required.k) for unit in required.units)
    return FigureRequest(
        labels=tuple(column for q in quasi for column in q.columns),
        losses=[*[PublishedLoss(q.name) for q in covering], *more_losses],
        limits={q.name: (q.coarsest, q.columns) for q in quasi if q.coarsest is not None},
        attributes=tuple(a.name for a in attributes if a.tuples is None),
        criteria=(SizeJudge(required.k).criterion(), *criteria_of(attributes), *of_units, *more),
        histograms=dict(_histograms(covering, attributes)),
        people=counts_people,
    )


def _histograms(
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
) -> Iterator[tuple[Key, FigureHistogram]]:
    """By measure, and by its attribute or quasi-identifier."""
    yield ("sizes",), SizeHistogram()
    for a in attributes:
        yield ("emd", a.name), DistanceHistogram(a.column("emd"), a.settings.t)
        if a.tuples is not None:
            continue
        yield ("guess", a.name), ShareHistogram(a.column("mode"), over="size")
        yield ("gain", a.name), ShareHistogram(a.column("gain"))
    for q in quasi:
        levels = () if q.builder is None else q.builder.level_names
        yield ("precision", q.name), PrecisionHistogram(q.name, q.columns[0], q.loss, levels)


def _assemble(
    request: FigureRequest,
    total: PartialFigures,
    suppressed: int,
    more: int,
) -> ClassFigures:
    """The figures of all classes. more: how many criteria at the end were requested
    additionally.
    """
    classes, rows = total.counts["all",][0]
    covering = [loss.name for loss in request.losses if isinstance(loss, PublishedLoss)]
    lost = [total.sums["lost", i] / BILLIONTHS for i in range(len(request.losses))]
    means = [(loss + suppressed) / (rows + suppressed) for loss in lost]
    guarantees = [
        criterion.guarantee(
            worst,
            total.counts["broken",][i],
            dict(zip(request.labels, worst.labels, strict=False)),
        )
        for i, (criterion, worst) in enumerate(zip(request.criteria, total.worst, strict=True))
    ]
    histograms: dict[str, Any] = {}
    for key, histogram in request.histograms.items():
        bins = histogram.to_json(total.counts[key])
        if len(key) == 1:
            histograms[key[0]] = bins
        else:
            histograms.setdefault(key[0], {})[key[1]] = bins
    return ClassFigures(
        rows=rows,
        classes=classes,
        smallest=total.smallest[0].size,
        largest=total.largest[0].size,
        discernibility=total.sums["squares",] + suppressed * (rows + suppressed),
        losses=dict(zip(covering, means, strict=False)),
        released_losses={name: loss / rows for name, loss in zip(covering, lost, strict=False)},
        **{
            what: {name: ClassesAndRows(*count) for name, count in total.counts[what,].items()}
            for what in ("homogeneous", "similar", "unlike")
        },
        guarantees=tuple(guarantees[: len(guarantees) - more]),
        more=tuple(guarantees[len(guarantees) - more :]),
        coarse={
            name: (*count, total.reached[name])
            for name, count in total.counts["coarse",].items()
            if count[0]
        },
        more_losses=tuple(means[len(covering) :]),
        extremes={
            "largest": [_extreme(request, each) for each in total.largest],
            "smallest": [_extreme(request, each) for each in total.smallest],
        },
        histograms=histograms,
        guessed={name: total.sums["guessed", name] / rows for name in request.attributes},
        people=PeopleOfClasses(share=total.share, in_classes=total.sums["people",])
        if request.people
        else None,
    )


def _extreme(request: FigureRequest, shown: WorstClass) -> dict[str, Any]:
    emd = dict(zip(request.attributes, shown.emd, strict=True))
    return {
        "size": shown.size,
        "labels": dict(zip(request.labels, shown.labels, strict=False)),
        "emd": emd,
    }
