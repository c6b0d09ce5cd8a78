"""Attacks on the classes: homogeneity, background knowledge, skewness, similarity, and a known
sensitive attribute.

Each is measured by how many classes and rows are exposed, and by the worst rise in belief.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.auditing.tables import SortKey, greatest, values_of
from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import merged, select
from tclose_spark.measures.disclosure import beliefs as attacks
from tclose_spark.measures.disclosure.beliefs import BeliefGain
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.criterion import Labels
from tclose_spark.requirements.judge import JudgedAttribute, measure_column
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.columns.preparing import BoolArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

ROUNDING = 1e-9
MEASURES = ("told", "certain", "alone")
"""Of an attribute for an adversary who knows another: see `KnownAttributeColumns`."""


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What one attack exposes.

    attack: "homogeneity", "background knowledge", "skewness", "similarity by belief", "similarity
        by group", "knowing another" or "re-identification".
    attribute: the attribute that an adversary learns.
    criterion: when a class is exposed.
    classes, people: how many classes and rows are exposed.
    worst: the labels of the class with the largest rise in belief.
    about: the value, range or node that is learned there.
    before, after: the belief in it without and with the attack.
    size: the records of that class.

    Two attacks have no worst class. Of "knowing another", before and after are mean beliefs over
    rows with a value; of "re-identification", mean chances to pick the record. There, about is the
    attribute that the adversary knows.
    """

    attack: str
    attribute: str
    criterion: str
    classes: int
    people: int
    before: float
    after: float
    about: str | None = None
    worst: Labels | None = None
    size: int | None = None

    def without_labels(self) -> Exposure:
        """The same without labels and values of the table; the worst class keeps its size."""
        return self if self.worst is None else replace(self, about=None, worst={})


