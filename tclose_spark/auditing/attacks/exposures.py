"""Attacks on the classes: homogeneity, background knowledge, skewness, similarity, and a known sensitive attribute.

Each is measured by how many classes and rows are exposed, and by the worst rise in belief.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tclose_spark.checks.classes.class_table import Classes, JudgedAttribute, measure_column
from tclose_spark.io.tables.columns import quoted
from tclose_spark.measures.disclosure import beliefs as attacks
from tclose_spark.measures.disclosure.beliefs import BeliefGain
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What one attack exposes.

    attack: "homogeneity", "background knowledge", "skewness", "similarity by belief", "similarity by group", "knowing
        another" or "re-identification".
    attribute: the attribute that an adversary learns.
    criterion: when a class is exposed.
    classes, people: how many classes and rows are exposed.
    worst: the labels of the class with the largest rise in belief.
    about: the value, range or node that is learned there.
    before, after: the belief in it without and with the attack.
    size: the records of that class.

    Two attacks have no worst class. Of "knowing another", before and after are mean beliefs over all rows; of
    "re-identification", mean chances to pick the record. There, about is the attribute that the adversary knows.
    """

    attack: str
    attribute: str
    criterion: str
    classes: int
    people: int
    before: float
    after: float
    about: str | None = None
    worst: Mapping[str, Any] | None = None
    size: int | None = None

    def without_labels(self) -> Exposure:
        """The same without labels and values of the table; the worst class keeps its size."""
        return self if self.worst is None else replace(self, about=None, worst={})


@dataclass(frozen=True)
class AttackColumns:
    """The attacks on one attribute as columns of the class table (a `ClassMeasure`).

    `likeliest_name_`, `likeliest_rows_`, `likeliest_before_`: the most frequent value, its records in the class, its
        share of the table; `second_rows_`: records of the second most frequent.
    `value_gain_`, `value_before_`, `value_name_`, `value_over_`: the largest rise in belief in a value, the belief
        before, the value, whether the rise is above `threshold`.
    `group_gain_`, ..: the same for a range or node, if values can be similar. Here `group_over_` is also above what
        chance gives a class of the size, because a class of five always has some range that rises much.
    `alike_rows_`, `alike_before_`, `alike_name_`: as for the most frequent value, for the most frequent group of
        `attacks.value_groups`.
    """

    attribute: JudgedAttribute
    threshold: Fraction
    hierarchy: Hierarchy | None = None
    by_chance: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_chance = attacks.chance_gains(self.attribute.distance) if self.has_groups else np.zeros(1)
        object.__setattr__(self, "by_chance", by_chance)  # drawn here once, not in every task

    @property
    def has_groups(self) -> bool:
        """Whether some values are more similar than others; false for an equal distance."""
        return attacks.has_groups(self.attribute.distance)

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        text, count, share = pa.string(), pa.int64(), pa.float64()
        names = {"likeliest_name": text, "likeliest_rows": count, "likeliest_before": share, "second_rows": count}
        for part in ("value", "group") if self.has_groups else ("value",):
            gain = {"gain": share, "before": share, "name": text, "over": pa.bool_()}
            names |= {f"{part}_{name}": kind for name, kind in gain.items()}
        if self.has_groups:
            names |= {"alike_rows": count, "alike_before": share, "alike_name": text}
        return [(self.attribute.column(name), kind) for name, kind in names.items()]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        histograms, distance = classes.marginals[self.attribute.name], self.attribute.distance
        texts = pa.array(self.attribute.values, pa.string())
        none = np.zeros(len(classes.sizes))
        ranked = attacks.most_frequent(histograms)
        share = distance.table[ranked.value] / distance.table.sum()
        arrays = [texts.take(pa.array(ranked.value)), pa.array(ranked.first), pa.array(share), pa.array(ranked.second)]
        single = attacks.skewness(distance.table, histograms)
        arrays += self._gains(single, texts.take(pa.array(single.first)), classes.sizes, none)
        if self.has_groups:
            gain = attacks.similarity(distance, histograms)
            by_chance = attacks.chance_gain(self.by_chance, classes.sizes)
            arrays += self._gains(gain, self._names(gain.first, gain.last, gain.height), classes.sizes, by_chance)
            arrays += self._alike(histograms)
        return arrays

    def _alike(self, histograms: Histograms) -> list[pa.Array]:
        group, table = attacks.value_groups(self.attribute.distance), self.attribute.distance.table
        most = attacks.most_frequent(attacks.in_groups(group, histograms))
        first, last = (np.searchsorted(group, most.value, side) for side in ("left", "right"))
        through = np.concatenate([[0], np.cumsum(table)])
        before = (through[last] - through[first]) / through[-1]
        return [pa.array(most.first), pa.array(before), self._names(first, last - 1)]

    def _names(self, first: IntArray, last: IntArray, height: IntArray | None = None) -> pa.Array:
        """Names of groups of consecutive values: nodes of the hierarchy, otherwise ranges. height: of the nodes; by
        default the lowest common ancestors.
        """
        if self.hierarchy is not None:
            leaf = first
            if height is None:
                height, leaf = self.hierarchy.common_ancestors(first, last)
            nodes = zip(leaf.tolist(), height.tolist(), strict=True)
            return pa.array([self.hierarchy.paths[leaf][height] for leaf, height in nodes], pa.string())
        values = ["missing" if value is None else value for value in self.attribute.values]
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return pa.array(
            [values[low] if low == high else f"{values[low]} .. {values[high]}" for low, high in ends], pa.string()
        )

    def _gains(self, gain: BeliefGain, about: pa.Array, sizes: IntArray, by_chance: FloatArray) -> list[pa.Array]:
        unit = sizes.astype(object) * int(self.attribute.distance.table.sum())
        numerators = gain.numerators.astype(object)
        gains = (numerators / unit).astype(np.float64)
        over = (numerators * self.threshold.denominator > unit * self.threshold.numerator) & (
            gains > by_chance + ROUNDING
        )
        through = np.concatenate([[0], np.cumsum(self.attribute.distance.table)])
        before = (through[gain.last + 1] - through[gain.first]) / through[-1]
        return [pa.array(gains), pa.array(before), about, pa.array(over.astype(bool))]


