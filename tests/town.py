"""A town whose people arrive, leave and change, month after month; and what an adversary with all
releases compares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from oracle.distances import distance, shares

DISEASES = ("flu", "gout", "ulcer", "cold")
QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}}
ROLES: dict[str, Any] = {
    "quasi": QUASI,
    "person": "id",
    "sensitive": {"disease": {"t": "0.4"}},
    "k": 4,
    "privacy": {"of": "released", "suppression_limit": "0.95"},
    "method": {"name": "closeness_tree", "effort": "fast"},
}


def people(draw: np.random.Generator, n: int, first: int) -> dict[str, Any]:
    """n people with numbers from `first`."""
    return {
        "id": [f"p{i}" for i in range(first, first + n)],
        "age": draw.integers(0, 90, n).tolist(),
        "sex": draw.choice(["f", "m"], n).tolist(),
        "disease": draw.choice(DISEASES, n, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
    }


def months(
    seed: int,
    n: int,
    arrive: float = 0.2,
    leave: float = 0.05,
    change: float = 0.05,
) -> Iterator[dict[str, Any]]:
    """The town in each month. arrive, leave, change: shares of the people."""
    draw = np.random.default_rng(seed)
    now, next_ = people(draw, n, 0), n
    while True:
        yield now
        stays = draw.random(len(now["id"])) >= leave
        now = {
            name: [x for x, here in zip(column, stays, strict=True) if here]
            for name, column in now.items()
        }
        other = draw.random(len(now["id"])) < change
        now["disease"] = [
            str(draw.choice(DISEASES)) if one else x
            for x, one in zip(now["disease"], other, strict=True)
        ]
        now["age"] = [age + int(draw.random() < 1 / 12) for age in now["age"]]  # birthdays
        arrived = people(draw, round(n * arrive), next_)
        next_ += round(n * arrive)
        now = {name: [*column, *arrived[name]] for name, column in now.items()}


def forget_successor(output: Path) -> None:
    """Lets another release continue that of an output, as an officer does after removing a release
    that nobody saw.
    """
    (output / "internal/continued_by").unlink(missing_ok=True)


def rows(town: Mapping[str, Any]) -> pa.Table:
    """The town as a table."""
    return pa.table(dict(town))


@dataclass(frozen=True)
class Shown:
    """What a release shows: of each published person, the class and the disease. whole: the
    distribution.
    """

    class_of: dict[int, tuple[Any, ...]]
    disease: dict[int, str]

    @staticmethod
    def of(output: Path, labels: Sequence[str] = tuple(QUASI)) -> Shown:
        table = DeltaTable(str(output / "internal/people")).to_pyarrow_table().to_pylist()
        shown = [row for row in table if not row["suppressed"]]
        return Shown(
            {row["person_hash"]: tuple(row[label] for label in labels) for row in shown},
            {row["person_hash"]: row["disease"] for row in shown},
        )

    @property
    def whole(self) -> dict[str, Fraction]:
        return shares(Counter(self.disease.values()))

    def far(self, some: Sequence[int]) -> Fraction:
        """The distance of some published people from all of them."""
        return distance(shares(Counter(self.disease[p] for p in some)), self.whole, "equal")


def cells(releases: Sequence[Shown]) -> dict[tuple[Any, ...], list[int]]:
    """The people with the same class in every release, by these classes; None where they are not
    published. These are the smallest sets that an adversary makes of classes by intersections and
    differences.
    """
    found = defaultdict(list)
    for person in sorted({p for one in releases for p in one.class_of}):
        found[tuple(one.class_of.get(person) for one in releases)].append(person)
    return dict(found)


def first_shown(releases: Sequence[Shown]) -> dict[int, int]:
    """The place of the first release that publishes each person."""
    return {p: i for i in reversed(range(len(releases))) for p in releases[i].class_of}
