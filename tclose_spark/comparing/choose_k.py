"""`privacy.k: auto`: the k that costs least in privacy and information together (Gowda 2023,
chapter 6).

The dissertation makes classes for k = 2 to l - 1 by Stack & Deal, where l is the number of
sensitive values. Here the method of the run makes them on a sample, at the t and l of the run. With
several sensitive attributes, l is the fewest values of any attribute, and t the largest distance in
any of them.

For classes formed for each k, with t the largest distance of a class and i their information loss,
both 0 to 1,

    C = alpha * t + (1 - alpha) * i

is the cost of a k; the best k costs least. The dissertation leaves open how to measure i (here:
NCP) and how to break ties (here: the larger k, which promises more). t is often some hundredths and
i some tenths, so bring both to the same range first (`normalised`) for alpha to weigh as intended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose_spark.comparing.request import AS_ASKED, Combination
from tclose_spark.comparing.result import Outcome
from tclose_spark.comparing.trial import run_trial
from tclose_spark.errors import ConfigurationError, GuaranteeError, UnreachableError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.usefulness.utility_measures import UtilityMeasures

SAMPLE_ROWS = 20_000
MOST_CANDIDATES = 40  # more are thinned to this many, in equal proportions


@dataclass(frozen=True, kw_only=True)
class CandidateK:
    """A k that was tried: the largest distance of a class, NCP, and the cost of both, as they are
    and normalised.
    """

    k: int
    t: float
    loss: float
    cost: float
    normalised: float


@dataclass(frozen=True, kw_only=True)
class ChosenK:
    """The k that was chosen, and the candidates.

    best_normalised: the k with the least normalised cost.
    rows: of the sample.
    """

    k: int
    alpha: str
    best_normalised: int
    rows: int
    candidates: tuple[CandidateK, ...]

    def to_json(self) -> dict[str, object]:
        """As JSON, for the record of the run."""
        return asdict(self)

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> ChosenK:
        """The choice that `to_json` wrote."""
        tried = [CandidateK(**one) for one in tree["candidates"]]
        return ChosenK(**{**tree, "candidates": tuple(tried)})


def candidates_of(table: ComparedTable) -> list[int]:
    """The k to try: 2 to one less than the number of sensitive values.

    Raises:
        ConfigurationError: if there are none.
    """
    values = min(sum(n > 0 for n in domain.counts) for domain in table.profile.sensitive)
    last = min(values - 1, len(table.rows))
    if last < 2:
        raise ConfigurationError(
            "privacy.k: auto chooses from 2 to one less than the number of sensitive values, "
            f"which is {values}; give a number",
        )
    if last - 1 <= MOST_CANDIDATES:
        return list(range(2, last + 1))
    return sorted({round(k) for k in np.geomspace(2, last, MOST_CANDIDATES).tolist()})


def choose_k(
    spec: ReleaseSpec,
    table: ComparedTable,
    hierarchies: Mapping[str, Hierarchy],
    log: Callable[[str], None],
) -> ChosenK:
    """The best k of a run on this table.

    Raises:
        ConfigurationError: if there is nothing to choose from, or the method refuses the run file.
        UnreachableError: if no k can be reached.
        GuaranteeError: if classes do not meet their requirements, which is an error of the method.
    """
    made: list[tuple[int, Outcome]] = []
    failed = None
    for k in candidates_of(table):
        combination = Combination(method=spec.method.name, k=k, t=AS_ASKED, spec=spec.with_k(k))
        outcome = run_trial(combination, table, hierarchies, UtilityMeasures(), plan_only=False)
        if outcome.state == "refused":
            raise ConfigurationError(outcome.why)
        if outcome.state == "broken":
            raise GuaranteeError(
                f"privacy.k: auto: with k = {k}, classes of {combination.method} do not meet their "
                "requirements",
            )
        if outcome.state == "released":
            made.append((k, outcome))
        else:
            failed = outcome
    if not made:
        why = failed.why if failed else ""
        raise UnreachableError(f"privacy.k: auto: no k can be reached; {why}")
    assert spec.privacy.alpha is not None
    chosen = choose_from(made, spec.privacy.alpha, len(table.rows))
    log(
        f"k = {chosen.k}, the least of {spec.privacy.alpha} t + {1 - spec.privacy.alpha} NCP for k "
        f"= {made[0][0]} to {made[-1][0]} on {chosen.rows:,} rows (with both normalised: "
        f"{chosen.best_normalised})",
    )
    return chosen


def choose_from(made: list[tuple[int, Outcome]], alpha: Fraction, rows: int) -> ChosenK:
    """The k of the release that costs least. made: releases by k. rows: of the sample."""
    ks = [k for k, _ in made]
    t = [_largest(outcome.figures) for _, outcome in made]
    loss = [outcome.figures["ncp"] for _, outcome in made]
    cost = costs(t, loss, float(alpha)).tolist()
    scaled = costs(normalised(t).tolist(), normalised(loss).tolist(), float(alpha)).tolist()
    candidates = tuple(
        CandidateK(k=k, t=of_t, loss=of_loss, cost=c, normalised=n)
        for k, of_t, of_loss, c, n in zip(ks, t, loss, cost, scaled, strict=True)
    )
    return ChosenK(
        k=best_k(ks, cost),
        alpha=str(alpha),
        best_normalised=best_k(ks, scaled),
        rows=rows,
        candidates=candidates,
    )


def _largest(figures: Mapping[str, Any]) -> float:
    """The largest distance of a class, the suppressed rows included if they form one."""
    return float(
        max(map(Fraction, [*figures["emd"].values(), *figures.get("suppressed_emd", {}).values()])),
    )


FloatArray = NDArray[np.float64]


def costs(t: Sequence[float], loss: Sequence[float], alpha: float) -> FloatArray:
    """C of each k, shape (ks,).

    >>> costs([0.1, 0.05], [0.3, 0.5], alpha=0.5).tolist()
    [0.2, 0.275]
    """
    cost: FloatArray = alpha * np.array(t, dtype=np.float64) + (1 - alpha) * np.array(
        loss,
        dtype=np.float64,
    )
    return cost


def normalised(figures: Sequence[float]) -> FloatArray:
    """Figures scaled to 0 (the smallest) to 1 (the largest), shape (ks,); all 0 if they are equal.

    >>> normalised([0.5, 0.25, 1.0]).round(3).tolist()
    [0.333, 0.0, 1.0]
    """
    values = np.array(figures, dtype=np.float64)
    scaled: FloatArray = (values - values.min()) / ((values.max() - values.min()) or 1.0)
    return scaled


def best_k(ks: Sequence[int], cost: Sequence[float] | FloatArray) -> int:
    """The k of the least cost; of equal ones the largest.

    >>> best_k([2, 3, 4], [0.3, 0.2, 0.2])
    4
    """
    return min(zip(cost, (-k for k in ks), strict=True))[1] * -1
