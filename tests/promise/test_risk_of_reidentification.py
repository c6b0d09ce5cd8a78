"""docs/limits.md: the risk of re-identification, counted from the released rows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promise_page import promises
from promise_releases import MakeRelease, skewed

from tclose_spark.errors import GuaranteeError

QUASI: dict[str, Any] = {"zip": {"generalization": "set"}}


def smallest(rows: Any) -> int:
    return min(Counter(map(str, rows["zip"])).values())


def release(make_finished: MakeRelease, population: Any, risk: Any) -> Any:
    privacy = {"population": population, **({"risk": risk} if risk else {})}
    return make_finished(
        skewed(600),
        quasi=QUASI,
        sensitive={"disease": {"t": "0.5"}},
        privacy=privacy,
    )


@promises(
    "A risk of re-identification.",
    "A limited risk is at most its limit",
    "Without a limit, a figure in `risks` is measured only.",
)
def test_a_limited_risk_is_at_most_its_limit(make_finished: MakeRelease) -> None:
    found = release(
        make_finished,
        {"fraction": "0.5"},
        None,
    )  # the risks are large, and nothing limits them
    reached = Fraction(1, smallest(found.rows))
    entry = found.certificate["risks"]["prosecutor"]
    assert (Fraction(entry["maximum_exact"]), entry["required"]) == (reached, {})
    at = release(make_finished, {"fraction": "0.5"}, {"prosecutor": {"maximum": str(reached)}})
    assert Fraction(1, smallest(at.rows)) <= reached
    with pytest.raises(GuaranteeError, match="the prosecutor's risk is too large"):
        release(
            make_finished,
            {"fraction": "0.5"},
            {"prosecutor": {"maximum": str(reached - Fraction(1, 10**9))}},
        )


@promises(
    "With a sampling fraction or a weight, the journalist's",
    "A limit on an estimate limits the estimate",
    "the journalist's and the marketer's risk, and the size of the population",
)
def test_estimates_are_marked_and_are_no_bounds(make_finished: MakeRelease, tmp_path: Path) -> None:
    """A population in which nobody else has these quasi-identifiers: the estimate holds, and the
    truth does not.
    """
    limit = {"journalist": {"maximum": "0.005"}}
    estimated = release(make_finished, {"fraction": "0.01"}, limit).certificate["risks"]
    assert estimated["journalist"]["estimate"]
    assert estimated["marketer"]["estimate"]
    assert not estimated["prosecutor"]["estimate"]
    everyone = pd.concat(
        [skewed(600), pd.DataFrame({"zip": ["elsewhere"] * 59_400, "disease": "flu"})],
    )
    pq.write_table(pa.Table.from_pandas(everyone[["zip"]]), tmp_path / "all.parquet")
    counted = release(make_finished, {"table": str(tmp_path / "all.parquet")}, None)
    risks = counted.certificate["risks"]
    assert risks["population"]["people"] == len(everyone)
    assert not risks["journalist"]["estimate"]
    assert estimated["journalist"]["maximum"] <= 0.005 < risks["journalist"]["maximum"]
    alone = pd.DataFrame({"zip": ["zip A"] * int(np.sum(skewed(600)["zip"] == "zip A"))})
    pq.write_table(pa.Table.from_pandas(alone), tmp_path / "few.parquet")
    fewer = release(make_finished, {"table": str(tmp_path / "few.parquet")}, None).certificate[
        "risks"
    ]
    assert (
        fewer["marketer"]["mean"] > risks["marketer"]["mean"]
    )  # the release is the same, the table is not