@dataclass(frozen=True)
class AttackColumns:
    """The attacks on one attribute as columns of the class table (a `ClassMeasure`).

    `known_rows_`: records whose value is not uninformative; all figures of values are over these.
    `likeliest_name_`, `likeliest_rows_`, `likeliest_before_`: the most frequent value, its records
        in the class, its share of the table; `second_rows_`: records of the second most frequent.
    `value_gain_`, `value_before_`, `value_name_`, `value_over_`: the largest rise in belief in a
        value, the belief before, the value, whether the rise is above `threshold`.
    `group_gain_`, ..: the same for a range or node, if values can be similar. Here `group_over_` is
    also above what
        chance gives a class of the size, because a class of five always has some range that rises
        much.
    `alike_rows_`, `alike_before_`, `alike_name_`: as for the most frequent value, for the most
        frequent group of `attacks.value_groups`.
    """

    attribute: JudgedAttribute
    threshold: Fraction
    hierarchy: Hierarchy | None = None
    by_chance: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_chance = (
            attacks.chance_gains(self.attribute.distance) if self.has_groups else np.zeros(1)
        )
        object.__setattr__(self, "by_chance", by_chance)  # drawn here once, not in every task

    @property
    def has_groups(self) -> bool:
        """Whether some values are more similar than others; false for an equal distance."""
        return attacks.has_groups(self.attribute.distance)

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        text = pa.string()
        count = pa.int64()
        share = pa.float64()
        names = {
            "known_rows": count,
            "likeliest_name": text,
            "likeliest_rows": count,
            "likeliest_before": share,
        }
        names |= {"second_rows": count}
        for part in ("value", "group") if self.has_groups else ("value",):
            gain = {"gain": share, "before": share, "name": text, "over": pa.bool_()}
            names |= {f"{part}_{name}": kind for name, kind in gain.items()}
        if self.has_groups:
            names |= {"alike_rows": count, "alike_before": share, "alike_name": text}
        return [(self.attribute.column(name), kind) for name, kind in names.items()]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        histograms = classes.marginals[self.attribute.name]
        distance = self.attribute.distance
        texts = pa.array(self.attribute.values, pa.string())
        none = np.zeros(len(classes.sizes))
        unknown = self.attribute.uninformative
        table, known = attacks.informative(distance.table, histograms, unknown)
        ranked = attacks.most_frequent(histograms, unknown)
        share = table[ranked.value] / max(table.sum(), 1)
        likeliest = texts.take(pa.array(ranked.value))
        arrays = [
            pa.array(known),
            likeliest,
            pa.array(ranked.first),
            pa.array(share),
            pa.array(ranked.second),
        ]
        single = attacks.skewness(distance.table, histograms, unknown)
        arrays += self._gains(single, texts.take(pa.array(single.first)), table, known, none)
        if self.has_groups:
            gain = attacks.similarity(distance, histograms)
            by_chance = attacks.chance_gain(self.by_chance, classes.sizes)
            names = self._names(gain.first, gain.last, gain.height)
            arrays += self._gains(gain, names, distance.table, classes.sizes, by_chance)
            arrays += self._alike(histograms)
        return arrays

    def _alike(self, histograms: Histograms) -> list[pa.Array]:
        group = attacks.value_groups(self.attribute.distance)
        table = self.attribute.distance.table
        most = attacks.most_frequent(attacks.in_groups(group, histograms))
        first, last = (np.searchsorted(group, most.value, side) for side in ("left", "right"))
        through = np.concatenate([[0], np.cumsum(table)])
        before = (through[last] - through[first]) / through[-1]
        return [pa.array(most.first), pa.array(before), self._names(first, last - 1)]

    def _names(self, first: IntArray, last: IntArray, height: IntArray | None = None) -> pa.Array:
        """Names of groups of consecutive values: nodes of the hierarchy, otherwise ranges. height:
        of the nodes; by default the lowest common ancestors.
        """
        if self.hierarchy is not None:
            leaf = first
            if height is None:
                height, leaf = self.hierarchy.common_ancestors(first, last)
            nodes = zip(leaf.tolist(), height.tolist(), strict=True)
            return pa.array(
                [self.hierarchy.paths[leaf][height] for leaf, height in nodes],
                pa.string(),
            )
        values = ["missing" if value is None else value for value in self.attribute.values]
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return pa.array(
            [
                values[low] if low == high else f"{values[low]} .. {values[high]}"
                for low, high in ends
            ],
            pa.string(),
        )

    def _gains(
        self,
        gain: BeliefGain,
        about: pa.Array,
        table: IntArray,
        sizes: IntArray,
        by_chance: FloatArray,
    ) -> list[pa.Array]:
        """Columns of gains over these records of the table and of the classes."""
        unit = np.maximum(sizes.astype(object) * int(table.sum()), 1)
        numerators = gain.numerators.astype(object)
        gains = (numerators / unit).astype(np.float64)
        over = (numerators * self.threshold.denominator > unit * self.threshold.numerator) & (
            gains > by_chance + ROUNDING
        )
        through = np.concatenate([[0], np.cumsum(table)])
        before = (through[gain.last + 1] - through[gain.first]) / max(through[-1], 1)
        return [pa.array(gains), pa.array(before), about, pa.array(over.astype(bool))]


@dataclass(frozen=True)
class KnownAttributeColumns:
    """What an adversary who knows one sensitive attribute learns of another in a class (a
    `ClassMeasure`).

    `told_<known>/<target>`: records whose target the best guess gets right.
    `certain_<known>/<target>`: records for which the guess cannot be wrong.
    `alone_<known>/<target>`: records whose known value is unique in the class.
    unknown: of each attribute, the code of the value that is no target.
    """

    names: tuple[str, ...]
    unknown: tuple[int | None, ...] = ()

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        return [
            (known_attribute_column(measure, *pair), pa.int64())
            for pair in permutations(self.names, 2)
            for measure in MEASURES
        ]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        arrays = []
        for known, target in permutations(range(len(self.names)), 2):
            found = attacks.background_join(
                classes.tuples,
                classes.codes[:, known],
                classes.codes[:, target],
                dict(enumerate(self.unknown)).get(target),
            )
            arrays += [pa.array(found.guessed), pa.array(found.certain), pa.array(found.alone)]
        return arrays


