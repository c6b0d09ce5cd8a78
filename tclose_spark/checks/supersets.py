"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): every class is at most t away
from some natural superset of at least n records. Both the verdict on a release and the audit of a
table use this module.

The whole table is a superset, and so is a class of n records. For classes that neither proves, the
driver searches boxes of labels (see `measures.supersets.box_search`) in tables of up to
MOST_CLASSES classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import Classes, JudgedQuasi, class_fields
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.checks.labels.regions import BEST, BoxProofs, open_classes
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, merged, schema_of, select
from tclose_spark.measures.supersets.box_search import MOST_BOXES, ProofTarget
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.expectation import Expectation, expect_present
from tclose_spark.requirements.judge import JudgedAttribute, measure_column
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.dictionaries import group_equal

WHOLE = "the whole table"
ITSELF = "the class itself"
# That the driver holds to search boxes; counts are of their values.
MOST_CLASSES = 2_000_000
MOST_COUNTS = 1 << 25


SIZE = pa.schema([("classes", pa.int64()), ("counts", pa.int64())])


@dataclass(frozen=True)
class BoxesOfClasses:
    """The best box of each open class. labels: of the open classes; boxes: by attribute, as
    BEST.
    """

    labels: Sequence[pa.Array]
    boxes: Mapping[str, pa.Array]

    def of(self, labels: Sequence[pa.Array]) -> dict[str, pa.Array]:
        """By attribute, the best boxes of classes with these labels (NULL equals NULL); null if
        there is none.
        """
        group, first = group_equal(
            [pa.concat_arrays(columns) for columns in zip(self.labels, labels, strict=True)],
        )
        held = len(self.labels[0])
        place = np.full(len(first), -1, dtype=np.int64)
        place[group[:held]] = np.arange(held)
        found = place[group[held:]]
        return {
            name: boxes.take(pa.array(found, mask=found < 0)) for name, boxes in self.boxes.items()
        }


def find_supersets(
    classes: Table,
    tallies: Table,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    n: int,
    most: int = MOST_BOXES,
) -> tuple[Table, list[str]]:
    """(the class table with two columns more for each attribute with a t, notes on what was not
    tried).

    `superset_<attribute>` is a natural superset that proves the class, or NULL.
    `nt_emd_<attribute>` is the distance from it, or the least distance that was found. tallies: of
    the same classes; most: boxes to try.
    """
    with_t = [a for a in attributes if a.settings.t is not None]
    best = None
    notes = list[str]()
    margins = select(classes, ["size", *[a.column("margin") for a in with_t]])
    sizes = pa.schema([("size", pa.int64())])
    if collect(map_batches(margins, _unproven_sizes(with_t, n), sizes), 1).num_rows:
        best, notes = _in_boxes(tallies, quasi, attributes, n, most)
    made = [(measure_column("superset", a.name), measure_column("nt_emd", a.name)) for a in with_t]
    columns = [
        field for names in made for field in zip(names, (pa.string(), pa.float64()), strict=True)
    ]
    measured = list(schema_of(classes))[len(class_fields(quasi)) :]
    schema = pa.schema([*class_fields(quasi), *measured, *columns])
    return map_batches(classes, _with_supersets(best, with_t, n, schema), schema), notes


def _near_whole(a: JudgedAttribute, classes: pa.RecordBatch, n: int) -> pa.Array:
    """Whether each class is near a whole table of at least n records."""
    if n > int(a.distance.table.sum()):
        return pa.array(np.zeros(len(classes), dtype=np.bool_))
    margin = classes[a.column("margin")]
    return pc.greater_equal(margin, pa.scalar(0, margin.type))


