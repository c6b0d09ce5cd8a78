"""What became of a combination, as it is kept and shown; and which of them no other one beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from tclose_spark.compare.asked import AS_ASKED

State = Literal["released", "broken", "planned", "unreachable", "refused"]
STATES: Mapping[State, str] = {
    "released": "carried out, and holds what is asked",
    "broken": "carried out, and does not hold what is asked: an error of the method",
    "planned": "planned only",
    "unreachable": "cannot be reached by this method on this table",
    "refused": "the method does not make what the run file asks",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a combination.

    why: of one that is unreachable or refused.
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
        return (
            f"{named}: NCP {self.figures['ncp']:.4f}, {self.figures['classes']:,} classes, {self.seconds:.1f} s of CPU"
        )


def said(t: str) -> str:
    """A t in words."""
    return f"t {t}" if t == AS_ASKED else f"t = {t}"


def frontier(outcomes: Sequence[Outcome]) -> list[bool]:
    """Of each whether it is a release that no other one beats: none promises as much (k as large, t as small) at a
    loss as low, and is better in one of them.

    >>> three = [
    ...     Outcome(method="a", k=k, t=t, state="released", figures={"ncp": ncp})
    ...     for k, t, ncp in ((5, "0.1", 0.4), (5, "0.2", 0.4), (10, "0.2", 0.3))
    ... ]
    >>> frontier(three)  # the second costs as much as the first, which promises more
    [True, False, True]
    """
    made = [(-one.k, one.asked, one.loss) for one in outcomes if one.loss is not None]
    return [
        one.loss is not None
        and not any(
            other != (-one.k, one.asked, one.loss)
            and other[0] <= -one.k
            and other[1] <= one.asked
            and other[2] <= one.loss
            for other in made
        )
        for one in outcomes
    ]
