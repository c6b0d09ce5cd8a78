"""How to read the labels of a table made by another tool: as numbers, intervals, nodes or sets, with their loss."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pyarrow as pa

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.figures import PARTS
from tclose_spark.checks.labels.vocabulary import members, vocabulary_of
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import (
    GENERALIZED,
    INFINITY,
    LabelLoss,
    as_interval,
    read_interval,
    set_members,
)
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

MOST_TEXTS = 2_000  # labels that are not numbers, and bins, that a task sends per column
MOST_KNOWN = 100_000  # labels that a task remembers


@dataclass(kw_only=True)
class LabelFacts:
    """Facts on the labels of one quasi-identifier.

    low, high: the smallest and largest end of numbers and intervals.
    texts: at most MOST_TEXTS of the other labels, without `*`.
    bins: at most MOST_TEXTS of the intervals in another tool's notation, such as `50s`.
    intervals: whether some are intervals in brackets.
    unbounded: whether some have only one end.
    sets: whether some are sets of values.
    unclear: a label that is not a number, and looks like a range or a mask.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    texts: set[str] = field(default_factory=set)
    bins: set[str] = field(default_factory=set)
    intervals: bool = False
    unbounded: bool = False
    sets: bool = False
    unclear: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the labels are numbers, intervals, bins and `*`. A text among intervals is a value, as is a bin among
        texts.
        """
        return self.low is not None and (self.intervals or not self.texts)

    @property
    def span(self) -> Fraction:
        """The range of its numbers."""
        return Fraction(0) if self.low is None or self.high is None else self.high - self.low

    def add(self, label: str) -> None:
        """Takes in one label."""
        if label == ROOT:
            return
        try:
            interval = read_interval(label)
        except ValueError:
            if len(self.texts) < MOST_TEXTS:
                self.texts.add(label)
            if GENERALIZED.match(label):
                self.unclear = min(label, self.unclear or label)
            self.sets |= len(set_members(label)) > 1
            return
        if as_interval(label) == label:
            self.intervals |= interval.low < interval.high
        elif len(self.bins) < MOST_TEXTS:
            self.bins.add(label)
        ends = [end for end in (interval.low, interval.high) if abs(end) != INFINITY]
        self.unbounded |= len(ends) < 2
        self._extend(*ends)

    def merge(self, other: LabelFacts) -> None:
        """Takes in the facts of other labels of the same column."""
        self._extend(*[end for end in (other.low, other.high) if end is not None])
        self.texts |= other.texts
        self.bins |= other.bins
        self.intervals |= other.intervals
        self.unbounded |= other.unbounded
        self.sets |= other.sets
        self.unclear = min(filter(None, (self.unclear, other.unclear)), default=None)

    def _extend(self, *numbers: Fraction) -> None:
        for number in numbers:
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)


def judge_labels(
    tallies: Table, question: AuditQuestion, hierarchies: Mapping[str, Hierarchy]
) -> tuple[list[JudgedQuasi], list[str]]:
    """(the quasi-identifiers with the information loss of their labels, notes on labels that are not what they seem).

    The range of a numeric one is that of its labels. Without a hierarchy, a text is a value, `*` the whole domain, and
    `{a, b}` a set.

    Raises:
        InputError: if the hierarchy lacks a label, or a bound is not a number.
    """
    facts = iter(_facts(tallies, len(question.labels)))
    quasi, notes = [], []
    for name, columns in question.columns.items():
        column_facts = [next(facts) for _ in columns]
        one, place = column_facts[0], question.labels.index(columns[0])
        if len(columns) == 2:
            loss = LabelLoss(numeric=True, span=_span(name, column_facts))
        elif name in hierarchies:
            unknown = _unknown(tallies, place, hierarchies[name])
            if unknown:
                raise InputError(
                    f"quasi-identifier {name!r}: its hierarchy lacks {unknown} labels; add a row for each value"
                )
            loss = LabelLoss(numeric=False, hierarchy=hierarchies[name])
        elif one.numeric:
            loss = LabelLoss(numeric=True, span=one.span, low=one.low or Fraction(0), foreign=True)
            notes += _notes(name, one)
        else:
            distinct = len(vocabulary_of(tallies, {place: members})[place].names) if one.sets else 0
            loss = LabelLoss(numeric=False, distinct=distinct, sets=one.sets, foreign=True)
            notes += _notes(name, one)
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
            "the run file publishes aggregates: their information loss is unknown, and the attacks assume an adversary "
            "who knows a person's class, because aggregates do not show whom they cover"
        )
    return quasi, notes


def _span(name: str, bounds: Sequence[LabelFacts]) -> Fraction:
    low, high = bounds[0], bounds[-1]
    texts = low.texts | high.texts | low.bins | high.bins
    if texts or low.intervals or high.intervals:
        what = f"texts ({_number(texts)})" if texts else "intervals"
        raise InputError(f"quasi-identifier {name!r}: {what} are among its bounds; expected numbers")
    return Fraction(0) if low.low is None or high.high is None else high.high - low.low


def _notes(name: str, facts: LabelFacts) -> list[str]:
    notes = []
    bins = set() if facts.numeric else facts.bins
    if facts.unclear is not None or bins:
        unclear = bins.union(t for t in facts.texts if GENERALIZED.match(t))
        notes.append(
            f"{name}: labels look generalized ({_number(unclear)}), but do not show how far: they count as values (no "
            "information lost); give a hierarchy to measure them"
        )
    if facts.numeric and facts.unbounded:
        notes.append(
            f"{name}: some labels have only one end, such as <20 or 80+; the information loss uses the lowest or "
            "highest number of all labels as the other, and ignores what is beyond"
        )
    if facts.numeric and facts.texts:
        notes.append(
            f"{name}: there are texts among intervals ({_number(facts.texts)}); they count as values (no information "
            "lost)"
        )
    spellings = count_spellings({member for text in facts.texts for member in set_members(text)})
    if spellings:
        notes.append(
            f"{name}: {spellings} of its labels differ from another only by case, spaces, width or Unicode form; they "
            "count as different labels"
        )
    return notes


def _number(texts: Collection[str]) -> str:
    """How many labels these are, as far as tasks sent them. None is shown: in a raw table they are raw values."""
    return "many" if not texts else f"{len(texts)}{' or more' if len(texts) >= MOST_TEXTS else ''}"


def _facts(tallies: Table, columns: int) -> list[LabelFacts]:
    """The facts of each column of labels, in one job. Each task sends at most 2 MOST_TEXTS labels per column."""
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
    """How many labels are not in the hierarchy."""
    known = hierarchy.leaf_set | set(hierarchy.leaves_under)
    return len(vocabulary_of(tallies, {place: lambda labels: set(labels) - known})[place].names)
