"""What the labels of a table that another tool made say: numbers, intervals, nodes, sets, and how much each one
loses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.auditing.question import Question
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.vocabulary import members, vocabulary_of
from tclose_spark.errors import InputError
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.measures.loss.information_loss import (
    GENERALIZED,
    INFINITY,
    LabelLoss,
    as_interval,
    read_interval,
    set_members,
)
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

MOST_TEXTS = 2_000  # labels that are no numbers, that a task sends of each column
MOST_KNOWN = 100_000  # labels that a task remembers to have seen
FACTS = (
    "quasi int, low string, high string, texts array<string>, bins array<string>, intervals boolean, "
    "unbounded boolean, sets boolean, unclear string"
)


@dataclass(kw_only=True)
class LabelFacts:
    """What the labels of one quasi-identifier have in common.

    low, high: of those that are numbers or intervals.
    texts: the others, apart from `*` (at most MOST_TEXTS of them).
    bins: those that are intervals in another tool's words, such as `50s` (at most MOST_TEXTS of them).
    intervals: some are intervals in brackets.
    unbounded: some have one end only.
    sets: some are sets of values.
    unclear: one that is no number, and looks like a range or a mask.
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
        """Labels are numbers, intervals and bins of them, and `*`. A text among intervals is a value; a bin among texts
        is one, too.
        """
        return self.low is not None and (self.intervals or not self.texts)

    @property
    def span(self) -> Fraction:
        """The range of its numbers."""
        return Fraction(0) if self.low is None or self.high is None else self.high - self.low

    def see(self, label: str) -> None:
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
        for end in (interval.low, interval.high):
            if abs(end) == INFINITY:
                self.unbounded = True
            else:
                self.low = end if self.low is None else min(self.low, end)
                self.high = end if self.high is None else max(self.high, end)


def judged_quasi(
    tallies: DataFrame, question: Question, hierarchies: Mapping[str, Hierarchy]
) -> tuple[list[JudgedQuasi], list[str]]:
    """The quasi-identifiers with what their labels lose, and notes on labels that are not what they seem.

    A numeric one's range is that of its labels. Without a hierarchy a text is a value, `*` the whole domain, `{a, b}` a
    set.

    Raises:
        InputError: if a label is no node of the hierarchy, or a bound no number.
    """
    facts = iter(_facts(tallies, len(question.labels)))
    quasi, notes = [], []
    for name, columns in question.columns.items():
        column_facts = [next(facts) for _ in columns]
        if len(columns) == 2:
            loss = LabelLoss(numeric=True, span=_span(name, column_facts))
        elif name in hierarchies:
            unknown = _unknown(tallies, question.labels.index(name), hierarchies[name])
            if unknown:
                raise InputError(
                    f"quasi-identifier {name!r}: its hierarchy lacks {unknown} labels; add a row for each value"
                )
            loss = LabelLoss(numeric=False, hierarchy=hierarchies[name])
        elif column_facts[0].numeric:
            loss = LabelLoss(
                numeric=True, span=column_facts[0].span, low=column_facts[0].low or Fraction(0), foreign=True
            )
            notes += _notes(name, column_facts[0])
            if column_facts[0].texts:
                notes.append(
                    f"{name}: texts stand among intervals ({_number(column_facts[0].texts)}), and count as values (no "
                    "information lost)"
                )
        else:
            column = question.labels.index(name)
            distinct = len(vocabulary_of(tallies, {column: members})[column].names) if column_facts[0].sets else 0
            loss = LabelLoss(numeric=False, distinct=distinct, sets=column_facts[0].sets, foreign=True)
            notes += _notes(name, column_facts[0])
        quasi.append(JudgedQuasi(name, columns, loss, covers=not question.aggregates))
    if question.aggregates:
        notes.append(
            "the run file has aggregates published: what they lose is unknown, and the attacks are those of who is "
            "told a person's class, since no aggregate says whom it covers"
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
            f"{name}: labels look generalized ({_number(unclear)}), and "
            "nothing says how far: they count as values (no information lost); give a hierarchy to measure them"
        )
    if facts.numeric and facts.unbounded:
        notes.append(
            f"{name}: some labels have one end only, as <20 or 80+ would; the information loss takes the lowest or the "
            "highest number of all labels for the other, and leaves out what lies beyond"
        )
    spellings = count_spellings({member for text in facts.texts for member in set_members(text)})
    if spellings:
        notes.append(
            f"{name}: {spellings} of its labels differ from another by case, blanks, width or Unicode form only, and "
            "are labels of their own"
        )
    return notes


def _number(texts: Collection[str]) -> str:
    """How many labels these are, of which a task sends at most MOST_TEXTS. None is shown: in a table that is no release
    they are raw values.
    """
    return "many" if not texts else f"{len(texts)}{' or more' if len(texts) >= MOST_TEXTS else ''}"


def _facts(tallies: DataFrame, columns: int) -> list[LabelFacts]:
    """The facts of each column of labels. One job; a task sends as much as MOST_TEXTS labels a column."""
    picked = tallies.select(*[F.col(f"l{i}") for i in range(columns)])
    facts_of = [LabelFacts() for _ in range(columns)]
    for row in map_batches(picked, _see_labels(columns), FACTS).toArrow().to_pylist():
        facts = facts_of[row["quasi"]]
        for end in (row["low"], row["high"]):
            if end is not None:
                facts.see(end)
        facts.texts |= set(row["texts"])
        facts.bins |= set(row["bins"])
        facts.intervals |= row["intervals"]
        facts.unbounded |= row["unbounded"]
        facts.sets |= row["sets"]
        facts.unclear = min(filter(None, (facts.unclear, row["unclear"])), default=None)
    return facts_of


def _see_labels(columns: int) -> Mapper:
    def see(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        facts_of = [LabelFacts() for _ in range(columns)]
        seen: list[set[str]] = [set() for _ in range(columns)]
        for batch in batches:
            for facts, known, column in zip(facts_of, seen, batch.columns, strict=True):
                for label in column.unique().to_pylist():
                    if label is not None and label not in known:
                        facts.see(label)
                        if len(known) < MOST_KNOWN:
                            known.add(label)
        for i, facts in enumerate(facts_of):
            row = {
                "quasi": i,
                "low": None if facts.low is None else str(facts.low),
                "high": None if facts.high is None else str(facts.high),
                "texts": sorted(facts.texts),
                "bins": sorted(facts.bins),
                "intervals": facts.intervals,
                "unbounded": facts.unbounded,
                "sets": facts.sets,
                "unclear": facts.unclear,
            }
            kinds = {int: pa.int32(), list: pa.list_(pa.string()), bool: pa.bool_()}
            yield pa.RecordBatch.from_pydict(
                {k: pa.array([v], kinds.get(type(v), pa.string())) for k, v in row.items()}
            )

    return see


def _unknown(tallies: DataFrame, column: int, hierarchy: Hierarchy) -> int:
    """How many labels are neither a leaf nor a node."""
    labels = hierarchy.leaf_set | set(hierarchy.leaves_under)

    def strangers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lost = [
                label for label in batch.column(0).unique().to_pylist() if label is not None and label not in labels
            ]
            yield pa.RecordBatch.from_pydict({"label": pa.array(lost, pa.string())})

    return map_batches(tallies.select(F.col(f"l{column}").alias("label")), strangers, "label string").distinct().count()
