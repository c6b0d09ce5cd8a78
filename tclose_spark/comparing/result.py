"""The result of a comparison, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tclose_spark.comparing.bound import LossBound
from tclose_spark.comparing.outcome import Outcome, frontier
from tclose_spark.errors import GuaranteeError
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
                f"{', '.join(dict.fromkeys(one.method for one in self.broken))}"
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