def known_attribute_column(measure: str, known: str, target: str) -> str:
    """The name of a column of the class table for a known attribute and another."""
    both = "/".join(name.replace("%", "%25").replace("/", "%2F") for name in (known, target))
    return measure_column(measure, both)


def measure_attacks(
    classes: Table,
    columns: Sequence[AttackColumns],
    knowing: KnownAttributeColumns | None,
    rows: int,
) -> list[Exposure]:
    """All attacks on a class table with these columns, in one pass."""
    if not columns:
        return []
    names = [part.attribute.name for part in columns]
    pairs = list(permutations(range(len(names)), 2)) if knowing is not None else []
    known = {
        pair: {m: known_attribute_column(m, *(names[i] for i in pair)) for m in MEASURES}
        for pair in pairs
    }
    needed = [
        name
        for part in columns
        for name, _ in (*part.fields(), (part.attribute.column("distinct"), None))
    ]
    needed += [name for of_pair in known.values() for name in of_pair.values()]

    picked = select(classes, ["quasi_identifiers", "size", *needed])
    found: _Found = merged(picked, lambda batch: _found(batch, columns, known), or_)
    result = [exposure for i, part in enumerate(columns) for exposure in _by_class(i, part, found)]
    if pairs:
        result += [_knowing_another(pair, names, found) for pair in pairs]
        result += [_reidentification(i, names, found, rows) for i in range(len(names))]
    return result


def _by_class(i: int, part: AttackColumns, found: _Found) -> Iterator[Exposure]:
    """What the attacks of `_criteria` expose of attribute number i."""
    for attack, criterion in _criteria(part).items():
        _, _, *published, about, before, after, size = values_of(found.worst[attack, i])
        yield Exposure(
            attack=attack,
            attribute=part.attribute.name,
            criterion=criterion,
            classes=found.sums["classes", attack, i],
            people=found.sums["people", attack, i],
            before=before,
            after=after,
            about=about,
            worst=dict(zip(found.labels, published, strict=True)),
            size=size,
        )


def _knowing_another(pair: tuple[int, int], names: Sequence[str], found: _Found) -> Exposure:
    """What is exposed of the second attribute of a pair to an adversary who knows the first."""
    known, target = (names[i] for i in pair)
    known_rows = max(found.sums["known", pair[1]], 1)
    return Exposure(
        attack="knowing another",
        attribute=target,
        criterion=f"an adversary who knows the class and {known} is certain of {target}",
        classes=found.sums["classes", "certain", *pair],
        people=found.sums["people", "certain", *pair],
        before=found.sums["guessed", pair[1]] / known_rows,
        after=found.sums["people", "told", *pair] / known_rows,
        about=known,
    )


def _reidentification(i: int, names: Sequence[str], found: _Found, rows: int) -> Exposure:
    """The records that attribute number i picks out of their classes."""
    other = 0 if i else 1
    return Exposure(
        attack="re-identification",
        attribute=names[i],
        criterion=f"a join with a list of people that has {names[i]} leaves one record of the class",
        classes=found.sums["classes", "alone", i, other],
        people=found.sums["people", "alone", i, other],
        before=found.sums["all",] / rows,
        after=found.sums["distinct", i] / rows,
        about=names[i],
    )


@dataclass(frozen=True)
class _Found:
    """What the attacks find in some classes.

    labels: the names of the published columns.
    sums: of classes and rows.
    worst: by attack and attribute, the class with the largest gain, of the exposed ones if there
        are any: (exposed, gain, labels, about, before, after, size).
    """

    labels: Sequence[str]
    sums: Counter[tuple[Any, ...]]
    worst: Mapping[tuple[str, int], SortKey]

    def __or__(self, other: _Found) -> _Found:
        """What they find in the classes of both."""
        worst = {key: max(own, other.worst[key]) for key, own in self.worst.items()}
        return _Found(self.labels, self.sums + other.sums, worst)


