"""The class table: one row for each equivalence class, with all that is required of it in exact figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import map_batches
from tclose_spark.measures import diversity, likeness
from tclose_spark.measures.disclosure import beliefs as attacks
from tclose_spark.measures.distances.ground_distances import GroundDistance, distance_of
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.loss.coarseness import Coarsest
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.arrays import BoolArray, IntArray, Mapper
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.domains import Counts, sensitive_domain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.tuple_codes import TupleCodes

EXACT = pa.decimal128(38, 0)


def measure_column(measure: str, attribute: str) -> str:
    """The class table's column of a measure. Dots and backticks in names, which Spark would interpret, become %2E
    and %60.
    """
    return f"{measure}_{attribute.replace('%', '%25').replace('.', '%2E').replace('`', '%60')}"


@dataclass(frozen=True)
class Classes:
    """Some classes, with sensitive values as codes.

    sizes: records of each class.
    tuples: histograms over the rows of `codes`.
    codes: shape (tuples, attributes), in the attributes' domains; tuples of attributes come last.
    marginals: by attribute, the histograms of its values.
    of_person: if people are counted, the two texts of each tuple that `people.PeopleTallies` describes.
    """

    sizes: IntArray
    tuples: Histograms
    codes: IntArray
    marginals: Mapping[str, Histograms]
    of_person: Sequence[pa.Array] = ()

    @staticmethod
    def of(tally: ClassTally, attributes: Sequence[JudgedAttribute]) -> Classes:
        """The classes of a tally, its text coded by the domains of the attributes. Tuples of attributes come last."""
        columns = [a for a in attributes if a.tuples is None]
        coded = [
            pc.index_in(text, value_set=pa.array(a.values, pa.string())).to_numpy(zero_copy_only=False).astype(np.int64)
            for text, a in zip(tally.values, columns, strict=False)
        ]
        of_columns = np.stack(coded, axis=1) if coded else np.zeros((1, 0), dtype=np.int64)
        coded += [a.tuples.encode(of_columns) for a in attributes if a.tuples is not None]
        tuples, groups = tally.tuples, tally.tuples.groups
        marginals = {
            a.name: Histograms.tally(tuples.owner, code[tuples.values], tuples.counts, groups, len(a.values))
            for a, code in zip(attributes, coded, strict=True)
        }
        codes = np.stack(coded, axis=1) if coded else np.zeros((1, 0), dtype=np.int64)
        return Classes(tuples.sizes, tuples, codes, marginals, tally.values[len(columns) :])


class ClassMeasure(Protocol):
    """Some columns of the class table."""

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of the columns."""
        ...

    def of(self, classes: Classes) -> list[pa.Array]:
        """The columns, one row for each class."""
        ...


