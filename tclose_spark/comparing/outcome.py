"""What became of each combination, and which combinations no other one beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from tclose_spark.comparing.request import AS_ASKED

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

    def to_json(self) -> dict[str, Any]:
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
