"""How to read the labels of a table made by another tool: as numbers, intervals, nodes or sets,
with their loss.

What is found among the labels of a column decides it, and is noted.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import pyarrow as pa

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import LabelNote
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.figures import PARTS
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.checks.labels.loss import members, vocabulary_of
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.bands import are_marks_unsure, read_bands, unread_numbers
from tclose_spark.measures.loss.information_loss import LabelLoss, set_members
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.spark_types import is_unsupported
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import (
    INFINITY,
    as_interval,
    is_date,
    looks_generalized,
    read_interval,
    shows_nothing,
)

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
                numeric=True,
                span=_span(name, column_facts),
                low=column_facts[0].low or Fraction(0),
            )
        elif name in hierarchies:
            unknown = _unknown(tallies, place, hierarchies[name])
            if unknown:
                raise InputError(
                    f"quasi-identifier {name!r}: its hierarchy lacks {unknown} labels; add a row "
                    "for each value",
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
            ),
        )
    if question.aggregates:
        notes.append(
            "the run file publishes aggregates: their information loss is unknown, and the "
            "attacks assume an adversary who knows a person's class, because aggregates do not "
            "show whom they cover",
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
            known,
            _facts(tally_classes(reference, known, []), len(known)),
            strict=True,
        ):
            facts[name].reach(other)


def _span(name: str, bounds: Sequence[LabelFacts]) -> Fraction:
    low = bounds[0]
    high = bounds[-1]
    texts = low.texts | high.texts | low.bins | high.bins
    if texts or low.intervals or high.intervals:
        what = f"texts ({number_of(texts)})" if texts else "intervals"
        raise InputError(
            f"quasi-identifier {name!r}: {what} are among its bounds; expected numbers",
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


MOST_TEXTS = 2_000  # labels that are not numbers, and bins, that a task sends per column


@dataclass(kw_only=True)
class LabelFacts:
    """Facts on the labels of one quasi-identifier.

    least, most: the smallest and largest end of numbers and intervals, and of bins beyond
        MOST_TEXTS.
    texts: at most MOST_TEXTS of the other labels, without `*`.
    bins: at most MOST_TEXTS of the ranges in another form than intervals, such as `50s`.
    intervals: whether some are intervals in brackets.
    endless: whether some of these numbers and intervals have only one end.
    sets: whether some are sets of values.
    units: of time, that ranges are in; "year" if they name none.
    dates: at most MOST_TEXTS of those that are dates.
    reached: whether open ends reach as far as the numbers of a reference.
    """

    least: Fraction | None = None
    most: Fraction | None = None
    texts: set[str] = field(default_factory=set)
    bins: set[str] = field(default_factory=set)
    intervals: bool = False
    endless: bool = False
    sets: bool = False
    units: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    reached: bool = False

    @property
    def bands(self) -> Mapping[str, str]:
        """The labels that follow one another, as intervals; nothing if more texts are beside
        them.
        """
        if self.sets or self.of_spreadsheet or max(len(self.texts), len(self.bins)) >= MOST_TEXTS:
            return {}
        found = read_bands(frozenset(self._worded))
        return found if len(found) >= len(self.texts - found.keys()) else {}

    @property
    def low(self) -> Fraction | None:
        """The smallest end of all numbers and ranges."""
        ends = [self.least, self._ranges.low]
        return min((end for end in ends if end is not None), default=None)

    @property
    def high(self) -> Fraction | None:
        """The largest end of all numbers and ranges."""
        ends = [self.most, self._ranges.high]
        return max((end for end in ends if end is not None), default=None)

    @property
    def unbounded(self) -> bool:
        """Whether some labels have only one end."""
        return self.endless or self._ranges.endless

    @property
    def numeric(self) -> bool:
        """Whether the labels are numbers, ranges in one unit and `*`. A text among as many ranges
        is a value. A bin among more texts is none.
        """
        if self.bands:
            return True
        ranges = self.low is not None and (
            self.intervals or not self.texts or len(self.bins) >= len(self.texts)
        )
        return ranges and len(self.units) < 2 and not self.of_spreadsheet

    @property
    def of_spreadsheet(self) -> bool:
        """Whether dates are among bins: a spreadsheet reads `5-9` as one."""
        return bool(self.dates) and any(
            not re.search("[0-9]-[0-9]", as_interval(one)) for one in self.bins
        )

    @property
    def one_text(self) -> str | None:
        """The only label of the column, if it shows nothing."""
        texts = self.texts if self.low is None and not self.bins else set[str]()
        return next(
            (text for text in texts if len(texts) == 1 and shows_nothing(text, alone=True)),
            None,
        )

    @property
    def unread(self) -> set[str]:
        """Texts that hold numbers, and are neither bands nor codes, nor look generalized."""
        if self.sets or self.bands:  # beside sets, texts are values
            return set()
        found = unread_numbers(self._worded, self.texts)
        return {text for text in found if not looks_generalized(text)}

    @property
    def unclear(self) -> set[str]:
        """Labels that look generalized, or hold numbers, and do not show how far they reach."""
        texts = {text for text in self.texts - self.bands.keys() if not shows_nothing(text)}
        masks = {text for text in texts if looks_generalized(text)} | (texts & self.unread)
        no_range = (self.unbounded and self.span == 0) or (
            not self.bands and are_marks_unsure(self.bins)
        )
        return masks if self.numeric and not no_range else masks | self.bins | self.bands.keys()

    @property
    def span(self) -> Fraction:
        """The range of its numbers."""
        low = self.low
        high = self.high
        return Fraction(0) if low is None or high is None else high - low

    @property
    def _worded(self) -> set[str]:
        """The labels that are more than a number or an interval."""
        return self.texts | self.bins

    @property
    def _ranges(self) -> Extent:
        return extent_of(frozenset(self.bands.values() or self.bins))

    def add(self, label: str) -> None:
        """Takes in one label."""
        if label == ROOT:
            return
        if is_date(label) and len(self.dates) < MOST_TEXTS:
            self.dates.add(label)
        try:
            interval = read_interval(label)
        except ValueError:
            if len(self.texts) < MOST_TEXTS:
                self.texts.add(label)
            self.sets |= len(set_members(label)) > 1
            return
        is_range = interval.low < interval.high
        if is_range:
            self.units.add(interval.unit or "year")
        meant = as_interval(label)
        is_bin = (
            meant != label and len({end.strip() for end in meant.strip("[]() ").split(",")}) == 2
        )
        if is_bin and len(self.bins) < MOST_TEXTS:
            self.bins.add(label)
            return
        self.intervals |= is_range and not is_bin
        ends = [end for end in (interval.low, interval.high) if abs(end) != INFINITY]
        self.endless |= len(ends) < 2
        self._extend(*ends)

    def merge(self, other: LabelFacts) -> None:
        """Takes in the facts of other labels of the same column."""
        self._extend(*[end for end in (other.least, other.most) if end is not None])
        for name in ("texts", "bins", "intervals", "endless", "sets", "units", "dates"):
            setattr(self, name, getattr(self, name) | getattr(other, name))

    def reach(self, other: LabelFacts) -> None:
        """Open ends reach as far as these other numbers of the column."""
        if self.unbounded and other.low is not None and other.high is not None:
            self._extend(other.low, other.high)
            self.reached = True

    def _extend(self, *numbers: Fraction) -> None:
        for number in numbers:
            self.least = number if self.least is None else min(self.least, number)
            self.most = number if self.most is None else max(self.most, number)


@dataclass(frozen=True)
class Extent:
    """The smallest and the largest end of ranges, and whether some have only one end."""

    low: Fraction | None
    high: Fraction | None
    endless: bool


@lru_cache(maxsize=64)
def extent_of(ranges: frozenset[str]) -> Extent:
    """The extent of these ranges."""
    intervals = [read_interval(label) for label in ranges]
    ends = [end for one in intervals for end in (one.low, one.high)]
    finite = [end for end in ends if abs(end) != INFINITY]
    return Extent(min(finite, default=None), max(finite, default=None), len(finite) < len(ends))


def number_of(texts: Collection[str]) -> str:
    """How many labels these are, as far as tasks sent them."""
    return "many" if not texts else f"{len(texts)}{' or more' if len(texts) >= MOST_TEXTS else ''}"


def notes_on(name: str, facts: LabelFacts) -> list[str]:
    """What is noted of the labels of a quasi-identifier."""
    notes: list[str] = []
    help_ = f"its information loss is unknown; give --hierarchy {name}=FILE"
    if facts.of_spreadsheet:
        said = (
            f"{name}: dates are among ranges of numbers ({number_of(facts.dates)}{{}}): a "
            "spreadsheet makes them of "
        )
        said += f"labels such as 5-9; {help_}, or export the column as text"
        notes.append(LabelNote.showing(said, facts.dates))
    elif facts.unread:
        said = (
            f"{name}: labels hold numbers ({number_of(facts.unread)}{{}}), and are neither codes "
            "nor bands that "
        )
        said += f"follow one another: {help_}"
        notes.append(LabelNote.showing(said, facts.unread))
    elif facts.unclear:
        why = " (they are in several units of time)" if len(facts.units) > 1 else ""
        if facts.numeric and facts.unbounded:
            help_ += ", or a --reference with this column, whose numbers are then the other ends"
        said = (
            f"{name}: labels look generalized ({number_of(facts.unclear)}{{}}), but do not show "
            f"how far{why}: {help_}"
        )
        notes.append(LabelNote.showing(said, facts.unclear))
    elif facts.numeric and facts.unbounded and not facts.reached:
        notes.append(
            f"{name}: some labels have only one end, such as <20 or 80+; the information loss uses "
            "the lowest or highest number of all labels as the other, and ignores what is beyond: "
            "it is a lower bound; a --reference with this column has the other ends",
        )
    if facts.one_text is not None:
        said = f"{name}: its one text{{}} stands for values that were removed; it counts as *"
        notes.append(LabelNote.showing(said, {facts.one_text}))
    values = (
        {text for text in facts.texts if not shows_nothing(text)}
        - facts.unclear
        - facts.bands.keys()
    )
    if facts.numeric and values:
        notes.append(
            f"{name}: there are texts among intervals ({number_of(values)}); they count as values "
            "(no information lost)",
        )
    return notes + notes_on_values(name, facts)


def notes_on_values(name: str, facts: LabelFacts) -> list[str]:
    """What is noted of labels that are values, or sets of them."""
    notes: list[str] = []
    spellings = count_spellings({member for text in facts.texts for member in set_members(text)})
    if spellings:
        notes.append(
            f"{name}: {spellings} of its labels differ from another only by case, spaces, width or "
            "Unicode form; they count as different labels",
        )
    return notes