@dataclass(frozen=True)
class JudgedAttribute:
    """A sensitive attribute to verify: its ordered domain, its distance from the whole table, its settings, and the
    hierarchy whose leaves the domain is, if it has one. If it is a tuple of other attributes (`tuples`), only its
    distance is measured.

    As a `ClassMeasure` it has these columns, each followed by its name:

    `emd_`, `entropy_`, `gain_`: EMD, entropy l, and the largest rise of the belief in a value, as doubles to read.
    `frequency_`, `beta_`, `delta_`, `divergence_`: frequency l, and the least beta, delta and KL divergence, likewise.
    `numerator_`: see `measures.distances.ground_distances`.
    `margin_`: with t = p/q, p * denominator - q * numerator; t holds if it is >= 0. 0 if no t is required.
    `distinct_`: different values.
    `mode_`: records with the most frequent value.
    `similar_`: whether all values are in one group of similar values, where there are several.
    `exact_entropy_`: if required; holds if it is >= 0.
    `recursive_margin_`: if required; holds if it is > 0.
    `exact_frequency_`, `exact_beta_`: if required; holds if it is >= 0.
    `likeness_numerator_`, `likeness_denominator_`: of the exact beta, if one is required.
    """

    name: str
    values: tuple[str | None, ...]
    distance: GroundDistance
    settings: SensitiveAttribute
    hierarchy: Hierarchy | None = None
    tuples: TupleCodes | None = None

    @property
    def unused(self) -> tuple[str | None, ...]:
        """Values of the domain that no row has."""
        return tuple(value for value, n in zip(self.values, self.distance.table, strict=True) if not n)

    def column(self, measure: str) -> str:
        """The class table's column of a measure of this attribute (see `measure_column`)."""
        return measure_column(measure, self.name)

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        columns = [
            ("emd", pa.float64()),
            ("numerator", EXACT),
            ("margin", EXACT),
        ]
        if self.tuples is None:
            columns += [
                ("distinct", pa.int64()),
                ("entropy", pa.float64()),
                ("mode", pa.int64()),
                ("gain", pa.float64()),
                ("similar", pa.bool_()),
                *((measure, pa.float64()) for measure in ("frequency", "beta", "delta", "divergence")),
            ]
        if self.settings.l.entropy is not None:
            columns.append(("exact_entropy", pa.float64()))
        if self.settings.l.recursive is not None:
            columns.append(("recursive_margin", EXACT))
        if self.settings.l.frequency is not None:
            columns.append(("exact_frequency", EXACT))
        if self.settings.beta is not None:
            columns += [("exact_beta", EXACT), ("likeness_numerator", EXACT), ("likeness_denominator", EXACT)]
        return [(self.column(measure), kind) for measure, kind in columns]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        return self.measured(classes.marginals[self.name])

    def measured(self, histogram: Histograms) -> list[pa.Array]:
        """The columns for classes with these histograms of its values."""
        settings = self.settings
        numerators = self.distance.numerators(histogram).astype(object)
        denominators = histogram.sizes.astype(object) * (self.distance.scale * int(self.distance.table.sum()))
        t = settings.t if settings.t is not None else Fraction(0)
        margin = t.numerator * denominators - t.denominator * numerators if settings.t is not None else 0 * denominators
        distances = [
            pa.array((numerators / denominators).astype(np.float64)),
            pa.array(numerators.tolist(), EXACT),
            _signed(margin),
        ]
        if self.tuples is not None:
            return distances
        gain = attacks.skewness(self.distance.table, histogram).numerators.astype(object) / (
            histogram.sizes.astype(object) * int(self.distance.table.sum())
        )
        most, table = np.maximum.reduceat(histogram.counts, histogram.starts), self.distance.table
        rises, units = likeness.largest_rises(table, histogram)
        known = (units != 0).astype(bool)
        arrays = [
            *distances,
            pa.array(diversity.distinct(histogram)),
            pa.array(diversity.entropy_l(histogram)),
            pa.array(most),
            pa.array(gain.astype(np.float64)),
            pa.array(self._similar(histogram)),
            pa.array(histogram.sizes / most),
            pa.array(np.where(known, rises / np.where(known, units, 1), np.inf).astype(np.float64)),
            pa.array(likeness.disclosure(table, histogram)),
            pa.array(likeness.divergence(table, histogram)),
        ]
        if settings.l.entropy is not None:
            arrays.append(pa.array(diversity.entropy_margins(histogram, settings.l.entropy)))
        if settings.l.recursive is not None:
            margins = diversity.recursive_margins(histogram, settings.l.recursive.c, settings.l.recursive.l)
            arrays.append(_signed(margins))
        if settings.l.frequency is not None:
            arrays.append(_signed(likeness.frequency_margins(histogram, settings.l.frequency)))
        if settings.beta is not None:
            arrays.append(_signed(likeness.likeness_margins(table, histogram, settings.beta)))
            arrays += [pa.array(part.tolist(), EXACT) for part in (rises, units)]
        return arrays

    def _similar(self, histogram: Histograms) -> BoolArray:
        """`similar_` of each class (Li et al. 2007, section 6)."""
        if not attacks.has_groups(self.distance):
            return np.zeros(histogram.groups, dtype=np.bool_)
        groups = attacks.value_groups(self.distance)
        several = len(np.unique(groups[self.distance.table > 0])) > 1
        first, last = histogram.starts, histogram.offsets[1:] - 1  # values ascend, and so do their groups
        alike: BoolArray = groups[histogram.values[first]] == groups[histogram.values[last]]
        return alike & several