def _found(
    classes: pa.RecordBatch,
    columns: Sequence[AttackColumns],
    known: Mapping[tuple[int, int], Mapping[str, str]],
) -> _Found:
    """What the attacks find in these classes. known: the columns of each pair of attributes, by
    measure.
    """
    sizes = classes["size"].to_numpy()
    published = classes["quasi_identifiers"]
    sums: Counter[tuple[Any, ...]] = Counter({("all",): len(sizes)})
    worst = {}
    for i, part in enumerate(columns):
        known_rows = classes[part.attribute.column("known_rows")].to_numpy()
        sums["known", i] = int(known_rows.sum())
        sums["guessed", i] = _sum(classes, part.attribute.column("likeliest_rows"))
        sums["distinct", i] = _sum(classes, part.attribute.column("distinct"))
        for name, attack in _attacks(part, classes).items():
            sums["classes", name, i] = int(np.count_nonzero(attack.exposed))
            sums["people", name, i] = int(known_rows[attack.exposed].sum())
            belief = [pa.array(attack.exposed), pa.array(attack.after - attack.before)]
            told = [attack.about, pa.array(attack.before), pa.array(attack.after), classes["size"]]
            worst[name, i] = greatest([*belief, *published.flatten(), *told])
    for pair, of_pair in known.items():
        for measure, column in of_pair.items():
            sums["classes", measure, *pair] = int(np.count_nonzero(classes[column].to_numpy()))
            sums["people", measure, *pair] = _sum(classes, column)
    return _Found([label.name for label in published.type], sums, worst)


def _sum(classes: pa.RecordBatch, column: str) -> int:
    return int(classes[column].to_numpy().sum())


@dataclass(frozen=True, kw_only=True)
class _Attack:
    """An attack on some classes: whether each is exposed, what is learned there, and the
    beliefs.
    """

    exposed: BoolArray
    about: pa.Array
    before: FloatArray
    after: FloatArray


def _criteria(part: AttackColumns) -> dict[str, str]:
    """When a class is exposed, by attack on one attribute (Li et al. 2007, sections 2 and 3; Weber
    2.2).
    """
    name = part.attribute.name
    threshold = f"{float(part.threshold):g}"
    found = {
        "homogeneity": f"all records of the class have one {name}",
        "background knowledge": f"an adversary who can rule out one {name} is certain",
        "skewness": f"belief in some {name} rises by more than {threshold}",
    }
    if part.has_groups:
        groups = (
            "group below the root"
            if part.attribute.distance.features.parents
            else "third of the values in order"
        )
        found["similarity by belief"] = (
            f"belief in similar values of {name} rises by more than {threshold}, and than in any "
            f"of {attacks.RANDOM_CLASSES:,} random classes of about the size"
        )
        found["similarity by group"] = f"all {name} of the class are in one {groups}"
    return found


def _attacks(part: AttackColumns, classes: pa.RecordBatch) -> dict[str, _Attack]:
    """The attacks of `_criteria` on some classes."""

    def column(measure: str) -> Any:
        return classes[part.attribute.column(measure)].to_numpy(zero_copy_only=False)

    def about(measure: str) -> pa.Array:
        return classes[part.attribute.column(measure)]

    likeliest = column("likeliest_rows")
    second = column("second_rows")
    known = np.maximum(column("known_rows"), 1)
    found = {
        "homogeneity": _Attack(
            exposed=likeliest == known,
            about=about("likeliest_name"),
            before=column("likeliest_before"),
            after=likeliest / known,
        ),
        "background knowledge": _Attack(
            exposed=likeliest + second == known,
            about=about("likeliest_name"),
            before=likeliest / known,
            after=likeliest / (known - second),
        ),
        "skewness": _Attack(
            exposed=column("value_over"),
            about=about("value_name"),
            before=column("value_before"),
            after=column("value_before") + column("value_gain"),
        ),
    }
    if part.has_groups:
        found["similarity by belief"] = _Attack(
            exposed=column("group_over"),
            about=about("group_name"),
            before=column("group_before"),
            after=column("group_before") + column("group_gain"),
        )
        found["similarity by group"] = _Attack(
            exposed=(column("alike_rows") == known) & (column("alike_before") < 1),
            about=about("alike_name"),
            before=column("alike_before"),
            after=column("alike_rows") / known,
        )
    return found
