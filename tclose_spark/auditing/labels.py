"""How to read the labels of a table made by another tool: as numbers, intervals, nodes or sets,
with their loss.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

from tclose_spark.auditing.label_facts import LabelFacts, notes_on, notes_on_values, number_of
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.figures import PARTS
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.checks.labels.vocabulary import members, vocabulary_of
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.spark_types import is_unsupported
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.ranges import shows_nothing

MOST_KNOWN = 100_000  # labels that a task remembers
MOST_SHOWN = 3  # labels in a note


def judge_labels(
    tallies: Table,
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy],
    reference: Table | None = None,
) -> tuple[list[JudgedQuasi], list[str]]:
    """(the quasi-identifiers with the information loss of their labels, notes on labels that are
    not what they seem).

    The range of a numeric one is that of its labels, and of the reference's column if they have
    open ends. Without a hierarchy, a text is a value, `*` the whole domain, and `{a, b}` a set.
    With `generalization: set`, every other text is a value, also one that looks like a range.

    Raises:
        InputError: if the hierarchy lacks a label, or a bound is not a number.
    """
    found = _facts(tallies, len(question.labels))
    if reference is not None:
        _reach(dict(zip(question.labels, found, strict=True)), reference)
    facts = iter(found)
    quasi = []
    notes = []
    for name, columns in question.columns.items():
        column_facts = [next(facts) for _ in columns]
        one = column_facts[0]
        place = question.labels.index(columns[0])
        if len(columns) == 2:
            loss = LabelLoss(
                numeric=True, span=_span(name, column_facts), low=column_facts[0].low or Fraction(0)
            )
        elif name in hierarchies:
            unknown = _unknown(tallies, place, hierarchies[name])
            if unknown:
                raise InputError(
                    f"quasi-identifier {name!r}: its hierarchy lacks {unknown} labels; add a row "
                    "for each value"
                )
            loss = LabelLoss(numeric=False, hierarchy=hierarchies[name], foreign=True)
        else:
            declared = question.quasi_identifiers[name].generalization == "set"
            sets = declared or (one.sets and not one.numeric)
            loss = LabelLoss(
                numeric=one.numeric and not declared,
                span=one.span,
                low=one.low or Fraction(0),
                distinct=len(vocabulary_of(tallies, {place: members})[place].names) if sets else 0,
                sets=sets,
                foreign=True,
                alone=one.one_text is not None,
                understated=one.numeric and one.unbounded and not one.reached and not declared,
                unknown=bool(one.unclear) and not declared,
                bands={} if declared else dict(one.bands),
                unread=frozenset() if declared else frozenset(one.unread),
            )
            notes += notes_on_values(name, one) if declared else notes_on(name, one)
        quasi.append(
            JudgedQuasi(
                name,
                columns,
                loss,
                covers=not question.aggregates,
                missing_any=question.quasi_identifiers[name].missing == "any",
                builder=question.quasi_identifiers[name].builder,
            )
        )
    if question.aggregates:
        notes.append(
            "the run file publishes aggregates: their information loss is unknown, and the "
            "attacks assume an adversary who knows a person's class, because aggregates do not "
            "show whom they cover"
        )
    return quasi, notes


def _reach(facts: Mapping[str, LabelFacts], reference: Table) -> None:
    """Lets open ends reach as far as the numbers of the reference's column of the same name."""
    schema = schema_of(reference)
    known = [
        name
        for name in facts
        if name in schema.names and not is_unsupported(schema.field(name).type)
    ]
    known = [name for name in known if facts[name].unbounded]
    if known:
        for name, other in zip(
            known, _facts(tally_classes(reference, known, []), len(known)), strict=True
        ):
            facts[name].reach(other)


def _span(name: str, bounds: Sequence[LabelFacts]) -> Fraction:
    low = bounds[0]
    high = bounds[-1]
    texts = low.texts | high.texts | low.bins | high.bins
    if texts or low.intervals or high.intervals:
        what = f"texts ({number_of(texts)})" if texts else "intervals"
        raise InputError(
            f"quasi-identifier {name!r}: {what} are among its bounds; expected numbers"
        )
    return Fraction(0) if low.low is None or high.high is None else high.high - low.low


def _facts(tallies: Table, columns: int) -> list[LabelFacts]:
    """The facts of each column of labels, in one job. Each task sends at most 2 MOST_TEXTS labels
    per column.
    """
    labels = select(tallies, [f"l{i}" for i in range(columns)])
    facts_of = [LabelFacts() for _ in range(columns)]
    for sent in collect(map_batches(labels, _read_labels(columns), PARTS))["part"].to_pylist():
        for facts, more in zip(facts_of, pickle.loads(sent), strict=True):  # noqa: S301 - of our own tasks
            facts.merge(more)
    return facts_of


def _read_labels(columns: int) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        facts_of = [LabelFacts() for _ in range(columns)]
        seen: list[set[str]] = [set() for _ in range(columns)]
        for batch in batches:
            for facts, known, column in zip(facts_of, seen, batch.columns, strict=True):
                for label in column.unique().to_pylist():
                    if label is not None and label not in known:
                        facts.add(label)
                        if len(known) < MOST_KNOWN:
                            known.add(label)
        yield pa.RecordBatch.from_pydict({"part": [pickle.dumps(facts_of)]}, PARTS)

    return read


def _unknown(tallies: Table, place: int, hierarchy: Hierarchy) -> int:
    """How many labels are not in the hierarchy, without texts in place of `*`."""
    found = vocabulary_of(tallies, {place: lambda labels: set(labels) - hierarchy.labels})[
        place
    ].names
    return sum(not shows_nothing(label) for label in found)
