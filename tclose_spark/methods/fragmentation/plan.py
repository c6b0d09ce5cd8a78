"""The plan of fragmentation: search, size, and deal the fragments' rows to classes.

Any rows of a fragment may stand for each other, so classes take their share of each fragment where quasi-identifiers are near
(`dealing.numbering`, then GENERATE-CLASSES inside blocks of classes). Of the fragmentations that the search comes through, the
papers take the first whose bounds meet every t. Here many are looked at, and the one that loses least on the sample is taken:
few fragments leave rows free to choose and need large classes, many the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.domains import Profile, SensitiveDomain, number
from tclose_spark.errors import UnreachableError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.bins import by_edges, equal_mass, equal_width
from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.dealing.locality import Locality, choose_locality, deal_sample, information_loss, label_widths, make_digits
from tclose_spark.methods.dealing.nearest import classes_per_block, deal_sample_near, gather_near
from tclose_spark.methods.dealing.numbering import ROWS_PER_TASK, Numbering
from tclose_spark.methods.fragmentation.charge import FragmentTable
from tclose_spark.methods.fragmentation.describe import largest_fragments
from tclose_spark.methods.fragmentation.measuring import breaking, join_until_close
from tclose_spark.methods.fragmentation.rulers import ruler
from tclose_spark.methods.fragmentation.search import SearchPath, find_fragmentation
from tclose_spark.methods.fragmentation.sizing import Candidate, conform_exactly, prove
from tclose_spark.methods.method import GroupCounts, Problem, Settled
from tclose_spark.methods.sensitive import Attribute, attributes_of
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.rows import Rows
from tclose_spark.spec import Bins, ReleaseSpec

SAMPLE_ROWS = 20_000
HOPELESS = 0.02  # of the classes may break a t before near rows are gathered; with more of them it is not tried
DESCRIBED = 10  # of the chosen fragments, the largest, in words
CANDIDATES = 16  # fragmentations that are looked at, their numbers of fragments evenly spread in ratio


@dataclass(frozen=True)
class FragmentationPlan:
    """See the module. measured: classes that break a t are joined with the next ones; codes: of each cell, for this."""

    numbering: Numbering
    widths: QuasiWidths
    attributes: tuple[Attribute, ...]
    codes: IntArray
    measured: bool
    chosen: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    largest: tuple[tuple[int, list[str]], ...] = ()
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"joined": "sum"}

    @property
    def tasks(self) -> int:
        """See Plan."""
        return self.numbering.tasks

    @property
    def blocks(self) -> int:
        """See Plan: here, the tasks."""
        return self.tasks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return self.numbering.route(rows)

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan."""
        dealt = self.numbering.deal(rows, task)
        stayed = rows.take(dealt.here)
        key, block = self.numbering.locality.key(stayed), self.numbering.blocks(dealt.classes)
        classes, joined = gather_near(stayed, dealt.part, dealt.classes, block, key, self.widths), 0
        if self.measured:
            classes, joined = join_until_close(self.attributes, self.codes[stayed.cell], classes)
        return Settled(dealt.here, classes, figures={"joined": joined})

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        return {"classes_joined": int(figures["joined"])} if self.measured else {}

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return self.numbering.to_json() | {
            "measured": self.measured,
            "fragment_of": self.numbering.part_of.tolist(),
            "fragments": len(self.numbering.stack.counts),
            "largest_fragments": [{"rows": rows, "values": values} for rows, values in self.largest],
            "candidates": [
                {
                    "fragments": c.fragments,
                    "bounds": c.bounds,
                    "order": c.order,
                    "class_size": c.size,
                    "classes": c.classes,
                    "proven": None if c.measured else c.proven,
                    "smallest": c.smallest,
                    "loss_on_sample": c.loss,
                    "measured": c.measured,
                    "chosen": c is self.chosen,
                }
                for c in self.candidates
            ],
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any], spec: ReleaseSpec, profile: Profile, hierarchies: Mapping[str, Hierarchy]) -> FragmentationPlan:
        """The plan that `to_json` wrote, for the run it was made for (the candidates are left out)."""
        part_of = np.array(tree["fragment_of"], dtype=np.int64)
        counts = np.bincount(part_of, profile.cell_table).astype(np.int64)
        return FragmentationPlan(
            Numbering.from_json(tree, part_of, counts),
            QuasiWidths(spec, profile, hierarchies),
            tuple(attributes_of(spec, profile, hierarchies)),
            profile.cell_codes,
            tree["measured"],
        )


