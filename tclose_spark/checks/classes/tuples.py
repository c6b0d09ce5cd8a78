"""Sensitive attributes together: the tuples of all of them, which are measured, and of some, which
may have to be close (`privacy.joint`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.tallies import MOST_VALUES, ClassTally
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches
from tclose_spark.errors import InputError
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.measures.distances.histograms import Histograms, sum_at
from tclose_spark.requirements.criterion import ExactCriterion
from tclose_spark.requirements.judge import EXACT, JudgedAttribute
from tclose_spark.runfile.privacy import JointCloseness
from tclose_spark.table.arrays import IntArray, Mapper, TupleCodes
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.domains import TupleCounts


@dataclass(frozen=True)
class TupleCloseness:
    """Equal distance over the tuples of the first sensitive attributes (a `ClassMeasure`):
    `tuples_emd`, `tuples_numerator`, with the number of attributes before the underscore unless
    they are all.

    codes: the tuples of the whole table.
    counts: their rows, by number.
    names: of these attributes.
    several: the number of attributes, "" if they are all.
    """

    codes: TupleCodes
    counts: IntArray
    names: tuple[str, ...]
    several: str = ""

    @property
    def distance(self) -> EqualDistance:
        """Equal distance over the numbers of the tuples."""
        return EqualDistance(self.counts)

    @property
    def criterion(self) -> ExactCriterion:
        """The distance of the tuples of these attributes from the table's, in the worst class.
        t-closeness of each attribute alone promises less for several together.
        """
        return ExactCriterion(
            measure="t-closeness of tuples",
            attribute=" and ".join(self.names),
            required=None,
            figure=f"tuples{self.several}_emd",
            numerator=f"tuples{self.several}_numerator",
            unit=2 * int(self.counts.sum()),
        )

    def criteria(self, k: int | None) -> list[ExactCriterion]:
        """See ClassMeasure."""
        return [self.criterion]

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        return [
            (f"tuples{self.several}_emd", pa.float64()),
            (f"tuples{self.several}_numerator", EXACT),
        ]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        code = self.codes.encode(classes.codes)
        tuples = classes.tuples
        histograms = Histograms.tally(
            tuples.owner,
            code[tuples.values],
            tuples.counts,
            tuples.groups,
            len(self.counts),
        )
        numerators = self.distance.numerators(histograms).astype(object)
        unit = classes.sizes.astype(object) * (2 * int(self.counts.sum()))
        return [
            pa.array((numerators / unit).astype(np.float64)),
            pa.array(numerators.tolist(), EXACT),
        ]


def prefix_tuples(
    histogram: TupleCounts | None,
    attributes: Sequence[JudgedAttribute],
) -> list[TupleCloseness]:
    """The tuples of the first sensitive attribute, of the first two, and so on, to those of all.
    Empty if there is one attribute, or if there are too many tuples.
    """
    return _of_first(range(1, len(attributes) + 1), histogram, attributes)


def all_together(
    histogram: TupleCounts | None,
    attributes: Sequence[JudgedAttribute],
) -> TupleCloseness | None:
    """The tuples of all sensitive attributes; None if there is one attribute, or if there are too
    many tuples.
    """
    found = _of_first([len(attributes)], histogram, attributes)
    return found[0] if found else None


def _of_first(
    numbers: Sequence[int],
    histogram: TupleCounts | None,
    attributes: Sequence[JudgedAttribute],
) -> list[TupleCloseness]:
    if histogram is None or len(attributes) < 2:
        return []
    codes, rows = _codes(histogram, attributes)
    last = len(attributes)
    found = []
    for several in numbers:
        tuples, counts = _counted(codes, rows, range(several), attributes)
        names = tuple(a.name for a in attributes[:several])
        found.append(TupleCloseness(tuples, counts, names, "" if several == last else str(several)))
    return found


def joint_attributes(
    histogram: TupleCounts | None,
    attributes: Sequence[JudgedAttribute],
    joint: Sequence[JointCloseness],
) -> list[JudgedAttribute]:
    """The tuples that are required to be close, each as one more attribute.

    Raises:
        InputError: if there are too many tuples.
    """
    if not joint:
        return []
    if histogram is None:
        raise InputError(
            f"the sensitive attributes have more than {MOST_VALUES:,} different tuples, too many "
            "to judge joint closeness; use coarser values",
        )
    codes, rows = _codes(histogram, attributes)
    place = {a.name: i for i, a in enumerate(attributes)}
    found = []
    for one in joint:
        columns = [place[name] for name in one.attributes]
        tuples, counts = _counted(codes, rows, columns, attributes)
        values = dict(zip(tuples.encode(codes).tolist(), histogram, strict=True))
        texts = (
            json.dumps([values[number][column] for column in columns])
            for number in range(tuples.size)
        )
        found.append(
            JudgedAttribute(
                one.name,
                tuple(texts),
                EqualDistance(counts),
                one.as_attribute,
                tuples=tuples,
            ),
        )
    return found


def _codes(
    histogram: TupleCounts,
    attributes: Sequence[JudgedAttribute],
) -> tuple[IntArray, IntArray]:
    """(the codes of each tuple, shape (tuples, attributes), its rows)."""
    places = [{value: code for code, value in enumerate(a.values)} for a in attributes]
    codes = [[place[value] for place, value in zip(places, key, strict=True)] for key in histogram]
    return np.array(codes, dtype=np.int64), np.array(list(histogram.values()), dtype=np.int64)


def _counted(
    codes: IntArray,
    rows: IntArray,
    columns: Sequence[int],
    attributes: Sequence[JudgedAttribute],
) -> tuple[TupleCodes, IntArray]:
    """(the tuples of these columns, the rows of each)."""
    tuples = TupleCodes.of(codes, columns, [len(attributes[column].values) for column in columns])
    return tuples, sum_at(tuples.encode(codes), rows, tuples.size)


def count_alone(
    tallies: Table,
    labels: int,
    names: Sequence[str],
    histogram: TupleCounts | None,
) -> list[dict[str, object]]:
    """By pair of sensitive attributes, the rows whose pair of values no other row has: of their
    `class`, and of the `table` (None if there are too many tuples). They follow from the release
    alone.

    tallies: of the release's rows; labels: how many columns there are. histogram: the rows of each
        tuple.
    """
    pairs = [*combinations(range(len(names)), 2)]
    if not pairs:
        return []
    schema = pa.schema([(str(i), pa.int64()) for i in range(len(pairs))])
    in_classes = collect(map_batches(tallies, _alone(pairs, labels, schema), schema))
    found = []
    for i, (one, other) in enumerate(pairs):
        rows: dict[tuple[str | None, str | None], int] = {}
        for key, n in (histogram or {}).items():
            rows[key[one], key[other]] = rows.get((key[one], key[other]), 0) + n
        table = None if histogram is None else sum(n == 1 for n in rows.values())
        in_class = sum(in_classes[str(i)].to_pylist())
        found.append({"attributes": [names[one], names[other]], "table": table, "class": in_class})
    return found


def _alone(pairs: Sequence[tuple[int, int]], labels: int, schema: pa.Schema) -> Mapper:
    """By pair of columns, the rows of some classes whose pair of values no other row of the class
    has.
    """

    def alone(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                tally = ClassTally.whole(batch, labels)
                owner = pa.array(tally.tuples.owner)
                rows = tally.tuples.counts
                groups = [
                    group_equal([owner, tally.values[one], tally.values[other]])[0]
                    for one, other in pairs
                ]
                counts = [int((np.bincount(group, weights=rows) == 1).sum()) for group in groups]
                yield pa.RecordBatch.from_arrays([pa.array([n]) for n in counts], schema=schema)

    return alone