@dataclass(frozen=True)
class KnownAttributeColumns:
    """What an adversary who knows one sensitive attribute learns of another in a class (a `ClassMeasure`).

    `told_<known>/<target>`: records whose target the best guess gets right. `certain_<known>/<target>`: records for
    which the guess cannot be wrong. `alone_<known>/<target>`: records whose known value is unique in the class.
    """

    names: tuple[str, ...]

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        return [
            (known_attribute_column(measure, *pair), pa.int64())
            for pair in permutations(self.names, 2)
            for measure in ("told", "certain", "alone")
        ]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        arrays = []
        for known, target in permutations(range(len(self.names)), 2):
            found = attacks.background_join(classes.tuples, classes.codes[:, known], classes.codes[:, target])
            arrays += [pa.array(found.guessed), pa.array(found.certain), pa.array(found.alone)]
        return arrays


def known_attribute_column(measure: str, known: str, target: str) -> str:
    """The name of a column of the class table for a known attribute and another."""
    both = "/".join(name.replace("%", "%25").replace("/", "%2F") for name in (known, target))
    return measure_column(measure, both)


def measure_attacks(
    classes: DataFrame, columns: Sequence[AttackColumns], knowing: KnownAttributeColumns | None, rows: int
) -> list[Exposure]:
    """All attacks on a class table with these columns, in one aggregation."""
    attacks_of = [_attacks(part) for part in columns]
    sums: dict[str, Column] = {}
    for i, part in enumerate(columns):
        for name, attack in attacks_of[i].items():
            sums[f"classes {name} {i}"] = F.count_if(attack.exposed)
            sums[f"people {name} {i}"] = F.sum(F.when(attack.exposed, F.col("size")).otherwise(0))
            sums[f"worst {name} {i}"] = attack.worst
        sums[f"guessed {i}"] = F.sum(quoted(part.attribute.column("likeliest_rows")))
        sums[f"distinct {i}"] = F.sum(quoted(part.attribute.column("distinct")))
    names = [part.attribute.name for part in columns]
    pairs = list(permutations(range(len(columns)), 2)) if knowing is not None else []
    for i, j in pairs:
        told, certain, alone = (
            quoted(known_attribute_column(measure, names[i], names[j])) for measure in ("told", "certain", "alone")
        )
        sums |= {f"told {i} {j}": F.sum(told)}
        sums |= {f"people {i} {j}": F.sum(certain), f"classes {i} {j}": F.count_if(certain > 0)}
        sums |= {f"alone {i}": F.sum(alone), f"alone classes {i}": F.count_if(alone > 0)}
    if not sums:
        return []
    sums["classes"] = F.count(F.lit(1))
    (found,) = classes.agg(*[column.alias(name) for name, column in sums.items()]).toArrow().to_pylist()
    result = []
    for i, name in enumerate(names):
        for attack_name, attack in attacks_of[i].items():
            worst = found[f"worst {attack_name} {i}"]
            result.append(
                Exposure(
                    attack=attack_name,
                    attribute=name,
                    criterion=attack.criterion,
                    classes=found[f"classes {attack_name} {i}"],
                    people=found[f"people {attack_name} {i}"],
                    worst=worst["quasi_identifiers"],
                    **{key: worst[key] for key in ("before", "after", "about", "size")},
                )
            )
    for i, j in pairs:
        known, target = names[i], names[j]
        result.append(
            Exposure(
                attack="knowing another",
                attribute=target,
                criterion=f"an adversary who knows the class and {known} is certain of {target}",
                classes=found[f"classes {i} {j}"],
                people=found[f"people {i} {j}"],
                before=found[f"guessed {j}"] / rows,
                after=found[f"told {i} {j}"] / rows,
                about=known,
            )
        )
    for i, known in enumerate(names if pairs else ()):
        result.append(
            Exposure(
                attack="re-identification",
                attribute=known,
                criterion=f"a join with a list of people that has {known} leaves one record of the class",
                classes=found[f"alone classes {i}"],
                people=found[f"alone {i}"],
                before=found["classes"] / rows,
                after=found[f"distinct {i}"] / rows,
                about=known,
            )
        )
    return result


