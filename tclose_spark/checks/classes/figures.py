"""What the class table says of the whole table: each guarantee with the class that is nearest to breaking it, and
utility.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from tclose_spark.checks.classes.class_table import JudgedAttribute, JudgedQuasi
from tclose_spark.checks.classes.figure_histograms import (
    AnyHistogram,
    DistanceHistogram,
    PrecisionHistogram,
    ShareHistogram,
    SizeHistogram,
)
from tclose_spark.checks.classes.partial_figures import (
    BILLIONTHS,
    Loss,
    PartialFigures,
    Watch,
    Watched,
    WatchedDistance,
    WorstClass,
)
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.io.tables.columns import quoted
from tclose_spark.table.arrays import FloatArray

Labels = Mapping[str, Any]
"""A class, by the labels of its published columns."""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """One thing that every class must have.

    measure: "k-anonymity", "t-closeness", "distinct l-diversity", "entropy l-diversity", "recursive (c, l)-diversity".
    attribute: the sensitive attribute; None for k.
    required: the bound, None where the measure is only reported.
    achieved: of the worst class (a Fraction for t; for recursive diversity whether it holds).
    classes, rows: how many break it, and their records.
    worst: the labels of the class that is farthest off.
    size: its records.
    """

    measure: str
    attribute: str | None
    required: Any
    achieved: Any
    classes: int
    rows: int
    worst: Labels
    size: int | None = None

    @property
    def holds(self) -> bool:
        """No class breaks it."""
        return not self.classes


@dataclass(frozen=True)
class Homogeneous:
    """The classes in which a sensitive attribute has one value only: for their rows it is certain."""

    classes: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class ClassFigures:
    """All classes together.

    rows: of the classes; suppressed ones count in discernibility and losses only.
    losses: mean information loss by quasi-identifier whose labels cover values, over rows.
    released_losses: the same over the rows of the classes only.
    homogeneous: by sensitive attribute.
    more_losses: means like `losses`, of what was asked for beside them.
    more: what was asked for beside the guarantees.
    coarse: (classes, their rows) with labels that are too coarse, by quasi-identifier that has a limit.
    extremes: some of the largest and of the smallest classes, for the report: `size`, `labels`, and `emd` by sensitive
        attribute.
    spreads: how figures of all classes are spread, as plain values: `sizes`, and by attribute or quasi-identifier
        `emd`, `guess`, `gain` and `precision`.
    guessed: by sensitive attribute, the share of the rows that have the most frequent value of their class.
    """

    rows: int
    classes: int
    smallest: int
    largest: int
    discernibility: int
    losses: Mapping[str, float]
    released_losses: Mapping[str, float]
    homogeneous: Mapping[str, Homogeneous]
    guarantees: tuple[Guarantee, ...]
    more_losses: tuple[float, ...] = ()
    more: tuple[Guarantee, ...] = ()
    coarse: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    extremes: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    spreads: Mapping[str, Any] = field(default_factory=dict)
    guessed: Mapping[str, float] = field(default_factory=dict)

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
        return [g for g in self.guarantees if not g.holds]

    def of(self, measure: str, attribute: str | None = None) -> Guarantee | None:
        """The guarantee of this measure, if it is among them."""
        return next((g for g in self.guarantees if (g.measure, g.attribute) == (measure, attribute)), None)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A guarantee, before its figure is known: see Guarantee. watched: where it is found."""

    measure: str
    attribute: str | None
    required: Any
    watched: Watched

    def achieved(self, rank: Any) -> Any:
        """The figure from the rank of the worst class."""
        if isinstance(self.watched, WatchedDistance):
            return -rank
        return rank > 0 if self.measure.startswith("recursive") else rank


@dataclass(frozen=True)
class PublishedLoss:
    """What a class loses of a quasi-identifier by its label, as the class table has it (a `parts.Loss`)."""

    name: str

    def of(self, classes: pa.RecordBatch) -> FloatArray:
        """See Loss."""
        losses: FloatArray = classes["losses"].field(self.name).to_numpy()
        return losses