def _unproven_sizes(attributes: Sequence[JudgedAttribute], n: int) -> Mapper:
    """The sizes of the classes that neither the whole table nor their own records prove."""

    def unproven(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            proven = pc.greater_equal(batch["size"], n)
            near = [_near_whole(a, batch, n) for a in attributes]
            yield batch.select(["size"]).filter(pc.invert(pc.or_(proven, reduce(pc.and_, near))))

    return unproven


def _with_supersets(
    best: BoxesOfClasses | None,
    attributes: Sequence[JudgedAttribute],
    n: int,
    schema: pa.Schema,
) -> Mapper:
    """Adds the superset that proves each class: the whole table, itself, or the best box. Looks up
    the boxes of all classes of a task together.
    """

    def added(classes: pa.RecordBatch) -> pa.RecordBatch:
        boxes = {} if best is None else best.of(classes["quasi_identifiers"].flatten())
        large = pc.greater_equal(classes["size"], n)
        columns = list(classes.columns)
        for a in attributes:
            whole = _near_whole(a, classes, n)
            emd = classes[a.column("emd")]
            proven, distance, name = boxes.get(a.name, pa.nulls(len(classes), BEST)).flatten()
            ways = pc.make_struct(whole, large, pc.fill_null(proven, False))
            nearest = (
                distance if n > int(a.distance.table.sum()) else pc.min_element_wise(distance, emd)
            )
            columns.append(pc.case_when(ways, WHOLE, ITSELF, name))
            columns.append(pc.case_when(ways, emd, 0.0, distance, nearest))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches if best is None else _together(batches):
            yield added(batch)

    return add


def _together(batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    held = list(batches)
    return pa.Table.from_batches(held).combine_chunks().to_batches() if held else []


def _size(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The classes of each task, and the counts in them."""
    classes = counts = 0
    for batch in batches:
        classes = classes + len(batch)
        counts = counts + len(batch["n"].flatten())
    yield pa.RecordBatch.from_pydict({"classes": [classes], "counts": [counts]}, SIZE)


def _in_boxes(
    tallies: Table,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    n: int,
    most: int,
) -> tuple[BoxesOfClasses | None, list[str]]:
    """(the best box of each open class, notes). None if there are too many classes for the
    driver.
    """
    sizes = collect(map_batches(select(tallies, ["n"]), _size, SIZE))
    classes, counts = (sum(column.to_pylist()) for column in sizes.columns)
    if classes > MOST_CLASSES or counts > MOST_COUNTS:
        return None, [
            f"(n, t): no box was tried. The table has {classes:,} classes with {counts:,} counts "
            f"of values; the driver holds at most {MOST_CLASSES:,} and {MOST_COUNTS:,}. A class "
            "that neither the whole table nor its own records prove counts as not proven",
        ]
    tally = ClassTally.read(collect(tallies), sum(len(q.columns) for q in quasi))
    held = Classes.of(tally, attributes)
    targets = {
        a.name: ProofTarget(
            a.distance,
            t,
            held.marginals[a.name],
            open_classes(a.distance, t, held.marginals[a.name], n),
        )
        for a in attributes
        if (t := a.settings.t) is not None
    }
    labels = iter(tally.labels)
    columns = [[pa.chunked_array([next(labels)]) for _ in q.columns] for q in quasi]
    proofs = BoxProofs.of(columns, held.sizes, list(targets.values()), quasi, n, most)
    unproven = np.flatnonzero(np.any([target.open for target in targets.values()], axis=0))
    best = BoxesOfClasses(
        [column.take(pa.array(unproven)) for column in tally.labels],
        {name: proofs.best(place, unproven) for place, name in enumerate(targets)},
    )
    if proofs.complete:
        return best, []
    return best, [
        f"(n, t): {proofs.search.tried:,} boxes were tried, and there are more. A class without a "
        "proof may have one among the others; tclose audit tries more with --supersets",
    ]


@dataclass(frozen=True, kw_only=True)
class NearSupersets:
    """How the classes hold (n, t)-closeness of an attribute.

    guarantee: with the worst class and its nearest superset.
    whole_table, itself, superset: how many classes each of these proves; a class counts for the
        first that does.
    """

    guarantee: Guarantee
    whole_table: int
    itself: int
    superset: int


class _Found(NamedTuple):
    """The proofs of an attribute in some classes. worst: the unproven class, or else the proven
    one, that is farthest from its nearest superset, as a sort key: (unproven, distance, labels,
    superset, size), each with its name, missing values least.
    """

    counts: Counter[str]
    worst: tuple[Any, ...]

    def __or__(self, other: _Found) -> _Found:
        """Those of the classes of both."""
        return _Found(self.counts + other.counts, max(self.worst, other.worst))


def near_supersets(
    classes: Table,
    attributes: Sequence[JudgedAttribute],
    n: int,
) -> list[NearSupersets]:
    """By attribute with a t, from a class table as `find_supersets` returns it. One job."""
    with_t = [a for a in attributes if a.settings.t is not None]
    if not with_t:
        return []
    of_attributes = [
        measure_column(measure, a.name) for a in with_t for measure in ("superset", "nt_emd")
    ]
    picked = select(classes, ["quasi_identifiers", "size", *of_attributes])
    found = merged(
        picked,
        lambda batch: [_found(a, batch) for a in with_t],
        lambda one, other: [*map(or_, one, other)],
    )
    return [_near(a, n, each) for a, each in zip(with_t, found, strict=True)]


def _found(a: JudgedAttribute, classes: pa.RecordBatch) -> _Found:
    superset, emd, size = (
        classes[name]
        for name in (measure_column("superset", a.name), measure_column("nt_emd", a.name), "size")
    )
    unproven = pc.is_null(superset)
    whole, itself = (pc.sum(pc.equal(superset, way)).as_py() or 0 for way in (WHOLE, ITSELF))
    counts = Counter(
        classes=pc.sum(unproven).as_py(),
        rows=pc.sum(size.filter(unproven)).as_py() or 0,
        whole_table=whole,
        itself=itself,
        superset=len(superset) - superset.null_count - whole - itself,
    )
    published = classes["quasi_identifiers"]
    columns = [unproven.cast(pa.int8()), emd, *published.flatten(), superset, size]
    names = ["unproven", "emd", *[field.name for field in published.type], "superset", "size"]
    table = pa.table(columns, [str(place) for place in range(len(columns))])
    keys = [(place, "descending") for place in table.column_names]
    last = pc.sort_indices(table, sort_keys=keys)[0].as_py()
    worst = [column[last].as_py() for column in columns]
    return _Found(
        counts,
        tuple((value is not None, value, name) for name, value in zip(names, worst, strict=True)),
    )


def _near(a: JudgedAttribute, n: int, found: _Found) -> NearSupersets:
    _, (_, emd, _), *published, (_, superset, _), (_, size, _) = found.worst
    t = a.settings.t or Fraction(0)
    guarantee = Guarantee(
        measure="(n, t)-closeness",
        attribute=a.name,
        required=f"n = {n}, t = {float(t):g}",
        achieved=emd,
        classes=found.counts["classes"],
        rows=found.counts["rows"],
        worst={
            **{name: label for _, label, name in published},
            "(superset)": superset or "none was found",
        },
        size=size,
    )
    return NearSupersets(
        guarantee=guarantee,
        **{key: found.counts[key] for key in ("whole_table", "itself", "superset")},
    )


def without_t(attributes: Sequence[JudgedAttribute]) -> list[JudgedAttribute]:
    """The attributes with their distance from the whole table reported, and not required."""
    return [replace(a, settings=a.settings.model_copy(update={"t": None})) for a in attributes]


def expect_supersets(attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """Each class has a superset that proves it, for every attribute with a t."""
    return [
        expect_present(measure_column("superset", a.name))
        for a in attributes
        if a.settings.t is not None
    ]
