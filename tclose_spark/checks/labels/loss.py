"""The information loss of the labels of a release: over what they name, which is public, and over
the input, which is not.

Public figures are measured on the numbers, values and nodes that all published labels name, never
on the raw table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import MOST_VALUES, VALUES
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import (
    Coarsest,
    LabelLoss,
    NoLabelError,
    interval_ends,
    set_members,
)
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import FloatArray, Mapper
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.writing import listing


def published_columns(spec: ReleaseSpec) -> dict[str, tuple[str, ...]]:
    """The released columns of each quasi-identifier: itself, or its two bounds."""
    return {
        name: (f"{name}_min", f"{name}_max") if quasi.numeric_output == "bounds" else (name,)
        for name, quasi in spec.attributes.quasi_identifiers.items()
    }


def names_of_release(tallies: Table, spec: ReleaseSpec) -> dict[str, LabelVocabulary]:
    """What the labels of each quasi-identifier name."""
    quasi = spec.attributes.quasi_identifiers
    columns = [name for name, columns in published_columns(spec).items() for _ in columns]
    readers = [
        numbers
        if quasi[n].is_numeric
        else members
        if quasi[n].generalization == "set"
        else themselves
        for n in columns
    ]
    by_column = vocabulary_of(tallies, dict(enumerate(readers)))
    together: dict[str, LabelVocabulary] = {}
    for place, name in enumerate(columns):
        together[name] = by_column[place] | together[name] if name in together else by_column[place]
    return together


def judged_quasi(
    spec: ReleaseSpec,
    named: Mapping[str, LabelVocabulary],
    hierarchies: Mapping[str, Hierarchy],
    aggregates: Collection[str] = (),
) -> list[JudgedQuasi]:
    """The quasi-identifiers with the loss of their labels, over what all labels name or over a
    range in the run file. aggregates: those published as aggregates.
    """
    columns = published_columns(spec)
    judged = []
    for name, settings in spec.attributes.quasi_identifiers.items():
        loss = LabelLoss(
            numeric=settings.is_numeric,
            span=_span(settings, named[name]) if settings.is_numeric else Fraction(0),
            distinct=len(named[name].names),
            hierarchy=hierarchies.get(name),
            sets=settings.generalization == "set",
        )
        limit = Coarsest.of(settings, hierarchies.get(name))
        covers = name not in aggregates
        any_value = settings.missing == "any"
        judged.append(
            JudgedQuasi(name, columns[name], loss, limit, covers, any_value, settings.builder),
        )
    return judged


def _span(settings: QuasiIdentifier, named: LabelVocabulary) -> Fraction:
    """The range that interval lengths are divided by: that of the run file, else that of all
    labels.
    """
    limits = settings.limits
    return named.span if limits is None else limits[1] - limits[0]


def measured_on(
    spec: ReleaseSpec,
    named: Mapping[str, LabelVocabulary],
    hierarchies: Mapping[str, Hierarchy],
    domains: Sequence[QuasiDomain],
) -> dict[str, dict[str, object]]:
    """For the certificate, what each quasi-identifier's loss is divided by; nothing if it is not
    measured or follows from a given hierarchy. The leaves of a built hierarchy are the table's own
    values, so only the number of leaves below published labels is reported. If missing values may
    be any value, also how many rows of the input have none.
    domains: the input's.
    """
    quasi_identifiers = spec.attributes.quasi_identifiers
    missing = {q.name: q.missing for q in domains if quasi_identifiers[q.name].missing == "any"}
    measured: dict[str, dict[str, object]] = {
        name: {"missing_rows": missing[name]} if name in missing else {} for name in named
    }
    for name, of_labels in named.items():
        quasi = quasi_identifiers[name]
        if name in spec.aggregates:
            continue
        if quasi.builder is not None:
            below = hierarchies[name].leaves_under
            nodes = sorted(of_labels.names & below.keys() - hierarchies[name].leaf_set)
            measured[name] |= {"leaves": listing([[node, below[node]] for node in nodes], "below")}
        elif quasi.is_numeric:
            measured[name] |= {"span": str(_span(quasi, of_labels))}
        elif quasi.generalization == "set":
            measured[name] |= {"named": len(of_labels.names)}
    return measured


@dataclass(frozen=True)
class LossByInput:
    """The loss of a class in a quasi-identifier over the input's range or values (a `Loss`).

    label: its published column, or the first of two.
    wider: the range of the labels divided by that of the input.
    """

    name: str
    label: str
    wider: float

    def of(self, classes: pa.RecordBatch) -> FloatArray:
        """See Loss."""
        losses = classes["losses"].field(self.name).to_numpy()
        everything = pc.fill_null(
            pc.equal(classes["quasi_identifiers"].field(self.label), ROOT),
            False,
        )
        widened: FloatArray = np.where(
            everything.to_numpy(zero_copy_only=False),
            1.0,
            np.minimum(1.0, losses * self.wider),
        )
        return widened


def losses_without_far(quasi: Sequence[JudgedQuasi], profile: Profile) -> list[LossByInput]:
    """The loss of each quasi-identifier with `far` numbers over the range without them."""
    columns = {q.name: q.columns[0] for q in quasi}
    return [LossByInput(one.column, columns[one.column], one.times) for one in profile.far]


def losses_by_input(quasi: Sequence[JudgedQuasi], profile: Profile) -> list[LossByInput]:
    """The loss by quasi-identifier over the input's range and values. Internal: with the labels it
    would reveal the range.
    """
    losses = []
    for q, domain in zip(quasi, profile.quasi, strict=True):
        if not q.covers:
            continue
        ours = Fraction(1)
        its = Fraction(1)
        if q.loss.numeric:
            ours = q.loss.span
            its = (Fraction(str(domain.high)) - Fraction(str(domain.low))) / domain.scale
        elif q.loss.sets:
            ours = Fraction(q.loss.distinct)
            its = Fraction(domain.present)
        losses.append(LossByInput(q.name, q.columns[0], float(ours / its) if its else 0.0))
    return losses


Reader = Callable[[Collection[str]], Iterable[str]]
"""From distinct labels, without `*` and missing ones, to what they name."""


def numbers(labels: Collection[str]) -> list[str]:
    """The smallest and the largest number among the ends of numeric labels, exactly.

    Raises:
        NoLabelError: if one is neither a number nor an interval.
    """
    try:
        ends = [end for label in labels for end in interval_ends(label.strip())]
    except ValueError:
        raise NoLabelError("neither a number nor an interval") from None
    return [str(min(ends)), str(max(ends))] if ends else []


def members(labels: Collection[str]) -> set[str]:
    """The members of sets, and the other labels themselves."""
    return {member for label in labels for member in set_members(label)}


def themselves(labels: Collection[str]) -> Collection[str]:
    """Values and nodes name themselves."""
    return labels


@dataclass(frozen=True)
class LabelVocabulary:
    """What the labels of a quasi-identifier name. suppressed: whether all labels are `*`."""

    names: frozenset[str]
    suppressed: bool

    def __or__(self, other: LabelVocabulary) -> LabelVocabulary:
        """What both name together."""
        return LabelVocabulary(self.names | other.names, self.suppressed and other.suppressed)

    @property
    def span(self) -> Fraction:
        """From the smallest to the largest number; 0 without numbers."""
        ends = [Fraction(name) for name in self.names]
        return max(ends) - min(ends) if ends else Fraction(0)


def vocabulary_of(tallies: Table, readers: Mapping[int, Reader]) -> dict[int, LabelVocabulary]:
    """What the labels `l<i>` of tallies name, for each i of `readers`. One job; tasks send distinct
    names only.

    Raises:
        InputError: if they name more than a driver holds.
    """
    read = map_batches(
        select(tallies, [f"l{i}" for i in readers]),
        _read(list(readers.values())),
        VALUES,
    )
    counted = collect(combine(read, ["place", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if counted.num_rows > MOST_VALUES:
        raise InputError(
            f"the labels name more than {MOST_VALUES:,} values in all; use coarser ones",
        )
    names: dict[int, set[str | None]] = {i: set() for i in readers}
    order = list(readers)
    for place, name in zip(counted["place"].to_pylist(), counted["value"].to_pylist(), strict=True):
        names[order[place]].add(name)
    return {
        i: LabelVocabulary(frozenset(n for n in found if n not in (None, ROOT)), found == {ROOT})
        for i, found in names.items()
    }


def _read(readers: Sequence[Reader]) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names: list[set[str | None]] = [set() for _ in readers]
        for batch in batches:
            for found, reader, column in zip(names, readers, batch.columns, strict=True):
                labels = set(column.unique().to_pylist())
                found |= labels & {None, ROOT}
                found.update(reader(labels - {None, ROOT}))
        for place, found in enumerate(names):
            rows = [place] * len(found), list(found), [1] * len(found)  # n counts tasks
            yield pa.RecordBatch.from_pydict(dict(zip(VALUES.names, rows, strict=True)), VALUES)

    return read