def class_figures(
    classes: DataFrame,
    k: int | None,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    suppressed: int = 0,
    more_losses: Sequence[Loss] = (),
    more: Sequence[Reported] = (),
) -> ClassFigures:
    """The figures of a class table: tasks say of the classes that they read what counts, and here that is put together.

    suppressed: rows that are in no class: each loses 1 of every quasi-identifier, and as many rows as the table has
    cannot be told from it.
    more_losses: other measures of what a class loses, a suppressed row losing 1.
    more: other figures of which the worst is wanted.
    """
    asked = _Asked.of(k, quasi, attributes, more_losses, more)
    columns = asked.watch.columns
    said = map_batches(classes.select(*map(quoted, columns)), _say(asked.watch), "part binary")
    parts = said.toArrow()["part"]
    return asked.figures(reduce(add, map(pickle.loads, parts.to_pylist())), suppressed)


def figures_of_class(class_: pa.RecordBatch, k: int, attributes: Sequence[JudgedAttribute]) -> ClassFigures:
    """The figures of one class, or of a few, that are no table: rows like its own, without losses."""
    asked = _Asked.of(k, [], attributes, [], [])
    return asked.figures(asked.watch.part(class_), 0)


def _say(watch: Watch) -> Mapper:
    """One row for each task that has classes."""

    def say(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [watch.part(batch.rename_columns(watch.columns)) for batch in batches if batch.num_rows]
        if parts:
            yield pa.RecordBatch.from_pydict({"part": [pickle.dumps(reduce(add, parts))]})

    return say


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is asked of a class table. reported: in the order of the figures watched, `more` of them at the end."""

    labels: tuple[str, ...]
    quasi: tuple[str, ...]
    limited: tuple[str, ...]
    attributes: tuple[str, ...]
    reported: tuple[Reported, ...]
    more: int
    spreads: Mapping[tuple[str, ...], AnyHistogram]
    watch: Watch

    @staticmethod
    def of(
        k: int | None,
        quasi: Sequence[JudgedQuasi],
        attributes: Sequence[JudgedAttribute],
        more_losses: Sequence[Loss],
        more: Sequence[Reported],
    ) -> _Asked:
        """Whatever is required, and what is reported where it is not."""
        size = Watched(figure="size", broken=None if k is None else ("size", k))
        of_all = Reported(measure="k-anonymity", attribute=None, required=k, watched=size)
        reported = (of_all, *(each for a in attributes for each in _reported(a)), *more)
        covering = [q for q in quasi if q.covers]
        spreads = dict(_spreads(covering, attributes))
        return _Asked(
            labels=tuple(column for q in quasi for column in q.columns),
            quasi=tuple(q.name for q in covering),
            limited=tuple(q.name for q in quasi if q.coarsest is not None),
            attributes=tuple(a.name for a in attributes),
            reported=reported,
            more=len(more),
            spreads=spreads,
            watch=Watch(
                losses=[*[PublishedLoss(q.name) for q in covering], *more_losses],
                limits=[(q.coarsest, q.columns) for q in quasi if q.coarsest is not None],
                distinct=[a.column("distinct") for a in attributes],
                emd=[a.column("emd") for a in attributes],
                likeliest=[a.column("mode") for a in attributes],
                figures=[each.watched for each in reported],
                spreads=list(spreads.values()),
                spread=[a.column("gain") for a in attributes],
            ),
        )

    def figures(self, part: PartialFigures, suppressed: int) -> ClassFigures:
        """The figures of all classes, of which this is said."""
        guarantees = tuple(map(self._guarantee, self.reported, part.worst, part.broken))
        lost = [loss / BILLIONTHS for loss in part.lost]
        means = [(loss + suppressed) / (part.rows + suppressed) for loss in lost]
        return ClassFigures(
            rows=part.rows,
            classes=part.classes,
            smallest=part.smallest[0].size,
            largest=part.largest[0].size,
            discernibility=part.squares + suppressed * (part.rows + suppressed),
            losses=dict(zip(self.quasi, means, strict=False)),
            released_losses={name: loss / part.rows for name, loss in zip(self.quasi, lost, strict=False)},
            homogeneous={name: Homogeneous(*one) for name, one in zip(self.attributes, part.homogeneous, strict=True)},
            guarantees=guarantees[: len(guarantees) - self.more],
            more=guarantees[len(guarantees) - self.more :],
            coarse={name: count for name, count in zip(self.limited, part.coarse, strict=True) if count[0]},
            more_losses=tuple(means[len(self.quasi) :]),
            extremes={
                "largest": list(map(self._shown, part.largest)),
                "smallest": list(map(self._shown, part.smallest)),
            },
            spreads=self._spread(part),
            guessed={name: n / part.rows for name, n in zip(self.attributes, part.guessed, strict=True)},
        )

    def _spread(self, part: PartialFigures) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for (measure, *of), spread, bins in zip(self.spreads, self.spreads.values(), part.spreads, strict=True):
            if of:
                found.setdefault(measure, {})[of[0]] = spread.to_json(bins)
            else:
                found[measure] = spread.to_json(bins)
        return found

    def _guarantee(self, reported: Reported, worst: WorstClass, broken: tuple[int, int]) -> Guarantee:
        return Guarantee(
            measure=reported.measure,
            attribute=reported.attribute,
            required=reported.required,
            achieved=reported.achieved(worst.rank),
            classes=broken[0],
            rows=broken[1],
            worst=self._named(worst),
            size=worst.size,
        )

    def _named(self, seen: WorstClass) -> Labels:
        return dict(zip(self.labels, seen.labels, strict=False))

    def _shown(self, seen: WorstClass) -> dict[str, Any]:
        emd = dict(zip(self.attributes, seen.emd, strict=True))
        return {"size": seen.size, "labels": self._named(seen), "emd": emd}


def _spreads(
    quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute]
) -> Iterator[tuple[tuple[str, ...], AnyHistogram]]:
    """By measure, and by the attribute or quasi-identifier that it is of."""
    yield ("sizes",), SizeHistogram()
    for a in attributes:
        yield ("emd", a.name), DistanceHistogram(a.column("emd"), a.settings.t)
        yield ("guess", a.name), ShareHistogram(a.column("mode"), over="size")
        yield ("gain", a.name), ShareHistogram(a.column("gain"))
    for q in quasi:
        yield ("precision", q.name), PrecisionHistogram(q.name, q.columns[0], q.loss)


def _reported(a: JudgedAttribute) -> list[Reported]:
    """What is told of a sensitive attribute; t, distinct and entropy also where they are not required."""
    l, distinct = a.settings.l, a.column("distinct")  # noqa: E741 - the field's name for it
    closeness = WatchedDistance(
        figure=a.column("emd"),
        numerator=a.column("numerator"),
        unit=a.distance.scale * int(a.distance.table.sum()),
        broken=None if a.settings.t is None else (a.column("margin"), 0),
    )
    few = Watched(figure=distinct, broken=None if l.distinct is None else (distinct, l.distinct))
    low = Watched(figure=a.column("entropy"), broken=None if l.entropy is None else (a.column("exact_entropy"), 0))
    reported = [
        Reported(measure="t-closeness", attribute=a.name, required=a.settings.t, watched=closeness),
        Reported(measure="distinct l-diversity", attribute=a.name, required=l.distinct, watched=few),
        Reported(measure="entropy l-diversity", attribute=a.name, required=l.entropy, watched=low),
    ]
    if l.recursive is not None:
        margin = a.column("recursive_margin")
        held = Watched(figure=margin, broken=(margin, 0), reached=True)
        reported.append(
            Reported(measure="recursive (c, l)-diversity", attribute=a.name, required=l.recursive, watched=held)
        )
    return reported
