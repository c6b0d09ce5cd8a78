"""Twelve monthly releases of a town: what an adversary who compares them finds, and what it costs
to prevent it.

    python benchmarks/every_month.py [--people 2000] [--months 12] [--seed 7]
        [--ways anew,newcomers,withhold,keep]

Every month 5 % of the first number of people arrive, 2 % leave, and 3 % have another disease.
`anew` releases each month by itself, `newcomers` only those who arrived. `withhold` and `keep`
continue the release before (`output.leavers`). alone and few: people who are alone, or among fewer
than k, in the intersection of their classes of all releases so far. NCP counts a suppressed person
as a loss of 1.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

import tclose_spark as tc

DISEASES = ("flu", "gout", "ulcer", "cold", "asthma", "none")
LABELS = ("age", "sex", "zip", "job")
QUASI = {
    "age": {"type": "numeric"},
    "sex": {},
    "zip": {"generalization": "set"},
    "job": {"generalization": "set"},
}
K = 5


def people(draw: np.random.Generator, n: int, first: int) -> dict[str, Any]:
    """n people with numbers from `first`."""
    return {
        "id": np.arange(first, first + n),
        "age": draw.integers(0, 90, n),
        "sex": draw.choice(["f", "m"], n),
        "zip": draw.choice([f"10{z:02d}" for z in range(10)], n),
        "job": draw.choice([f"job {i}" for i in range(8)], n),
        "disease": draw.choice(DISEASES, n, p=[0.3, 0.22, 0.18, 0.13, 0.1, 0.07]),
    }


def months(seed: int, n: int, count: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """By month, (the town, those who arrived)."""
    draw = np.random.default_rng(seed)
    now = arrived = people(draw, n, 0)
    made = [(now, arrived)]
    for month in range(1, count):
        stays = draw.random(len(now["id"])) >= 0.02
        now = {name: column[stays] for name, column in now.items()}
        other = np.flatnonzero(draw.random(len(now["id"])) < 0.03)
        disease = now["disease"].copy()
        disease[other] = people(draw, len(other), 0)["disease"]
        arrived = people(draw, n // 20, n + (month - 1) * (n // 20))
        now = {
            name: np.concatenate([column, arrived[name]])
            for name, column in {**now, "disease": disease}.items()
        }
        made.append((now, arrived))
    return made


def release(town: dict[str, Any], output: dict[str, str]) -> Any:
    spec = {
        "output": output,
        "attributes": {
            "person": "id",
            "quasi_identifiers": QUASI,
            "sensitive_attributes": {"disease": {"distance": "equal", "t": "0.2"}},
        },
        "privacy": {"k": K, "of": "released", "suppression_limit": "0.99"},
        "method": {"name": "closeness_tree", "effort": "fast"},
    }
    return tc.release(pa.table(town), spec, engine="local", log=None).certificate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ways", default="anew,newcomers,withhold,keep")
    asked = parser.parse_args()
    os.environ.setdefault("TCLOSE_SECRET", "one secret for all releases of the town")
    town = months(asked.seed, asked.people, asked.months)
    print("way        month  people  suppressed  outdated    NCP  alone    few  smallest")
    for way in asked.ways.split(","):
        with tempfile.TemporaryDirectory() as folder:
            class_of: dict[int, list[Any]] = {}
            for month, (now, arrived) in enumerate(town):
                output = {"path": f"{folder}/{month}"}
                if way in ("withhold", "keep"):
                    output |= {
                        "leavers": way,
                        **({"after": f"{folder}/{month - 1}"} if month else {}),
                    }
                made = release(arrived if way == "newcomers" else now, output)
                table = DeltaTable(f"{folder}/{month}/internal/people").to_pyarrow_table()
                for row in table.filter(pc.invert(table["suppressed"])).to_pylist():
                    classes = class_of.setdefault(row["person_hash"], [None] * asked.months)
                    classes[month] = tuple(row[label] for label in LABELS)
                cells = Counter(map(tuple, class_of.values()))
                alone = sum(n for n in cells.values() if n == 1)
                few = sum(n for n in cells.values() if n < K)
                rows, suppressed = made["input"]["rows"], made["suppressed"]["rows"]
                kept, ncp = made.get("earlier", {}).get("kept", 0), made["utility"]["ncp"]
                counts = (
                    f"{rows:>7,} {suppressed:>11,} {kept:>9,} {ncp:>6.3f} {alone:>6,} {few:>6,}"
                )
                print(f"{way:<10} {month + 1:>5} {counts} {min(cells.values()):>9,}", flush=True)


if __name__ == "__main__":
    main()