@dataclass(frozen=True, kw_only=True)
class _Attack:
    """An attack as columns of the class table."""

    criterion: str
    exposed: Column
    about: Column
    before: Column
    after: Column

    @property
    def worst(self) -> Column:
        """The class with the largest gain, of the exposed ones if there are any, with what is reported of it."""
        gain = (self.after - self.before).alias("gain")
        shown = [self.about.alias("about"), self.before.alias("before"), self.after.alias("after"), F.col("size")]
        return F.max(F.struct(self.exposed.alias("exposed"), gain, F.col("quasi_identifiers"), *shown))


def _attacks(part: AttackColumns) -> dict[str, _Attack]:
    """The attacks on one attribute (Li et al. 2007, sections 2 and 3; Weber 2.2)."""

    def column(measure: str) -> Column:
        return quoted(part.attribute.column(measure))

    size, name, threshold = F.col("size"), part.attribute.name, f"{float(part.threshold):g}"
    likeliest, second = column("likeliest_rows"), column("second_rows")
    found = {
        "homogeneity": _Attack(
            criterion=f"all records of the class have one {name}",
            exposed=likeliest == size,
            about=column("likeliest_name"),
            before=column("likeliest_before"),
            after=likeliest / size,
        ),
        "background knowledge": _Attack(
            criterion=f"an adversary who can rule out one {name} is certain",
            exposed=column("distinct") <= 2,
            about=column("likeliest_name"),
            before=likeliest / size,
            after=likeliest / (size - second),
        ),
        "skewness": _Attack(
            criterion=f"belief in some {name} rises by more than {threshold}",
            exposed=column("value_over"),
            about=column("value_name"),
            before=column("value_before"),
            after=column("value_before") + column("value_gain"),
        ),
    }
    if part.has_groups:
        found["similarity by belief"] = _Attack(
            criterion=f"belief in similar values of {name} rises by more than {threshold}, and than in any of "
            f"{attacks.RANDOM_CLASSES:,} random classes of about the size",
            exposed=column("group_over"),
            about=column("group_name"),
            before=column("group_before"),
            after=column("group_before") + column("group_gain"),
        )
        groups = "group below the root" if part.attribute.distance.features.parents else "third of the values in order"
        found["similarity by group"] = _Attack(
            criterion=f"all {name} of the class are in one {groups}",
            exposed=(column("alike_rows") == size) & (column("alike_before") < 1),
            about=column("alike_name"),
            before=column("alike_before"),
            after=column("alike_rows") / size,
        )
    return found
