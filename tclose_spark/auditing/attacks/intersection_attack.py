"""The intersection attack: what several releases reveal together of people whose quasi-identifiers
are known.

An adversary knows that everyone on a list is in all releases, with the same sensitive value. In
each release, a person is in one of the classes that the person fits. People who fit the same
classes in every release cannot be told apart, and have one of the values that these classes have in
every release (Ganta, Kasiviswanathan and Smith 2008, "Composition attacks and auxiliary information
in data privacy").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import ClassTally, tally_schema
from tclose_spark.checks.labels.boxes import (
    MOST_JOINED,
    Axis,
    axis_codes,
    class_boxes,
    label_axes,
    published_label,
    require_covering,
)
from tclose_spark.checks.labels.known_people import distinct_people, joined_quasi
from tclose_spark.engine.protocol import How, Table
from tclose_spark.engine.tables import collect, combine, keep, map_batches, rename, select
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.reidentification import count_inside
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.arrays import FloatArray, IntArray, Mapper
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MEASURE = "k-anonymity of listed people in all releases"
WHAT = "--earlier"
MOST_CELLS = 20_000_000  # of classes times sensitive values
MOST_FIGURES = 1 << 23  # of people times sensitive values that a task holds at once


@dataclass(frozen=True, kw_only=True)
class LabelledRelease:
    """A release by its labels.

    tallies: of its classes (see `tallies.tally_classes`). labels: the published columns, in the
        tallies' order.
    """

    name: str
    quasi: Sequence[JudgedQuasi]
    labels: Sequence[str]
    tallies: Table


@dataclass(frozen=True, kw_only=True)
class ValuesLeft:
    """What is left of a sensitive attribute for the listed people.

    certain: people whose classes have one value in common. contradicted: those whose classes have
        none.
    belief: the largest belief in a value, with the distribution of the latest release as prior;
        None if no value is left for anybody.
    """

    attribute: str
    certain: int
    contradicted: int
    belief: float | None


@dataclass(frozen=True, kw_only=True)
class Intersection:
    """The result of the attack.

    joined: the quasi-identifiers that the list and some release have.
    people: those of the list. outside: those who fit no class of some release.
    combinations: of classes that others fit. alone: people who are the only one of the list in
        theirs.
    guarantee: k of the combinations, in listed people; its `classes` are combinations, and its
        `rows` people.
    values: by sensitive attribute; empty if there are too many classes and values.
    """

    joined: tuple[str, ...]
    people: int
    outside: int
    combinations: int
    alone: int
    guarantee: Guarantee
    values: tuple[ValuesLeft, ...]

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The one guarantee."""
        return (self.guarantee,)

    @property
    def counts(self) -> Mapping[str, object]:
        """All figures but the guarantee, as plain values."""
        counted = ("people", "outside", "combinations", "alone")
        return {
            "known_by": "background",
            "joined": list(self.joined),
            **{name: getattr(self, name) for name in counted},
            "values": [asdict(one) for one in self.values],
        }

    def without_labels(self) -> Intersection:
        """Itself: it has none."""
        return self


@dataclass(frozen=True)
class _Boxes:
    """The classes of a release as boxes.

    columns: the places of the quasi-identifiers among those of the list.
    figures: of each box: a random number of its class, its records, and those with each value of
        each attribute.
    """

    axes: Sequence[Axis]
    columns: Sequence[int]
    low: IntArray
    high: IntArray
    figures: IntArray


def intersect_releases(
    releases: Sequence[LabelledRelease],
    background: Table,
    hierarchies: Mapping[str, Hierarchy],
    attributes: Sequence[JudgedAttribute],
    k: int | None,
) -> Intersection:
    """The attack with a list of people. releases: the latest last; `attributes` are of its table.

    Raises:
        InputError: if the list has no quasi-identifier of a release, or no rows; if nobody fits a
            class in every release; if a label does not show which values it covers; or if a release
            has more than MOST_JOINED classes.
    """
    joined = [replace(one, quasi=joined_quasi(one.quasi, background)) for one in releases]
    for one in joined:
        if not one.quasi:
            raise InputError(
                f"--background: the table has none of the quasi-identifiers of {one.name}",
            )
    names = list(dict.fromkeys(q.name for one in joined for q in one.quasi))
    with keep(distinct_people(background, names)) as people:
        tallies = [classes_in_memory(one, len(attributes)) for one in joined]
        values = sum(len(a.values) for a in attributes)
        judged = attributes if sum(t.tuples.groups for t in tallies) * values <= MOST_CELLS else []
        boxes = [
            _boxes(one, tally, names, people, hierarchies, judged)
            for one, tally in zip(joined, tallies, strict=True)
        ]
        sums = _sums(_combinations(people, boxes, judged), k, len(judged))
    if not sums["people"] and not sums["outside"]:
        raise InputError("--background: the table has no rows")
    if not sums["people"]:
        raise InputError(
            "--background: nobody fits a class of every release; check that it writes values as "
            "they do",
        )
    return Intersection(
        joined=tuple(names),
        people=sums["people"] + sums["outside"],
        outside=sums["outside"],
        combinations=sums["combinations"],
        alone=sums["alone"],
        guarantee=Guarantee(
            measure=MEASURE,
            attribute=None,
            required=k,
            achieved=sums["smallest"],
            classes=sums["few"],
            rows=sums["below"],
            worst={},
            size=sums["smallest"],
        ),
        values=tuple(
            ValuesLeft(
                attribute=a.name,
                certain=sums[f"certain{i}"],
                contradicted=sums[f"none{i}"],
                belief=sums[f"belief{i}"] or None,
            )
            for i, a in enumerate(judged)
        ),
    )


