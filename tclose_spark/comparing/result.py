"""A comparison: every combination, those that are finished already aside, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclose_spark.comparing.outcome import Outcome, frontier
from tclose_spark.comparing.request import Combination
from tclose_spark.comparing.store import ComparisonStore
from tclose_spark.comparing.trial import run_trial
from tclose_spark.errors import GuaranteeError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.usefulness.utility_measures import UtilityMeasures
from tclose_spark.version import __version__

PLAN = "plan"
"""The variant of a comparison that only plans."""
INTERNAL = "measured on raw rows: it stays inside"


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """What was compared, and what became of it. Jupyter shows its page. Internal: it is measured on raw rows.

    rows: that it was compared on, of `whole` rows of the input.
    """

    name: str
    rows: int
    whole: int
    outcomes: tuple[Outcome, ...]

    @property
    def best(self) -> list[bool]:
        """Of each outcome whether it is on the frontier."""
        return frontier(self.outcomes)

    @property
    def broken(self) -> list[Outcome]:
        """The releases that do not hold what is asked."""
        return [one for one in self.outcomes if one.state == "broken"]

    def require_all_hold(self) -> None:
        """Raises GuaranteeError if a release does not hold what is asked, after all the others were made."""
        if self.broken:
            raise GuaranteeError(
                f"{len(self.broken)} releases do not hold what is asked, of methods: "
                f"{', '.join(dict.fromkeys(one.method for one in self.broken))}"
            )

    def __repr__(self) -> str:
        from tclose_spark.comparing.remarks import of_accuracy
        from tclose_spark.comparing.views import comparison_table

        table, notes = comparison_table(self)
        return printed([table, *notes, *of_accuracy(self)])

    def _repr_html_(self) -> str:
        from tclose_spark.comparing.page import render_page
        from tclose_spark.comparing.remarks import remarks

        return in_frame(render_page(self, remarks(self))[0], "Comparison")

    def to_json(self) -> dict[str, Any]:
        """As JSON, for machines."""
        return {
            "name": self.name,
            "tool": __version__,
            "note": INTERNAL,
            "rows": self.rows,
            "input_rows": self.whole,
            "outcomes": [
                {**one.to_json(), "frontier": best} for one, best in zip(self.outcomes, self.best, strict=True)
            ],
        }


def carry_out_all(
    asked: Sequence[Combination],
    kept: ComparisonStore,
    table: Callable[[], ComparedTable],
    hierarchies: Mapping[str, Hierarchy],
    worth_of: Callable[[ComparedTable], UtilityMeasures],
    variant: str,
    announce: Callable[[str], None],
) -> list[Outcome]:
    """The outcome of each combination; of one that is kept that which is kept.

    table: the rows, for which there may be no need. hierarchies: those of files.
    variant: how releases are planned and measured (see `ComparisonStore`).
    """
    found = [kept.outcome(combination, variant) for combination in asked]
    missing = [combination for combination, outcome in zip(asked, found, strict=True) if outcome is None]
    if len(missing) < len(asked):
        announce(f"compare    {len(asked) - len(missing)} of {len(asked)} combinations are finished already")
    if not missing:
        return [outcome for outcome in found if outcome is not None]
    compared = table()
    hierarchies = {**hierarchies, **compared.built}
    worth = UtilityMeasures() if variant == PLAN else worth_of(compared)
    made = {}
    for number, combination in enumerate(missing, start=len(asked) - len(missing) + 1):
        outcome = run_trial(combination, compared, hierarchies, worth, variant == PLAN)
        kept.keep(combination, variant, outcome)
        made[id(combination)] = outcome
        announce(f"compare    {number} of {len(asked)}: {outcome}")
    return [made[id(c)] if outcome is None else outcome for c, outcome in zip(asked, found, strict=True)]
