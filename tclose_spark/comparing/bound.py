"""What no release of the compared rows can lose less than, whatever the method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tclose_spark.comparing.outcome import t_text
from tclose_spark.comparing.request import Combination
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.exact.relaxation import lower_bound
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

SECONDS = 20.0
"""The time limit of a bound. What is found by then holds."""


@dataclass(frozen=True, kw_only=True)
class LossBound:
    """No release at this k and t loses less. ncp: information loss as in `SampleFigures`."""

    k: int
    t: str
    ncp: float

    def to_json(self) -> dict[str, Any]:
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
    attributes = ResolvedAttributes.of(spec.attributes, table.profile, hierarchies, spec.privacy.n)
    attributes = attributes.for_methods(spec.privacy.joint)
    ncp = lower_bound(attributes, combination.k, table.rows, SECONDS)
    return LossBound(k=combination.k, t=combination.t, ncp=ncp)
