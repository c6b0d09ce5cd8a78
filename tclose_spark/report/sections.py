"""Sections of the reports: the verifier's figures of all classes as plots, tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from markupsafe import Markup

from tclose_spark.report.certificate.sections import Growth
from tclose_spark.report.page import percent
from tclose_spark.report.plots import Curve, bars, curves, lines, shortened
from tclose_spark.requirements.figures import (
    DistanceBin,
    FarthestClass,
    PrecisionBin,
    ShareBin,
    SizeBin,
)
from tclose_spark.requirements.words import Entry
from tclose_spark.table.writing import number

MOST_BARS = 28
STEP = 2 ** (1 / 4)  # least factor from one bar of class sizes to the next
MARKS = 5  # numbers below an axis, plus at most one
GUESSES = (0.5, 0.75, 0.9)
GAINS = (0.2, 0.5)


@dataclass(frozen=True, kw_only=True)
class PlotSection:
    """A plot and its facts in words."""

    title: str
    svg: Markup
    facts: str


@dataclass(frozen=True, kw_only=True)
class WorstClassSection:
    """The class farthest from the table in one attribute."""

    attribute: str
    plot: PlotSection
    entry: FarthestClass


@dataclass(frozen=True, kw_only=True)
class PrecisionSection:
    """The rows at each precision of a quasi-identifier. lines: (precision, rows, share of the
    rows).
    """

    name: str
    lines: Sequence[tuple[str, int, float]]

    def share(self, precision: str) -> float:
        """The share of the rows with this precision."""
        return sum(share for name, _, share in self.lines if name == precision)


@dataclass(frozen=True, kw_only=True)
class GuessingSection:
    """What an adversary who knows a person's class can guess about an attribute.

    certain: rows for which it is certain.
    right: (share, rows whose most frequent value has a larger share of their class).
    raised: (difference, rows whose class raises the belief in a value by more).
    """

    attribute: str
    certain: int
    right: Sequence[tuple[float, int]]
    raised: Sequence[tuple[float, int]]


def class_sizes(sizes: Sequence[SizeBin], smallest: int, largest: int) -> PlotSection:
    """The sizes of all classes: a bar for each size, or for each range of a constant factor.

    sizes: ascending.
    """
    rows = sum(each["rows"] for each in sizes)
    classes = sum(each["classes"] for each in sizes)
    groups = _joined(sizes)
    heights = [sum(each["classes"] for each in group) for group in groups]
    starts = [group[0]["from"] for group in groups]
    step = max(1, -(-len(starts) // MARKS))
    marks = [(float(i), number(start)) for i, start in enumerate(starts) if i % step == 0]
    middle = number(min(_first_with(sizes, "classes", classes / 2)["to"], largest))
    half = number(min(_first_with(sizes, "rows", rows / 2)["to"], largest))
    facts = (
        f"{number(classes)} classes, of {number(smallest)} to {number(largest)} rows. Half of the "
        f"classes have at most {middle} rows, and half of the rows are in classes of at most "
        f"{half}."
    )
    single = all(len(group) == 1 and group[0]["from"] == group[0]["to"] for group in groups)
    across = "rows in a class" if single else "least rows in a class (logarithmic)"
    svg = bars(heights, marks, f"Histogram of class sizes: {facts}", across, "classes")
    return PlotSection(title="Rows in a class", svg=svg, facts=facts)


def _joined(sizes: Sequence[SizeBin]) -> list[list[SizeBin]]:
    """Bins in groups: each size by itself if there are few, otherwise at most MOST_BARS groups of
    one factor, as far as the bins allow.
    """
    if len(sizes) <= MOST_BARS and all(each["from"] == each["to"] for each in sizes):
        return [[each] for each in sizes]
    factor = max(STEP, (sizes[-1]["from"] / sizes[0]["from"]) ** (1 / (MOST_BARS - 4)))
    groups = [[sizes[0]]]
    for each in sizes[1:]:
        if each["from"] >= groups[-1][0]["from"] * factor * 0.99:
            groups.append([each])
        else:
            groups[-1].append(each)
    return groups


def _first_with(
    bins: Sequence[SizeBin],
    what: Literal["classes", "rows"],
    many: float,
) -> SizeBin:
    """The first bin at which the running sum is so many."""
    passed = 0
    for each in bins:
        passed += each[what]
        if passed >= many:
            return each
    return bins[-1]


def closeness_of_all(name: str, emd: Sequence[DistanceBin], t: Entry) -> PlotSection:
    """The distances of all classes in an attribute, against its t."""
    classes = sum(each["classes"] for each in emd)
    top = max(each["bin"] for each in emd)
    farther = next((each for each in emd if "from" in each), None)
    width = next(
        (each["to"] / each["bin"] for each in emd if each["bin"] and each is not farther),
        1.0,
    )
    if farther is not None:
        width = farther["from"] / (farther["bin"] - 1)
    by_bin = {max(each["bin"], 1): 0 for each in emd}
    for each in emd:
        by_bin[max(each["bin"], 1)] += each["classes"]
    heights = [by_bin.get(i, 0) for i in range(1, max(top, 1) + 1)]
    limit = None if t["required"] is None else t["required"] / width
    end = max(len(heights), round(limit) if limit is not None else 0)
    marks = [(end * i / 4, number(end * i / 4 * width)) for i in range(5)]
    if farther is not None:
        marks[-1] = (end, "more")
    facts = f"The farthest class is {number(t['achieved'], t['required'])} from the table"
    if t["required"] is None:
        facts += "; no limit was required."
    else:
        near = _beyond(emd, 0.9 * t["required"], "classes")
        low = classes - _beyond(emd, 0.5 * t["required"], "classes")
        facts += (
            f"; {number(t['required'], t['achieved'])} is required. {percent(low / classes)} of "
            f"the classes are within half of that, and {percent(near / classes)} are beyond 90% of "
            "it."
        )
    description = f"Histogram of the distances of all classes, {name}: {facts}"
    svg = bars(heights, marks, description, "distance from the table", "classes", limit)
    return PlotSection(title=f"Distances of {name}", svg=svg, facts=facts)


def growth_of(growth: Sequence[Growth]) -> PlotSection:
    """How the distance grows with the number of attributes taken together (diminishing closeness;
    Weber, 2.4).

    growth: by number of attributes, the farthest class and the least distance of a class of its
        size.
    """
    found = [(float(i), one.achieved) for i, one in enumerate(growth, start=1)]
    least = [(float(i), float(Fraction(one.least))) for i, one in enumerate(growth, start=1)]
    facts = (
        f"The tuples of {' and '.join(growth[-1].attributes)} are {number(found[-1][1])} from "
        f"the table's in the farthest class, and those of {growth[0].attributes[0]} alone "
        f"{number(found[0][1])}. No class of {number(growth[-1].size)} rows can be nearer than "
        f"{number(least[-1][1])} to all of them."
    )
    both = [
        Curve("the farthest class", found, (), ()),
        Curve("the least that a class of its size can have", least, (), ()),
    ]
    marks = [
        (float(i), f"{i}: {shortened(one.attributes[-1])}") for i, one in enumerate(growth, start=1)
    ]
    description = f"Distance by number of sensitive attributes: {facts}"
    svg = curves(
        {"": both},
        marks,
        (),
        description,
        "attributes together, each with those before it",
        "distance",
    )
    return PlotSection(title="Several attributes together", svg=svg, facts=facts)


def _beyond(bins: Sequence[ShareBin], end: float, what: Literal["classes", "rows"]) -> int:
    """The sum over bins above this end."""
    return sum(each[what] for each in bins if each["to"] > end + 1e-9)


def worst_class(
    name: str,
    entry: FarthestClass,
    limit: float | None,
    whole: str,
) -> WorstClassSection:
    """The farthest class in an attribute. limit: the required t. whole: the table it is compared
    with, in words.
    """
    groups = entry.groups
    size = sum(each.part for each in groups)
    rows = sum(each.whole for each in groups)
    most = max(groups, key=lambda each: each.part / size - each.whole / rows)
    facts = (
        f"{percent(entry.moved)} of the class would have to move to have the distribution of "
        f"the {whole}. Weighted by distance, that is {number(entry.emd, limit)}. The largest "
        f"excess is {most.name}: {percent(most.part / size)} of the class, "
        f"{percent(most.whole / rows)} of the {whole}."
    )
    if entry.values > len(groups):
        facts += f" The {number(entry.values)} values are shown in {len(groups)} groups."
    svg = lines(
        [each.name for each in groups],
        [
            ("class", [each.part / size for each in groups]),
            ("table", [each.whole / rows for each in groups]),
        ],
        description=f"Shares of {name} in its farthest class and in the {whole}: {facts}",
        across="share of rows",
    )
    return WorstClassSection(
        attribute=name,
        plot=PlotSection(title=f"{name}: the farthest class", svg=svg, facts=facts),
        entry=entry,
    )


def precision_of(name: str, found: Sequence[PrecisionBin]) -> PrecisionSection:
    """The rows at each precision of a quasi-identifier."""
    rows = sum(each["rows"] for each in found)
    return PrecisionSection(
        name=name,
        lines=[(each["precision"], each["rows"], each["rows"] / rows) for each in found],
    )


def guessing_of(
    name: str,
    guess: Sequence[ShareBin],
    gain: Sequence[ShareBin],
    certain: int,
) -> GuessingSection:
    """What classes reveal about an attribute. guess, gain: see `ClassFigures`."""
    return GuessingSection(
        attribute=name,
        certain=certain,
        right=[(chance, _beyond(guess, chance, "rows")) for chance in GUESSES],
        raised=[(difference, _beyond(gain, difference, "rows")) for difference in GAINS],
    )
