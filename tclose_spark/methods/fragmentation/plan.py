"""The plan of fragmentation: search, size, and deal the fragments' rows to classes.

Any rows of a fragment may stand for each other, so classes take their share of each fragment where quasi-identifiers are near
(`dealing.numbering`, then GENERATE-CLASSES inside blocks of classes). Of the fragmentations that the search comes through, the
papers take the first whose bounds meet every t. Here many are looked at, and the one that loses least on the sample is taken:
few fragments leave rows free to choose and need large classes, many the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.domains import Profile
from tclose_spark.errors import UnreachableError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.dealing.nearest import classes_per_block
from tclose_spark.methods.dealing.numbering import ROWS_PER_TASK, Numbering
from tclose_spark.methods.dealing.plan import DealtPlan
from tclose_spark.methods.fragmentation.binning import bin_of
from tclose_spark.methods.fragmentation.charge import FragmentTable
from tclose_spark.methods.fragmentation.describe import largest_fragments
from tclose_spark.methods.fragmentation.measuring import join_until_close
from tclose_spark.methods.fragmentation.rulers import ruler
from tclose_spark.methods.fragmentation.search import SearchPath, find_fragmentation
from tclose_spark.methods.fragmentation.sizing import Candidate, conform_exactly, prove
from tclose_spark.methods.fragmentation.trials import Trials
from tclose_spark.methods.method import GroupCounts, Problem, Settled, require_rows
from tclose_spark.methods.sensitive import Attribute, attributes_of
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.rows import Rows
from tclose_spark.spec import ReleaseSpec

SAMPLE_ROWS = 20_000
DESCRIBED = 10  # of the chosen fragments, the largest, in words
CANDIDATES = 16  # fragmentations that are looked at, their numbers of fragments evenly spread in ratio


@dataclass(frozen=True)
class FragmentationPlan(DealtPlan):
    """See the module. measured: classes that break a t are joined with the next ones; codes: of each cell, for this."""

    attributes: tuple[Attribute, ...]
    codes: IntArray
    measured: bool
    chosen: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    largest: tuple[tuple[int, list[str]], ...] = ()
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"joined": "sum"}

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan."""
        dealt = self.numbering.deal(rows, task)
        stayed = rows.take(dealt.here)
        classes, joined = self.gathered(stayed, dealt.part, dealt.classes), 0
        if self.measured:
            classes, joined = join_until_close(self.attributes, self.codes[stayed.cell], classes, self.numbering.blocks(classes))
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
    spec = problem.spec
    require_rows(spec, problem.profile)
    attributes = attributes_of(spec, problem.profile, problem.hierarchies)
    path = search(problem, attributes)
    trials = Trials(problem, attributes)
    candidates = []
    for steps in _looked_at(problem, attributes, path):
        candidates.append(trials.lose(candidate(problem, attributes, path, steps)))
        problem.say(_say(candidates[-1], attributes))
    if problem.fragmentation.sizing == "measured":
        for c in candidates[::-1]:  # the many fragments of the last ones soon find a loss to beat
            best = min((done.loss for done in candidates if done.measured), default=1.0)
            candidates += trials.measure(c, best)
    chosen = min((c for c in candidates if c.measured == (problem.fragmentation.sizing == "measured")), key=lambda c: (c.loss, c.size))
    if problem.fragmentation.sizing == "proportional":
        candidates += trials.measure(chosen)
    groups = -(-chosen.classes // classes_per_block(chosen.size))
    numbering = Numbering.of(
        chosen.fragment_of, chosen.stack, chosen.classes, trials.locality, problem.sample, counts, rows_per_task, groups
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
        fragments = int(path.fragmentation(path.steps).max()) + 1
        way = (
            "raise method.most_fragments or a t"
            if fragments >= method.most_fragments
            else "there is nothing left to cut; give finer bins, or raise a t"
        )
        raise UnreachableError(
            f"{fragments:,} fragments have bounds of {reached}; {way}; sizing: measured, stack_and_deal and closeness_tree need no bounds"
        )
    return path


def _meet(bounds: Sequence[Any], thresholds: Sequence[Any]) -> bool:
    return all(t is None or bound <= t for bound, t in zip(bounds, thresholds, strict=True))


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
        return conform_exactly(matrix, fragment_of, table.rows, bounds, problem.spec.privacy.k)
    limits = np.array([np.inf if a.spec.t is None else float(a.spec.t) for a in attributes])
    return prove(matrix, fragment_of, table, bounds, limits, tuple(a.name for a in attributes), problem.spec.privacy.k)


def _say(c: Candidate, attributes: Sequence[Attribute]) -> str:
    bounds = ", ".join(f"{a.name} {bound:.4f}" for a, bound in zip(attributes, c.bounds, strict=True))
    return f"{c.fragments:,} fragments: bounds {bounds}; classes of {c.size:,} rows; loss on the sample {c.loss:.3f}"
