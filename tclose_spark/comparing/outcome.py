"""What became of a combination, as it is kept and shown; and which of them no other one beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from tclose_spark.comparing.request import AS_ASKED

State = Literal["released", "broken", "coarse", "planned", "unreachable", "refused"]
STATES: Mapping[State, str] = {
    "released": "carried out, and holds what is asked",
    "broken": "carried out, and does not hold what is asked: an error of the method",
    "coarse": "carried out, and has labels that are coarser than coarsest: it would not be published",
    "planned": "planned only",
    "unreachable": "cannot be reached by this method on this table",
    "refused": "the method does not make what the run file asks",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a combination.

    why: of one that is unreachable, refused or too coarse.
    figures: of a release (`measuring.Figures`), and what it is worth; of a plan its whole numbers.
    seconds: of CPU, to plan and to carry out.
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
        """Information loss, of a release that holds."""
        return self.figures["ncp"] if self.state == "released" else None

    @property
    def asked(self) -> Fraction:
        """t as a number, to be compared; 0 where those of the run file are taken."""
        return Fraction(0) if self.t == AS_ASKED else Fraction(self.t)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_json` wrote."""
        return Outcome(**tree)

    def __str__(self) -> str:
        named = f"{self.method}, k = {self.k}, {said(self.t)}"
        if self.state != "released":
            return f"{named}: {self.state}"
        loss, classes = self.figures["ncp"], self.figures["classes"]
        return f"{named}: NCP {loss:.4f}, {classes:,} classes, {self.seconds:.1f} s of CPU"


def said(t: str) -> str:
    """A t in words."""
    return f"t {t}" if t == AS_ASKED else f"t = {t}"


def frontier(outcomes: Sequence[Outcome]) -> list[bool]:
    """Of each whether it is a release that no other one beats: none promises as much (k as large, t as small) at a
    loss as low, and is better in one of the three.

    >>> three = [
    ...     Outcome(method="a", k=k, t=t, state="released", figures={"ncp": ncp})
    ...     for k, t, ncp in ((5, "0.1", 0.4), (5, "0.2", 0.4), (10, "0.2", 0.3))
    ... ]
    >>> frontier(three)  # the second costs as much as the first, which promises more
    [True, False, True]
    """
    places = [(-one.k, one.asked, one.loss) for one in outcomes]
    made = {place for place in places if place[2] is not None}
    return [place in made and not any(_beats(other, place) for other in made) for place in places]


def _beats(other: Sequence[Any], one: Sequence[Any]) -> bool:
    """Whether it is as small in everything, and smaller in something."""
    return other != one and all(theirs <= ours for theirs, ours in zip(other, one, strict=True))
