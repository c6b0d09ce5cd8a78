"""Small tables of hospital stays, in which a person has several rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from strategies import CITIES

QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}}
DISEASES = ["cold", "flu", "gout", "mumps", "ulcer"]
GRADES = ["1", "2", "3", "4"]
TOWNS = {path[0]: path for path in CITIES.paths}
SENSITIVE: dict[str, tuple[dict[str, Any], Any]] = {
    "disease": ({"t": "0.25", "l": {"distinct": 3}}, "equal"),
    "grade": ({"t": "0.2", "distance": "ordered", "order": GRADES}, GRADES),
    "town": ({"t": "0.3", "distance": "hierarchical", "hierarchy": "cities.csv"}, TOWNS),
}


def stays(seed: int, people: int = 300, varying: bool = False) -> pa.Table:
    """About one and a half rows a person. varying: whether age and city change from row to row of a
    person.
    """
    draw = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), draw.geometric(0.65, people))
    n = len(who)
    own = draw.integers(5, size=people)[who]
    age, city = draw.integers(20, 60, people)[who], draw.integers(5, size=people)[who]
    if varying:
        age = age + draw.integers(3, size=n)
        city = np.where(draw.random(n) < 0.2, draw.integers(5, size=n), city)
    table = pa.table(
        {
            "patient": [f"patient {i}" for i in who],
            "age": age,
            "sex": np.array(["f", "m"])[draw.integers(2, size=people)[who]],
            "city": np.array(CITIES.leaves)[city],
            "disease": np.array(DISEASES)[
                np.where(draw.random(n) < 0.6, own, draw.integers(5, size=n))
            ],
            "grade": np.array(GRADES)[draw.integers(4, size=n)],
            "town": np.array(CITIES.leaves)[draw.integers(5, size=n)],
            "row": [f"row {i}" for i in range(n)],
        },
    )
    return table.take(pa.array(draw.permutation(n)))