def _combinations(
    people: Table,
    boxes: Sequence[_Boxes],
    attributes: Sequence[JudgedAttribute],
) -> Table:
    """The combinations of classes that people fit, by a number of the class in each release: the
    people in it and outside of a release, and of each attribute the fewest values left and the
    largest belief.
    """
    keys = [f"k{i}" for i in range(len(boxes))]
    left, beliefs = ([f"{name}{i}" for i in range(len(attributes))] for name in ("left", "belief"))
    how: dict[str, How] = {
        "people": "sum",
        "outside": "sum",
        **dict.fromkeys(left, "min"),
        **dict.fromkeys(beliefs, "max"),
    }
    schema = pa.schema(
        [(name, pa.float64() if name in beliefs else pa.int64()) for name in (*keys, *how)],
    )
    located = map_batches(people, _locate(boxes, [_prior(a) for a in attributes], schema), schema)
    return combine(located, keys, how)


def classes_in_memory(release: LabelledRelease, attributes: int) -> ClassTally:
    """The classes of a release by its quasi-identifiers, in memory."""
    found = labelled_tallies(release, range(attributes), MOST_JOINED + 1)
    if found.num_rows > MOST_JOINED:
        raise InputError(
            f"{WHAT}: {release.name} has more than {MOST_JOINED:,} classes; give fewer "
            "quasi-identifiers",
        )
    return ClassTally.read(found, len(release.quasi))


