"""What the class table says of the whole table: each guarantee with the class that is nearest to breaking it, and
utility.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.checks.classes import JudgedAttribute, JudgedQuasi
from tclose_spark.io.tables import quoted

LOSS = T.DecimalType(38, 9)  # a sum of doubles depends on the partitioning, a sum of decimals does not
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
    """The classes in which a sensitive attribute has one value only: of their people it is certain."""

    classes: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class ClassFigures:
    """All classes together.

    rows: of the classes; suppressed ones count in discernibility and losses only.
    losses: mean information loss by quasi-identifier, over rows.
    released_losses: the same over the rows of the classes only.
    homogeneous: by sensitive attribute.
    more_losses: means like `losses`, of what was asked for beside them.
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


def class_figures(
    classes: DataFrame,
    k: int | None,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    suppressed: int = 0,
    more_losses: Sequence[Column] = (),
) -> ClassFigures:
    """The figures of a class table. One aggregation, by class size: sizes are few, and inside one numerators compare
    exactly.

    suppressed: rows that are in no class: each loses 1 of every quasi-identifier, and as many rows as the table has
    cannot be told from it.
    more_losses: other measures of what a class loses, a suppressed row losing 1.
    """
    wanted = [part for a in attributes for part in _guarantees_of(a)]
    aggregates = [F.count(F.lit(1)).alias("classes"), F.min("quasi_identifiers").alias("labels")]
    lossy = [*[F.col("losses")[q.name] for q in quasi], *more_losses]
    aggregates += [F.sum((loss * F.col("size")).cast(LOSS)).alias(f"loss {i}") for i, loss in enumerate(lossy)]
    aggregates += [
        F.sum((quoted(a.column("distinct")) == 1).cast("bigint")).alias(f"homogeneous {i}")
        for i, a in enumerate(attributes)
    ]
    for i, part in enumerate(wanted):
        aggregates.append(F.min(F.struct(part.rank.alias("rank"), F.col("quasi_identifiers"))).alias(f"worst {i}"))
        aggregates.append(F.sum(part.broken.cast("bigint")).alias(f"broken {i}"))
    by_size = sorted(classes.groupBy("size").agg(*aggregates).toArrow().to_pylist(), key=lambda part: int(part["size"]))
    rows = sum(part["size"] * part["classes"] for part in by_size)
    small = [part for part in by_size if k is not None and part["size"] < k]
    guarantees = [
        Guarantee(
            measure="k-anonymity",
            attribute=None,
            required=k,
            achieved=by_size[0]["size"],
            classes=sum(part["classes"] for part in small),
            rows=sum(part["classes"] * part["size"] for part in small),
            worst=by_size[0]["labels"],
            size=by_size[0]["size"],
        )
    ]
    guarantees += [part.guarantee(by_size, i) for i, part in enumerate(wanted)]
    lost = [sum(part[f"loss {i}"] for part in by_size) for i in range(len(lossy))]
    means = [float(loss + suppressed) / (rows + suppressed) for loss in lost]
    names = [q.name for q in quasi]
    return ClassFigures(
        rows=rows,
        classes=sum(part["classes"] for part in by_size),
        smallest=by_size[0]["size"],
        largest=by_size[-1]["size"],
        discernibility=sum(part["size"] ** 2 * part["classes"] for part in by_size) + suppressed * (rows + suppressed),
        losses=dict(zip(names, means, strict=False)),
        released_losses={name: float(loss) / rows for name, loss in zip(names, lost, strict=False)},
        homogeneous={
            a.name: Homogeneous(
                sum(part[f"homogeneous {i}"] for part in by_size),
                sum(part[f"homogeneous {i}"] * part["size"] for part in by_size),
            )
            for i, a in enumerate(attributes)
        },
        guarantees=tuple(guarantees),
        more_losses=tuple(means[len(quasi) :]),
    )


@dataclass(frozen=True, kw_only=True)
class _GuaranteeColumns:
    """A guarantee as columns of the class table.

    rank: the smaller the worse, among classes of one size.
    broken: by this class.
    """

    measure: str
    attribute: JudgedAttribute
    bound: Any
    rank: Column
    broken: Column

    def guarantee(self, by_size: Sequence[Mapping[str, Any]], i: int) -> Guarantee:
        """The guarantee with the figures of every class size."""
        achieved = {part["size"]: self.achieved(part[f"worst {i}"]["rank"], part["size"]) for part in by_size}
        worst = (max if self.measure == "t-closeness" else min)(by_size, key=lambda part: achieved[part["size"]])
        return Guarantee(
            measure=self.measure,
            attribute=self.attribute.name,
            required=self.bound,
            achieved=achieved[worst["size"]] > 0 if self.measure.startswith("recursive") else achieved[worst["size"]],
            classes=sum(part[f"broken {i}"] for part in by_size),
            rows=sum(part[f"broken {i}"] * part["size"] for part in by_size),
            worst=worst[f"worst {i}"]["quasi_identifiers"],
            size=worst["size"],
        )

    def achieved(self, rank: Any, size: int) -> Any:
        """The measure's figure from the rank of the worst class of this size."""
        if self.measure != "t-closeness":
            return rank
        distance = self.attribute.distance
        return Fraction(-int(rank), distance.scale * int(distance.table.sum()) * size)


def _guarantees_of(a: JudgedAttribute) -> list[_GuaranteeColumns]:
    """What is required of an attribute; t, distinct and entropy are reported where they are not."""
    diversity, never = a.settings.l, F.lit(False)
    distinct, entropy = quoted(a.column("distinct")), quoted(a.column("entropy"))
    few = never if diversity.distinct is None else distinct < diversity.distinct
    low = never if diversity.entropy is None else quoted(a.column("exact_entropy")) < 0
    parts = [
        _GuaranteeColumns(
            measure="t-closeness",
            attribute=a,
            bound=a.settings.t,
            rank=-quoted(a.column("numerator")),
            broken=quoted(a.column("margin")) < 0,
        ),
        _GuaranteeColumns(
            measure="distinct l-diversity", attribute=a, bound=diversity.distinct, rank=distinct, broken=few
        ),
        _GuaranteeColumns(
            measure="entropy l-diversity", attribute=a, bound=diversity.entropy, rank=entropy, broken=low
        ),
    ]
    if diversity.recursive is not None:
        margin = quoted(a.column("recursive_margin"))
        parts.append(
            _GuaranteeColumns(
                measure="recursive (c, l)-diversity",
                attribute=a,
                bound=diversity.recursive,
                rank=margin,
                broken=margin <= 0,
            )
        )
    return parts
