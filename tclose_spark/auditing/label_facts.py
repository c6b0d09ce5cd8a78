"""What is found among the labels of a column that another tool made, and what is noted of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from tclose_spark.auditing.result import LabelNote
from tclose_spark.measures.loss.bands import are_marks_unsure, read_bands, unread_numbers
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.hierarchies.hierarchy import ROOT
from tclose_spark.table.ranges import (
    INFINITY,
    as_interval,
    is_date,
    looks_generalized,
    read_interval,
    shows_nothing,
)

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
            (text for text in texts if len(texts) == 1 and shows_nothing(text, alone=True)), None
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
            "it is a lower bound; a --reference with this column has the other ends"
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
            "(no information lost)"
        )
    return notes + notes_on_values(name, facts)


def notes_on_values(name: str, facts: LabelFacts) -> list[str]:
    """What is noted of labels that are values, or sets of them."""
    notes: list[str] = []
    spellings = count_spellings({member for text in facts.texts for member in set_members(text)})
    if spellings:
        notes.append(
            f"{name}: {spellings} of its labels differ from another only by case, spaces, width or "
            "Unicode form; they count as different labels"
        )
    return notes