def _signed(margins: Any) -> pa.Array:
    """Margins in 38 digits. Larger ones (a t with very many digits) are clipped, and keep their sign."""
    most = 10**38 - 1
    return pa.array([max(-most, min(most, margin)) for margin in margins.tolist()], EXACT)


def judged_attribute(
    name: str,
    settings: SensitiveAttribute,
    counts: Counts,
    hierarchy: Hierarchy | None,
    is_text: bool,
) -> JudgedAttribute:
    """A sensitive attribute with these counts of the whole table. is_text: whether its column has text.

    Raises:
        InputError: if a value has no place in the domain.
    """
    domain = sensitive_domain(name, counts, settings, hierarchy, is_text)
    distance = distance_of(settings, domain, hierarchy)
    return JudgedAttribute(name, domain.values, distance, settings, None if settings.kind.ordered else hierarchy)


@dataclass(frozen=True)
class JudgedQuasi:
    """A quasi-identifier to verify: its published columns (two for bounds), the loss and the limit of its labels.

    covers: whether labels cover the values of their rows. An aggregate does not, and its loss is unknown.
    levels: of its hierarchy in words, the values first; empty if they have no words.
    missing_any: whether a missing value could be any value: a missing label fits every person, and a person whose value
        is missing fits every label.
    builder: of its hierarchy, if that was built from the values of the table.
    """

    name: str
    columns: tuple[str, ...]
    loss: LabelLoss
    coarsest: Coarsest | None = None
    covers: bool = True
    levels: Sequence[str] = ()
    missing_any: bool = False
    builder: HierarchyBuilder | None = None

    def losses(self, labels: Sequence[pa.Array]) -> Any:
        """The information loss of each class, shape (classes,), from its published columns; NaN if unknown."""
        if not self.covers:
            return np.full(len(labels[0]), np.nan)
        group, first = group_equal(labels)
        distinct = zip(*(column.take(pa.array(first)).to_pylist() for column in labels), strict=True)
        of = self.loss.of_bounds if len(self.columns) == 2 else self.loss.of
        return np.array([float(of(*label)) for label in distinct])[group]


def class_fields(quasi: Sequence[JudgedQuasi]) -> list[pa.Field]:
    """The columns of a class table that come before those of its measures."""
    return [
        pa.field("quasi_identifiers", pa.struct([(name, pa.string()) for q in quasi for name in q.columns])),
        pa.field("size", pa.int64()),
        pa.field("loss", pa.float64()),
        pa.field("losses", pa.struct([(q.name, pa.float64()) for q in quasi])),
    ]


def class_table(
    tallies: Table,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    more: Sequence[ClassMeasure] = (),
) -> Table:
    """One row for each equivalence class: the records that share the published quasi-identifiers (NULL equals NULL).

    tallies: of the published columns of `quasi` and of `attributes` (see `tallies.tally_classes`).

    Columns: `quasi_identifiers` (a struct of the labels, as text), `size`, `loss` (the mean information loss), `losses`
        (a struct by quasi-identifier; NULL if unknown), and those of each measure: the attributes, and `more`.
    """
    measures = [*attributes, *more]
    schema = pa.schema([*class_fields(quasi), *[field for measure in measures for field in measure.fields()]])
    return map_batches(tallies, _measure(quasi, attributes, measures, schema), schema)


def _measure(
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    measures: Sequence[ClassMeasure],
    schema: pa.Schema,
) -> Mapper:
    columns = sum(len(q.columns) for q in quasi)

    def measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                tally = ClassTally.whole(batch, columns)
                classes = Classes.of(tally, attributes)
                published = iter(tally.labels)
                losses = [q.losses([next(published) for _ in q.columns]) for q in quasi]
                mean, *each = (pa.array(loss, from_pandas=True) for loss in (sum(losses) / len(losses), *losses))
                arrays = [
                    pa.StructArray.from_arrays(tally.labels, fields=list(schema.field("quasi_identifiers").type)),
                    pa.array(classes.sizes),
                    mean,
                    pa.StructArray.from_arrays(each, fields=list(schema.field("losses").type)),
                ]
                arrays += [column for measure in measures for column in measure.of(classes)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return measure
