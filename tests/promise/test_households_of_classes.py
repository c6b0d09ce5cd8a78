"""docs/promise.md: households in classes, counted from the raw rows by a unique column that is
published.
"""

from __future__ import annotations

from collections import defaultdict

import pandas as pd
from promise_page import promises
from promise_releases import MakeRelease

UNIQUE = {"insensitive_attributes": ["row"], "allow_unique": ["row"]}


@promises("Each class has members of as many households as it requires")
def test_every_class_has_the_households_that_are_required(make_finished: MakeRelease) -> None:
    homes = [f"h{i // 6}" for i in range(240)]
    zips = [f"z{i // 6 % 20}" for i in range(240)]  # two households each
    table = pd.DataFrame(
        {"row": range(240), "zip": zips, "disease": ["flu", "gout"] * 120, "home": homes},
    )
    fewest = {}
    for k in (1, 3):
        household = {"column": "home", "k": k}
        made = make_finished(
            table,
            quasi={"zip": {}},
            k=5,
            household=household,
            method={"name": "closeness_tree"},
            **UNIQUE,
        )
        homes_of = defaultdict(set)
        for row in made.rows.to_dict("records"):
            homes_of[row["zip"]].add(homes[int(row["row"])])
        fewest[k] = min(map(len, homes_of.values()))
        assert made.certificate["guarantees"]["k"]["over_households"]["achieved"] == fewest[k]
    assert fewest[1] == 2  # nothing else asks for more
    assert fewest[3] >= 3
