"""docs/promise.md: missing values of quasi-identifiers that could be any value."""

from __future__ import annotations

import pandas as pd
from promise_page import promises
from promise_releases import MakeRelease

AGES = [20, None, 21, 22, 60, None, 61, 62] * 6


@promises(
    "With `missing: any`, a missing value widens no label",
    "with `missing: any`, the number of rows without a value",
)
def test_a_missing_value_widens_no_label(make_finished: MakeRelease) -> None:
    table = pd.DataFrame({"age": pd.array(AGES, "Int64"), "disease": ["flu", "none"] * 24})
    quasi = {"age": {"type": "numeric", "missing": "any"}}
    made = make_finished(table, quasi=quasi)
    assert made.certificate["attributes"]["quasi_identifiers"]["age"]["missing_rows"] == AGES.count(None)
    assert "*" not in set(made.rows["age"].dropna())
    assert len(made.rows) == len(AGES)