def make_plan(problem: Problem, counts: GroupCounts, rows_per_task: int = ROWS_PER_TASK) -> FragmentationPlan:
    """Plans fragmentation. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: if k is larger than the table, or the search ends without a fragmentation whose bounds meet every t.
    """
    spec, k = problem.spec, problem.spec.privacy.k
    if problem.profile.rows < k:
        raise UnreachableError(f"privacy.k is {k}, but the table has {problem.profile.rows} rows; no class of {k} can be made")
    attributes = attributes_of(spec, problem.profile, problem.hierarchies)
    path = search(problem, attributes)
    sample = Sample(problem, attributes)
    candidates = []
    for steps in _looked_at(problem, attributes, path):
        candidates.append(sample.lose(candidate(problem, attributes, path, steps)))
        problem.say(_say(candidates[-1], attributes))
    if problem.fragmentation.sizing == "measured":
        for c in candidates[::-1]:  # the many fragments of the last ones soon find a loss to beat
            best = min((done.loss for done in candidates if done.measured), default=1.0)
            candidates += sample.measure(c, best)
    chosen = min((c for c in candidates if c.measured == (problem.fragmentation.sizing == "measured")), key=lambda c: (c.loss, c.size))
    if problem.fragmentation.sizing == "proportional":
        candidates += sample.measure(chosen)
    groups = -(-chosen.classes // classes_per_block(chosen.size))
    numbering = Numbering.of(
        chosen.fragment_of, chosen.stack, chosen.classes, sample.locality, problem.sample, counts, rows_per_task, groups
    )
    return FragmentationPlan(
        numbering,
        QuasiWidths(spec, problem.profile, problem.hierarchies),
        tuple(attributes),
        problem.profile.cell_codes,
        chosen.measured,
        chosen,
        tuple(candidates),
        tuple(
            largest_fragments(
                problem.profile.matrix, chosen.fragment_of, problem.profile.sensitive, attributes, problem.hierarchies, DESCRIBED
            )
        ),
    )


def search(problem: Problem, attributes: Sequence[Attribute]) -> SearchPath:
    """The search's path: the papers' until the bounds meet every t, else on to the most fragments that are allowed.

    Raises:
        UnreachableError: if the time is over, or the bounds are above a t at the end and have to meet it.
    """
    method = problem.fragmentation
    as_papers = method.bounds == "paper" or method.sizing == "gcd"
    thresholds = [a.spec.t for a in attributes]
    path = find_fragmentation(
        problem.profile.matrix,
        [ruler(a.distance) for a in attributes],
        thresholds,
        kind=method.bounds,
        objective="hinge" if as_papers else "steepest",
        bins={a.column: bin_of(problem.profile.sensitive[a.column], a.spec.bins) for a in attributes if a.spec.bins is not None},
        stop=(lambda bounds, _: _meet(bounds, thresholds)) if as_papers else None,
        most=method.most_fragments,
        limit=float(method.search_seconds),
        progress=lambda fragments, worst: problem.say(f"{fragments:,} fragments, worst bound {worst:.2f} times its t"),
    )
    if method.sizing != "measured" and not _meet(path.exact_bounds[-1], thresholds):
        reached = ", ".join(
            f"{float(b):.4f} for {a.name} (asked: {float(a.spec.t):g})"
            for b, a in zip(path.exact_bounds[-1], attributes, strict=True)
            if a.spec.t
        )
        raise UnreachableError(
            f"{path.steps + 1:,} fragments have bounds of {reached}; raise method.most_fragments or a t, or give finer bins where there "
            "are bins; sizing: measured, stack_and_deal and closeness_tree need no bounds"
        )
    return path


def _meet(bounds: Sequence[Any], thresholds: Sequence[Any]) -> bool:
    return all(t is None or bound <= t for bound, t in zip(bounds, thresholds, strict=True))


def bin_of(domain: SensitiveDomain, bins: Bins) -> IntArray:
    """The bin of each value of an ordered attribute, shape (m,); missing values have one of their own."""
    known = [i for i, value in enumerate(domain.values) if value is not None]
    numbers = [found for i in known if (found := number(str(domain.values[i]))) is not None]
    if bins.equal_mass is not None:
        inside = equal_mass(domain.table[known], bins.equal_mass)
    elif bins.equal_width is not None:
        inside = equal_width(numbers, bins.equal_width)
    else:
        inside = by_edges(numbers, bins.edges or ())
    bin_numbers = np.zeros(len(domain.values), dtype=np.int64)
    bin_numbers[known] = inside + known[0]  # missing ones are the lowest or the highest
    if known[-1] + 1 < len(bin_numbers):
        bin_numbers[-1] = bin_numbers[-2] + 1
    return bin_numbers


def _looked_at(problem: Problem, attributes: Sequence[Attribute], path: SearchPath) -> list[int]:
    """Steps of the path whose fragmentations are looked at: those that meet every t, or all where distances are measured."""
    thresholds, method = [a.spec.t for a in attributes], problem.fragmentation
    if method.bounds == "paper" or method.sizing == "gcd":
        return [path.steps]
    first = 0
    if method.sizing == "proportional":
        first = next(i for i, bounds in enumerate(path.exact_bounds) if _meet(bounds, thresholds))
    return sorted({int(f) - 1 for f in np.geomspace(first + 1, path.steps + 1, CANDIDATES).round()})


def candidate(problem: Problem, attributes: Sequence[Attribute], path: SearchPath, steps: int) -> Candidate:
    """The fragmentation after so many steps of a search, and the class size that is proven for it."""
    matrix, fragment_of, method = problem.profile.matrix, path.fragmentation(steps), problem.fragmentation
    boxes = path.boxes(steps) if method.bounds == "paper" else None
    table = FragmentTable.of(matrix, fragment_of, [a.distance for a in attributes], boxes)
    bounds = tuple(float(b) for b in path.exact_bounds[steps])
    if method.sizing == "gcd":
        return conform_exactly(matrix, fragment_of, table, bounds, problem.spec.privacy.k)
    limits = np.array([np.inf if a.spec.t is None else float(a.spec.t) for a in attributes])
    return prove(matrix, fragment_of, table, bounds, limits, tuple(a.name for a in attributes), problem.spec.privacy.k)


class Sample:
    """The sample, dealt from fragmentations to see what they lose and what they reach."""

    def __init__(self, problem: Problem, attributes: Sequence[Attribute]) -> None:
        self._rows, self._k = problem.sample, problem.spec.privacy.k
        self._labels = label_widths(problem.spec, problem.profile, problem.hierarchies)
        self._widths = QuasiWidths(problem.spec, problem.profile, problem.hierarchies)
        self._codes = problem.profile.cell_codes[problem.sample.cell]
        self._attributes = [
            replace(a, distance=replace(a.distance, table=np.bincount(self._codes[:, a.column], minlength=len(a.distance.table))))  # type: ignore[type-var]
            for a in attributes
        ]
        self.locality = Locality(make_digits(problem.profile.quasi, problem.sample))

    def lose(self, c: Candidate) -> Candidate:
        """A candidate with what its classes lose."""
        if not self.locality.order:
            part = c.fragment_of[self._rows.cell]
            self.locality = choose_locality(self.locality, self._rows, part, c.stack, c.size, self._labels)
        return replace(c, loss=information_loss(self._rows, self._deal(c, c.size), self._labels))

    def measure(self, c: Candidate, best: float = 1.0) -> list[Candidate]:
        """A candidate with classes of the least size, of those tried, at which no class of the sample breaks a t.

        None where that loses more than `best`.
        """
        part = c.fragment_of[self._rows.cell]
        for size in _sizes(self._k, len(self._rows)):
            dealt = deal_sample(self.locality, self._rows, part, c.stack, size)
            if breaking(self._attributes, self._codes, dealt).mean() > HOPELESS:
                continue
            classes = self._deal(c, size)
            loss = information_loss(self._rows, classes, self._labels)
            if loss > best:
                return []
            if not breaking(self._attributes, self._codes, classes).any():
                return [c.resized(size, loss)]
        return []

    def _deal(self, c: Candidate, size: int) -> IntArray:
        return deal_sample_near(self.locality, self._rows, c.fragment_of[self._rows.cell], c.stack, size, self._widths)


def _sizes(smallest: int, rows: int) -> Iterator[int]:
    """Class sizes to try, about a sixteenth apart; last, one class of all rows."""
    size = smallest
    while size < rows:
        yield size
        size += max(size // 16, 1)
    yield rows


def _say(c: Candidate, attributes: Sequence[Attribute]) -> str:
    bounds = ", ".join(f"{a.name} {bound:.4f}" for a, bound in zip(attributes, c.bounds, strict=True))
    return f"{c.fragments:,} fragments: bounds {bounds}; classes of {c.size:,} rows; loss on the sample {c.loss:.3f}"