def labelled_tallies(release: LabelledRelease, attributes: Sequence[int], most: int) -> pa.Table:
    """At most so many rows of tallies, with the labels of the release's quasi-identifiers and the
    counts of the attributes at these places.
    """
    columns = [[release.labels.index(column) for column in q.columns] for q in release.quasi]
    read = list(dict.fromkeys(f"l{i}" for of_quasi in columns for i in of_quasi))
    values = [f"v{i}" for i in attributes]
    schema = tally_schema(len(columns), len(values))

    def label(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            labels = [published_label([batch[f"l{i}"] for i in of_quasi]) for of_quasi in columns]
            yield pa.RecordBatch.from_arrays([*labels, *batch.columns[len(read) :]], schema=schema)

    labelled = map_batches(select(release.tallies, [*read, *values, "n"]), label, schema)
    return collect(labelled, most)


def _boxes(
    release: LabelledRelease,
    tally: ClassTally,
    names: Sequence[str],
    people: Table,
    hierarchies: Mapping[str, Hierarchy],
    attributes: Sequence[JudgedAttribute],
) -> _Boxes:
    quasi = release.quasi
    what = f"{WHAT}: {release.name}"
    labels = [column.to_pylist() for column in tally.labels]
    require_covering(quasi, labels, hierarchies, what)
    places = [names.index(q.name) for q in quasi]
    own = rename(select(people, [f"q{i}" for i in places]), [f"q{i}" for i in range(len(places))])
    axes = label_axes(quasi, labels, hierarchies, own)
    low, high, owner = class_boxes(labels, axes, what)
    tuples = tally.tuples
    draw = np.random.default_rng(
        0,
    )  # classes get numbers whose sums tell sets of classes apart, but for one in 2^64
    figures = [
        draw.integers(-(1 << 63), (1 << 63) - 1, tuples.groups)[:, None],
        tuples.sizes[:, None],
    ]
    for a, texts in zip(attributes, tally.values, strict=False):
        code = pc.fill_null(
            pc.index_in(texts, value_set=pa.array(a.values, pa.string())),
            len(a.values),
        ).to_numpy()
        counts = np.zeros(
            (tuples.groups, len(a.values) + 1),
            dtype=np.int64,
        )  # the last: values that only others have
        np.add.at(counts, (tuples.owner, code[tuples.values]), tuples.counts)
        figures.append(counts[:, :-1])
    return _Boxes(axes, places, low, high, np.concatenate(figures, axis=1)[owner])


def _prior(a: JudgedAttribute) -> FloatArray:
    """The distribution of an attribute in the table, shape (values,)."""
    prior: FloatArray = np.asarray(a.distance.table / a.distance.table.sum(), dtype=np.float64)
    return prior


def _locate(boxes: Sequence[_Boxes], priors: Sequence[FloatArray], schema: pa.Schema) -> Mapper:
    """The combination of classes that each person fits, and what is left of each attribute."""
    width = max(one.figures.shape[1] for one in boxes)

    def locate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            step = max(1, MOST_FIGURES // width)
            for start in range(0, len(batch), step):
                yield of(batch.slice(start, step))

    def of(batch: pa.RecordBatch) -> pa.RecordBatch:
        *columns, people = batch.columns
        found = []
        for one in boxes:
            points = np.stack(
                [
                    axis_codes(axis, columns[i])
                    for axis, i in zip(one.axes, one.columns, strict=True)
                ],
                axis=1,
            )
            found.append(
                count_inside(points, people.to_numpy(), one.low, one.high, one.figures).records,
            )
        inside = np.all([each[:, 1] > 0 for each in found], axis=0)
        keys = [np.where(inside, each[:, 0], 0) for each in found]
        left = []
        beliefs = []
        place = 2
        for prior in priors:
            counts = [each[:, place : place + len(prior)] for each in found]
            place += len(prior)
            left.append(np.all([each > 0 for each in counts], axis=0).sum(axis=1))
            beliefs.append(largest_belief(counts, prior))
        weights = people.to_numpy()
        arrays = [
            *keys,
            np.where(inside, weights, 0),
            np.where(inside, 0, weights),
            *left,
            *beliefs,
        ]
        return pa.RecordBatch.from_arrays([pa.array(each) for each in arrays], schema=schema)

    return locate


def largest_belief(counts: Sequence[IntArray], prior: FloatArray) -> FloatArray:
    """The largest posterior of a value for each person, shape (people,); 0 if no value is left.

    The releases are taken as independent given the value, so the belief in v is proportional to the
    product of its shares over the releases, divided by prior(v) for every release beyond the first.

    counts: by release, the records with each value in the classes that the person fits, shape
        (people, values).

    >>> largest_belief([np.array([[1, 1]]), np.array([[3, 1]])], np.array([0.5, 0.5])).tolist()
    [0.75]
    """
    weights = np.where(prior > 0, 1 / np.where(prior > 0, prior, 1) ** (len(counts) - 1), 0)
    product: FloatArray = np.broadcast_to(weights, counts[0].shape)
    for each in counts:
        product = product * (each / np.maximum(each.sum(axis=1, keepdims=True), 1))
    total = product.sum(axis=1)
    most: FloatArray = np.divide(product.max(axis=1), np.where(total > 0, total, 1))
    return most


def _sums(combinations: Table, k: int | None, attributes: int) -> dict[str, int]:
    """The figures of all combinations."""
    of_attributes = [f"{name}{i}" for i in range(attributes) for name in ("certain", "none")]
    names = ["people", "outside", "combinations", "alone", "few", "below", *of_attributes]
    beliefs = [f"belief{i}" for i in range(attributes)]
    schema = pa.schema(
        [
            *((name, pa.int64()) for name in (*names, "smallest")),
            *((name, pa.float64()) for name in beliefs),
        ],
    )

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            people = batch["people"].to_numpy()
            outside = int(batch["outside"].to_numpy().sum())
            here = people > 0
            few = here & (people < (k or 0))
            figures = [
                people.sum(),
                outside,
                here.sum(),
                (people == 1).sum(),
                few.sum(),
                people[few].sum(),
            ]
            for i in range(attributes):
                left = batch[f"left{i}"].to_numpy()
                figures += [people[left == 1].sum(), people[left == 0].sum()]
            figures.append(people[here].min() if here.any() else None)
            most = [batch[name].to_numpy()[here].max(initial=0) for name in beliefs]
            arrays = [
                pa.array([x], field.type)
                for x, field in zip([*figures, *most], schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    found = collect(map_batches(combinations, add_up, schema))
    sums = {name: pc.sum(found[name]).as_py() or 0 for name in names}
    return {
        **sums,
        "smallest": pc.min(found["smallest"]).as_py(),
        **{b: pc.max(found[b]).as_py() or 0 for b in beliefs},
    }
