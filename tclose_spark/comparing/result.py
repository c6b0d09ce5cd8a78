"""The result of a comparison, as data: what became of each combination, which combinations no other
one beats, and what no release of the compared rows can lose less than, whatever the method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from tclose_spark.comparing.request import AS_ASKED, Combination
from tclose_spark.errors import GuaranteeError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.version import __version__

INTERNAL = "measured on raw rows: it stays inside"


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult:
    """The outcomes of all combinations. Internal: they are measured on raw rows.

    rows, whole: the number of rows compared on, and of the input.
    bounds: what no release can lose less than, by k and t.
    """

    name: str
    rows: int
    whole: int
    outcomes: tuple[Outcome, ...]
    bounds: tuple[LossBound, ...] = ()

    @property
    def best(self) -> list[bool]:
        """Whether each outcome is on the frontier."""
        return frontier(self.outcomes)

    @property
    def broken(self) -> list[Outcome]:
        """The releases that do not meet their requirements."""
        return [one for one in self.outcomes if one.state == "broken"]

    def require_all_hold(self) -> None:
        """Raises GuaranteeError if a release does not meet its requirements."""
        if self.broken:
            raise GuaranteeError(
                f"{len(self.broken)} releases do not meet their requirements, of methods: "
                f"{', '.join(dict.fromkeys(one.method for one in self.broken))}",
            )

    def to_json(self) -> dict[str, Any]:
        """As JSON, for machines."""
        return {
            "name": self.name,
            "tool": __version__,
            "note": INTERNAL,
            "rows": self.rows,
            "input_rows": self.whole,
            "bounds": [one.to_json() for one in self.bounds],
            "outcomes": [
                {**one.to_json(), "frontier": best}
                for one, best in zip(self.outcomes, self.best, strict=True)
            ],
        }


State = Literal["released", "broken", "coarse", "planned", "unreachable", "refused"]
"""What became of a combination.

released: carried out, and meets all requirements.
broken: carried out, and does not meet them, which is an error of the method.
coarse: carried out, and has labels coarser than `coarsest`; it would not be published.
planned: planned only.
unreachable: the method cannot reach the requirements on this table.
refused: the method does not support what the run file requires.
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a combination.

    why: the reason, of one that is unreachable, refused or too coarse.
    figures: of a release its `SampleFigures` and utility measures; of a plan its whole numbers.
    seconds: CPU seconds to plan and to carry out.
    """

    method: str
    k: int
    t: str
    state: State
    why: str = ""
    figures: Mapping[str, Any]
    seconds: float = 0.0

    @property
    def loss(self) -> float | None:
        """Information loss of a release; None if there is none."""
        return self.figures["ncp"] if self.state == "released" else None

    @property
    def exact_t(self) -> Fraction:
        """t as a number; 0 if it is AS_ASKED."""
        return Fraction(0) if self.t == AS_ASKED else Fraction(self.t)

    def to_json(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_json` wrote."""
        return Outcome(**tree)

    def __str__(self) -> str:
        named = f"{self.method}, k = {self.k}, {t_text(self.t)}"
        if self.state != "released":
            return f"{named}: {self.state}"
        loss = self.figures["ncp"]
        classes = self.figures["classes"]
        return (
            f"{named}: NCP {loss:.4f}, {classes:,} class{'' if classes == 1 else 'es'}, "
            f"{self.seconds:.1f} s of CPU"
        )


def t_text(t: str) -> str:
    """A t with its name."""
    return f"t {t}" if t == AS_ASKED else f"t = {t}"


def frontier(outcomes: Sequence[Outcome]) -> list[bool]:
    """Whether each is a release that no other one beats: none has as large a k, as small a t and as
    low a loss, and is better in one of the three.

    >>> three = [
    ...     Outcome(method="a", k=k, t=t, state="released", figures={"ncp": ncp})
    ...     for k, t, ncp in ((5, "0.1", 0.4), (5, "0.2", 0.4), (10, "0.2", 0.3))
    ... ]
    >>> frontier(three)  # the second loses as much as the first, which promises more
    [True, False, True]
    """
    places = [(-one.k, one.exact_t, one.loss) for one in outcomes]
    made = {place for place in places if place[2] is not None}
    return [place in made and not any(_beats(other, place) for other in made) for place in places]


def _beats(other: Sequence[Any], one: Sequence[Any]) -> bool:
    """Whether `other` is nowhere larger than `one`, and somewhere smaller."""
    return other != one and all(theirs <= ours for theirs, ours in zip(other, one, strict=True))


SECONDS = 20.0
"""The time limit of a bound. What is found by then holds."""


@dataclass(frozen=True, kw_only=True)
class LossBound:
    """No release at this k and t loses less. ncp: information loss as in `SampleFigures`."""

    k: int
    t: str
    ncp: float

    def to_json(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)

    def __str__(self) -> str:
        shown = math.floor(self.ncp * 1e4) / 1e4  # down, as a bound is
        return (
            f"k = {self.k}, {t_text(self.t)}: no release of these rows can lose less than NCP "
            f"{shown:.4f}"
        )


def bounded(combinations: Sequence[Combination]) -> list[Combination]:
    """A combination of each k and t that has a bound. Classes that are compared with the released
    rows have none if any may be suppressed, because they decide the distribution.
    """
    first: dict[tuple[int, str], Combination] = {}
    for one in combinations:
        if one.spec is not None and not (
            one.spec.privacy.of == "released" and one.spec.privacy.suppression_limit
        ):
            first.setdefault((one.k, one.t), one)
    return list(first.values())


def find_bound(
    combination: Combination,
    spec: ReleaseSpec,
    table: ComparedTable,
    hierarchies: Mapping[str, Hierarchy],
) -> LossBound:
    """The bound at the k and t of a combination. spec: its run file."""
    from tclose_spark.methods.exact.relaxation import lower_bound

    attributes = ResolvedAttributes.of(spec.attributes, table.profile, hierarchies, spec.privacy.n)
    attributes = attributes.for_methods(spec.privacy.joint)
    ncp = lower_bound(attributes, combination.k, table.rows, SECONDS)
    return LossBound(k=combination.k, t=combination.t, ncp=ncp)
